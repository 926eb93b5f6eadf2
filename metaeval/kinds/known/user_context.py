"""What a judge is told of a user: the profile, and a part of the history that the model can take."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from metaeval.kinds.known.items import ITEM, USER, entries_of, lines_of
from metaeval.llm.calls.price import tokens_of
from metaeval.stats.resampling.draws import permutation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from metaeval.base.records import DataOfKind
    from metaeval.evaluators.grid import IntArray

_RATED = "; rated {:g}"


class Profiles(NamedTuple):
    """What is told of each user."""

    of: Callable[[str], Mapping[str, Any] | None]
    """User → the values of a prompt that are the user's own; None if nothing is known of the user."""
    cut: Sequence[str]
    """Users whose histories are longer than the model takes."""


def user_profiles(
    data: DataOfKind,
    items: Mapping[str, Sequence[tuple[str, str]]],
    past: pd.DataFrame,
    *,
    history: int,
    drawn: int | None = None,
    room: int | None = None,
) -> Profiles:
    """Return what is told of each user: the profile, if there is one, and a part of the history.

    ``items`` has names and values of what is told of each item; one of the history without any is left out.
    ``past`` is what users chose (`metaeval.kinds.known.items.histories_of`), the most recent first, of which
    ``history`` items are told at most.

    With a seed ``drawn`` they are drawn, and not the most recent ones; a user's depend on it and the user
    alone, if the order of ``past`` does not depend on that of the data's rows. Profile and history take at
    most ``room`` tokens (`metaeval.llm.calls.price.tokens_of`), if there is a limit; the last items in that
    order are cut.
    """
    told = {} if data.profiles is None else entries_of(data.profiles, USER, _fields(data.profiles))
    lines = lines_of(items)
    past = past[past[ITEM].isin(list(lines))]
    rows = past.groupby(USER, sort=False).indices
    chosen: list[str] = past[ITEM].tolist()
    ratings: list[float] = past["rating"].tolist() if "rating" in past else [math.nan] * len(past)
    tokens = {item: tokens_of([line, _RATED]) for item, line in lines.items()}
    kept: dict[str, IntArray] = {}
    cut: list[str] = []
    for user in map(str, data.units[USER].unique()):
        at: IntArray = np.asarray(rows.get(user, ()), np.intp)
        if drawn is not None:
            at = at[permutation(len(at), drawn, "history", user)]
        kept[user] = at[:history]
        if room is not None:
            beside = tokens_of(text for entry in told.get(user, ()) for text in entry)
            needs = np.cumsum([tokens[chosen[i]] for i in kept[user]]) + beside
            fit = int(np.searchsorted(needs, room, "right"))
            if fit < len(kept[user]):
                cut.append(user)
                kept[user] = kept[user][:fit]
    ends = _ends(ratings)

    @functools.lru_cache(maxsize=2)  # a long text, needed for the units of one user after the other
    def of(user: str) -> dict[str, Any] | None:
        shown, known = kept[user], told.get(user, ())
        if history and not len(shown) and not known:
            return None
        rated = (("" if math.isnan(ratings[i]) else _RATED.format(ratings[i])) for i in shown)
        past = {
            "shown": f"{len(shown):,}",
            "total": f"{len(rows.get(user, ())):,}",
            "recent": drawn is None,
            "ratings": ends,
            "text": "\n".join(lines[chosen[i]] + said for i, said in zip(shown, rated, strict=True)),
        }
        profile = [{"name": name, "value": value} for name, value in known]
        return {"profile": profile or None, "history": past if len(shown) else None}

    return Profiles(of, cut)


def _fields(profiles: pd.DataFrame) -> list[str]:
    return [str(column) for column in profiles if column != USER]


def _ends(ratings: Sequence[float]) -> dict[str, str] | None:
    """Return the lowest and the highest rating; None if there are none."""
    known = [rating for rating in ratings if not math.isnan(rating)]
    return {"low": f"{min(known):g}", "high": f"{max(known):g}"} if known else None
