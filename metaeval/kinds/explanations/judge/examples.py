"""The rated explanation that a judge is shown beside the one it judges (the paper's Algorithm 1).

An explanation that is shown to a judge anywhere is not scored by it, so that no rating leaks. The paper's
printed algorithm scores it too.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from metaeval.base.errors import DataError
from metaeval.base.records import USER_RATER
from metaeval.evaluators.grid import rows_of
from metaeval.kinds.explanations.judge.prompt import Example
from metaeval.stats.resampling.draws import permutation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

NONE, ONE_SHOT, PERSONALIZED, SHUFFLED = MODES = ("none", "one-shot", "personalized", "shuffled")

Key: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Examples:
    """The example of each unit, by its key; any other unit has none."""

    of_unit: Mapping[Key, Example] = field(default_factory=dict)
    shown: frozenset[Key] = frozenset()
    """Units that are shown to the judge, and not scored by it."""
    without: int = 0
    """Number of units that have no example by the rule, and are judged without one."""


def choose_examples(data: ExplanationSet, aspects: Sequence[str], mode: str, seed: int) -> Examples:
    """Choose an example for every unit.

    Parameters
    ----------
    data
        The explanations with the users' own ratings.
    aspects
        An example has a rating for each of them.
    mode
        ``one-shot``: one pair of user and item, drawn, for all; ``personalized``: an item of each user's own;
        ``shuffled``: that of another user, the control of ``personalized``. The example is the explanation by
        the same generator; where there is none for the item, another item of that user is taken, in drawn
        order.
    seed
        Of the draws. A user's draw depends on the seed and the user alone.

    Raises
    ------
    DataError
        If there are no users, too few of them, or no ratings of theirs.
    """
    if mode == NONE:
        return Examples()
    if "user_id" not in data.keys:
        raise DataError(
            f"data set {data.name!r} has no users, so a judge has no examples; use examples='none'"
        )
    rated = _rated(data, aspects)
    if not rated:
        raise DataError(f"data set {data.name!r} has no ratings by users to show; use examples='none'")
    of_user: dict[str, set[str]] = {}
    for user, item, _ in rated:
        of_user.setdefault(user, set()).add(item)
    users = sorted(of_user)
    items = {user: _drawn(sorted(of_user[user]), seed, user) for user in users}
    if mode == ONE_SHOT:
        chosen = _drawn(users, seed, "one-shot")[0]
        giver = dict.fromkeys(data.explanations["user_id"], chosen)
    elif mode == PERSONALIZED:
        giver = {user: user for user in items}
    else:
        giver = _others(users, seed)

    @functools.cache
    def example_of(source: str, generator: str) -> Key | None:
        keys = ((source, item, generator) for item in items[source])
        return next((key for key in keys if key in rated), None)

    units = list(rows_of(data.explanations, data.keys))
    key_of = {
        unit: key for unit in units if unit[0] in giver and (key := example_of(giver[unit[0]], unit[-1]))
    }
    own = mode != ONE_SHOT  # a shuffled example is presented as a personalized one, to be its control
    shown = {key: replace(rated[key], own=own) for key in set(key_of.values())}
    return Examples(
        {unit: shown[key] for unit, key in key_of.items() if unit not in shown},
        frozenset(shown),
        sum(unit not in key_of and unit not in shown for unit in units),
    )


def _rated(data: ExplanationSet, aspects: Sequence[str]) -> dict[Key, Example]:
    """Return every unit that its user rated on all aspects, as an example."""
    ratings = data.ratings
    own = ratings[(ratings["rater"] == USER_RATER) & ratings["aspect"].isin(aspects)].dropna(
        subset=["rating"]
    )
    of_unit: dict[Key, dict[str, float]] = {}
    columns = [*data.keys, "aspect", "rating"]
    for *of, aspect, rating in rows_of(own, columns):
        of_unit.setdefault(tuple(of), {})[aspect] = rating
    titles = "item_title" in data.explanations
    texts = data.explanations[[*data.keys, "explanation", *(["item_title"] if titles else [])]]
    found: dict[Key, Example] = {}
    width = len(data.keys)
    for row in rows_of(texts, list(texts.columns)):
        unit: Key = tuple(row[:width])
        text = row[width]
        if len(of_unit.get(unit, ())) == len(aspects) and isinstance(text, str) and text.strip():
            title = row[-1] if titles and isinstance(row[-1], str) and row[-1].strip() else None
            found[unit] = Example(text, {a: of_unit[unit][a] for a in aspects}, title)
    return found


def _drawn(values: Sequence[str], seed: int, of_what: str) -> list[str]:
    """Return the values in an order that depends on the seed and on ``of_what`` alone."""
    return [values[i] for i in permutation(len(values), seed, of_what)]


def _others(users: Sequence[str], seed: int) -> dict[str, str]:
    """Give every user another one: the next in a drawn circle."""
    if len(users) < 2:
        raise DataError("examples='shuffled' needs two users or more who rated; use examples='none'")
    circle = _drawn(users, seed, "shuffled")
    return dict(zip(circle, [*circle[1:], circle[0]], strict=True))
