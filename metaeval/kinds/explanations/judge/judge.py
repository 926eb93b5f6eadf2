"""An LLM that rates explanations one by one."""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

from metaeval.base.errors import DataError, PromptError, nearest
from metaeval.base.records import USER_RATER, Scale, Status
from metaeval.evaluators.base import flag, word
from metaeval.evaluators.grid import rows_of
from metaeval.judging.prompts import Asks
from metaeval.judging.unit_judge import Shown, UnitJudge
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.judge.prompt import (
    RATING,
    Example,
    aliases_of,
    aspects_shown,
    check_references,
    check_rubric,
    one_line,
    profiles_of,
    text_of,
    title_of,
    unit_shown,
)
from metaeval.llm.prompts.template import joined, load_prompt
from metaeval.llm.replies.fields import Number
from metaeval.stats.resampling.weights import permutation

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
    source = data if mode == PERSONALIZED else data.examples or data
    rated = rated_units(source, aspects)
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
        if source is not data:  # no user of these gave one
            others = sorted({*data.explanations["user_id"]} - {*giver})
            giver |= {user: _drawn(users, seed, f"shuffled {user}")[0] for user in others}

    @functools.cache
    def example_of(user: str, generator: str) -> Key | None:
        keys = ((user, item, generator) for item in items[user])
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


def rated_units(data: ExplanationSet, aspects: Sequence[str]) -> dict[Key, Example]:
    """Return every unit that its user rated on all aspects, as an example."""
    own = data.ratings[(data.ratings["rater"] == USER_RATER) & data.ratings["aspect"].isin(list(aspects))]
    ratings: dict[Key, dict[str, float]] = {}
    for *key, aspect, rating in rows_of(own.dropna(subset=["rating"]), [*data.keys, "aspect", "rating"]):
        ratings.setdefault(tuple(key), {})[aspect] = float(rating)
    titles = data.explanations.get("item_title", [None] * len(data))
    texts = zip(rows_of(data.explanations, data.keys), data.explanations["explanation"], titles, strict=True)
    return {
        key: Example(text, {a: ratings[key][a] for a in aspects}, title_of(title))
        for key, text, title in texts
        if len(ratings.get(key, ())) == len(aspects) and text_of(text)
    }


def _drawn(values: Sequence[str], seed: int, name: str) -> list[str]:
    """Return the values in an order that depends on the seed and on the name alone."""
    return [values[i] for i in permutation(len(values), seed, name)]


def _others(users: Sequence[str], seed: int) -> dict[str, str]:
    """Give every user another one: the next in a drawn circle."""
    if len(users) < 2:
        raise DataError("examples='shuffled' needs two users or more who rated; use examples='none'")
    circle = _drawn(users, seed, "shuffled")
    return dict(zip(circle, [*circle[1:], circle[0]], strict=True))


@dataclass(frozen=True, repr=False)
class ShowsProfile:
    """The argument that judges of explanations share: whether the judge is told the user's profile."""

    _: KW_ONLY
    profile: bool = flag()

    def profiles(self, data: ExplanationSet) -> Callable[[int], Mapping[str, str] | None]:
        """Return what gives the profile that is shown for a unit, None where none is."""
        if not self.profile:
            return lambda _: None
        users = data.explanations["user_id"].tolist() if "user_id" in data.keys else [""] * len(data)
        of_user = profiles_of(data)
        return lambda unit: of_user.get(str(users[unit]), {})


@dataclass(frozen=True, repr=False)
class Judge(UnitJudge, ShowsProfile):
    """A language model as an evaluator: it is shown an explanation and rates its aspects.

    Scores are on the data set's scale; a reply that is not complete and valid is a typed failure.

    Parameters
    ----------
    examples
        ``none`` (zero-shot), ``one-shot``, ``personalized`` or ``shuffled``; see `choose_examples`. Units
        shown as examples are never scored.
    profile
        Whether the judge is told the user's profile.
    samples, expected
        As for `metaeval.judging.unit_judge.UnitJudge`: the mean of repetitions; the expectation over the
        rating's token probabilities.
    model, prompt, temperature, replicate, reply, base_url, attempts, max_tokens, seed
        As for `metaeval.judging.model_evaluator.ModelEvaluator`; ``seed`` is of the choice of examples.
    """

    prompt: str = "multi-aspect"
    examples: str = word(NONE, MODES)
    asks: ClassVar[Asks] = RATING

    def reply_fields(self, data: ExplanationSet, aspects: Sequence[str]) -> list[Number]:
        """Return a number on the data's scale for each aspect, with a reason where there is a rubric."""
        aliases, reason = aliases_of(data, aspects), load_prompt(self.prompt).rubric is not None
        return [Number(a, data.scale.of(a), aliases[a], reason) for a in aspects]

    def parts(self, data: ExplanationSet, aspects: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the positions of the aspects of each call; one call names one scale."""
        scales = [data.scale.of(a) for a in aspects]
        return [
            tuple(a for a in part if scales[a] == scale)
            for part in super().parts(data, aspects)
            for scale in dict.fromkeys(scales[a] for a in part)
        ]

    def fixed(self, data: ExplanationSet, aspects: Sequence[str]) -> Mapping[str, object]:
        """Return what the prompt says of aspects and scale; `DataError` if they have several scales."""
        scale, template = Scale.over({a: data.scale.of(a) for a in aspects}), load_prompt(self.prompt)
        if scale.own:
            raise DataError(
                f"{', '.join(aspects)} have different scales in data set {data.name!r}; ask for one aspect"
            )
        if template.rubric is not None:
            check_rubric(template, template.rubric, data, aspects)
        return {
            "aspects": aspects_shown(template, data, aspects),
            "scale_min": f"{scale.min:g}",
            "scale_max": f"{scale.max:g}",
            "integer": scale.integer,
            "language": one_line(data.language) or None,
        }

    def shown(self, data: ExplanationSet, aspects: Sequence[str]) -> Shown:
        """Return texts and examples; an example, or a blank text, is not judged.

        `DataError` is raised if the data lack what they need. The signature says how many units were judged
        without an example because the rule gives none.
        """
        data.scale.check_numbers(aspects, "number for a judge to give")
        if "explanation" not in data.explanations:
            raise DataError(f"data set {data.name!r} has no explanation texts, so there is nothing to judge")
        examples = choose_examples(data, aspects, self.examples, self.seed)
        check_references(load_prompt(self.prompt), data)
        texts = ("item_title", "explanation", "reference")
        columns = [*data.keys, *(c for c in texts if c in data.explanations)]
        keys, rows = (list(rows_of(data.explanations, names)) for names in (data.keys, columns))
        profile = self.profiles(data)

        def own(unit: int, asked: Sequence[str]) -> Mapping[str, object] | Status:
            row = dict(zip(columns, rows[unit], strict=True))
            if keys[unit] in examples.shown:
                return Status.EXAMPLE
            if not isinstance(row["explanation"], str) or text_of(row["explanation"]) is None:
                return Status.MISSING
            return unit_shown(row, asked, examples.of_unit.get(keys[unit]), profile(unit))

        return Shown(own=own, facts={"without_example": examples.without})


def preview(
    prompt: str,
    data: ExplanationSet,
    unit: str,
    aspects: Sequence[str] = (),
    *,
    example: str | None = None,
    profile: bool = False,
    reply: str = "auto",
) -> str:
    """Return what a judge would be told of a unit, as for `find_unit`.

    ``example`` is another unit, to be shown with its user's ratings; ``profile`` says whether the user's
    profile is shown. `MetaevalError` is raised if there is no such prompt or unit, or the prompt cannot show
    what is asked for.
    """
    template = load_prompt(prompt)
    row = find_unit(data, unit)
    aspects = list(aspects) or list(data.aspects)
    if "aspect" in template.placeholders and len(aspects) != 1:
        raise PromptError(
            f"prompt {template.name!r} asks for one aspect per call; "
            f"choose one with --aspect: {', '.join(aspects)}"
        )
    shown = None
    if example is not None:
        other = find_unit(data, example)
        shown = rated_units(data, aspects).get(tuple(other[k] for k in data.keys))
        if shown is None:
            raise DataError(
                f"unit {example!r} has no rating by its user of {', '.join(aspects)}; choose another"
            )
        shown = replace(shown, own="user_id" in data.keys and other["user_id"] == row["user_id"])
    known = profiles_of(data).get(str(row.get("user_id"))) if profile else None
    filled = Judge("simulated/preview", prompt=prompt, reply=reply).filled(data, aspects)
    if text_of(row.get("explanation")) is None:
        names = ", ".join(str(row.get(k)) for k in data.keys)
        raise DataError(f"unit ({names}) of data set {data.name!r} has no explanation text to judge")
    return joined(filled.messages(unit_shown(row, aspects, shown, known)) or ())


def find_unit(data: ExplanationSet, unit: str) -> Mapping[str, Any]:
    """Return the row of a unit; raise `DataError` if there is none.

    A unit is written as its keys in their order, such as ``u1,i1,popular``; a value with a comma stands in
    quotes.
    """
    values = [value.strip() for value in next(csv.reader([unit], skipinitialspace=True), [])]
    first = ",".join(f'"{v}"' if "," in v else v for v in map(str, data.units.iloc[0]))
    if len(values) != len(data.keys):
        raise DataError(
            f"{unit!r} is not a unit of data set {data.name!r}; write it as {','.join(data.keys)}, "
            f"such as {first}"
        )
    rows = data.explanations
    for key, value in zip(data.keys, values, strict=True):
        known = rows[key].unique().tolist()
        rows = rows[rows[key] == value]
        if rows.empty:
            raise DataError(
                f"data set {data.name!r} has no unit {unit!r}: nothing has the {key} {value!r}"
                f"{nearest(value, known)} (an existing unit: {first})"
            )
    return {str(k): v for k, v in rows.iloc[0].items()}
