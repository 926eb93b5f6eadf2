"""Duels of slates: for each user pairs of lists of items, and how much each list is worth to the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.records import FIRST, SECOND, USER_RATER, Scale
from metaeval.data.units import KeyedUnits, counts_of, fingerprint, in_both_orders

USER, DUEL, ORDER = "user_id", "duel", "order"
KEYS: tuple[str, ...] = (USER, DUEL, ORDER)
"""The columns that name a unit: one showing of a duel."""
ITEM, SLATE, POSITION = "item_id", "slate", "position"
PREFERENCE = "preference"
"""The one aspect of a unit."""
QUESTION = "Which of the two lists does the user prefer?"
VERDICTS = Scale(-1, 1)
"""What a score may be: 1 for the slate that is shown first, -1 for the other one, 0 for a tie."""

SET, ORDERING, BOTH = TASKS = ("T1", "T2", "T3")
"""Which items; which order of the same items; which items in which order."""
ASKED = {
    SET: "which items the user prefers, in whatever order they are shown",
    ORDERING: "in which order the user prefers the same items",
    BOTH: "which items in which order the user prefers",
}
"""Task → what it asks, unless a data set says it otherwise."""


class Domain(NamedTuple):
    """The words of a prompt that differ from films to products, news or music."""

    platform: str = "a large catalogue"
    noun: str = "item"
    plural: str = "items"
    liked: str = "rating"
    """What the number in a history is: a rating, a share that was listened to."""
    popularity: str = "well-known, well-regarded items"
    diversity: str = "different kinds of items"


ANY = Domain()
"""Words that fit any domain."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SlateSet(KeyedUnits):
    """Duels of slates, and what is known of items and users; see `slate_set`.

    Parameters
    ----------
    table
        One row per unit, and two units per duel, one for each order in which its slates can be shown:
        ``user_id``, ``duel``, ``order`` (``first``: the duel's first slate is shown first; ``second``: it is
        shown second), ``task``, ``first`` and ``second`` (names of slates, as shown), ``utility_first`` and
        ``utility_second`` (to the user, as shown), ``repeat`` (0; above it, the number of the repetition of a
        duel whose slates an earlier duel of the user has) and ``similarity`` (of the two slates; NaN where it
        is not known).
    ratings
        Long: key columns, ``rater`` (``user``), ``aspect`` (``preference``), ``rating``: the utility of the
        slate that is shown first, less that of the other one.
    aspects
        ``preference`` → the question.
    slates
        ``user_id``, ``slate``, ``position`` (from 1), ``item_id``.
    items
        One row per item: ``item_id`` and text fields, such as ``title``; None if nothing is known of them.
    histories
        ``user_id``, ``item_id`` and, if known, ``rating`` and ``timestamp``; None if there are none.
    profiles
        One row per user: ``user_id`` and text fields; None if there are none.
    tasks
        Task → what the utility of a slate is in it.
    domain
        The words of the domain.
    history_scale
        The scale of the ratings in histories; None if they have none.
    """

    table: pd.DataFrame
    ratings: pd.DataFrame
    slates: pd.DataFrame
    items: pd.DataFrame | None = None
    histories: pd.DataFrame | None = None
    profiles: pd.DataFrame | None = None
    tasks: Mapping[str, str] = field(default_factory=dict)
    domain: Domain = ANY
    history_scale: Scale | None = None
    aspects: Mapping[str, str] = field(default_factory=lambda: {PREFERENCE: QUESTION})
    scale: Scale = VERDICTS
    scores: pd.DataFrame | None = None
    keys: tuple[str, ...] = KEYS
    frames: ClassVar[tuple[str, ...]] = ("table", "ratings", "scores")
    kind: ClassVar[str] = "slates"
    saved_by: ClassVar[str] = "metaeval.kinds.slates.data.loading"

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the content, as 64 hex digits."""
        return fingerprint(
            self.aspects,
            self.scale,
            *(self.table, self.ratings, self.scores),
            *(self.slates, self.items, self.histories, self.profiles),
            tasks=dict(self.tasks),
            domain=self.domain._asdict(),
            history_scale=str(self.history_scale),
        )

    @property
    def counts(self) -> dict[str, int]:
        """What there is, in the singular → how many."""
        duels = self.table[[USER, DUEL]].drop_duplicates()
        known = {"described item": self.items, "history row": self.histories, "profile": self.profiles}
        slates = self.slates[[USER, SLATE]].drop_duplicates()
        found = {k: n for k, n in counts_of(self).items() if k != ORDER}
        found |= {DUEL: len(duels), SLATE: len(slates)}
        return found | {what: len(frame) for what, frame in known.items() if frame is not None}


def units_of(duels: pd.DataFrame) -> pd.DataFrame:
    """Return the units of duels, both orders of each, one after the other.

    Parameters
    ----------
    duels
        A row per duel: ``user_id``, ``duel``, ``task``, ``first``, ``second``, ``utility_first``,
        ``utility_second`` and, if known, ``repeat`` and ``similarity``.
    """
    sides = [FIRST, SECOND, f"utility_{FIRST}", f"utility_{SECOND}"]
    filled = duels.assign(**{name: duels.get(name, default) for name, default in _DEFAULTS.items()})
    return in_both_orders(filled)[[*KEYS, "task", *sides, *_DEFAULTS]]


_DEFAULTS = {"repeat": 0, "similarity": np.nan}


def utilities_of(units: pd.DataFrame) -> pd.DataFrame:
    """Return the ratings of units: how much more the slate that is shown first is worth to the user."""
    gap = units["utility_first"] - units["utility_second"]
    return units[[*KEYS]].assign(rater=USER_RATER, aspect=PREFERENCE, rating=gap.astype(float))
