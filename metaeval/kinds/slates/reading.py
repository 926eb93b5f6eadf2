"""What a reader of a report sees of a duel: both slates as they were shown, and the user's history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.records import FIRST, SECOND
from metaeval.engine.drilldown import Groups, Rated, UnitColumn, UnitText, UnitView
from metaeval.engine.measured_groups import measured_groups
from metaeval.kinds.reading import called, fields_text, histories_text
from metaeval.kinds.slates.data.slate_set import ASKED, DUEL, ITEM, KEYS, POSITION, SLATE, USER
from metaeval.kinds.slates.data.utilities import UTILITIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from metaeval.kinds.slates.data.slate_set import SlateSet
    from metaeval.kinds.slates.regret import DuelCells

_TASK = "task"


def unit_view(data: SlateSet, aspects: Sequence[str]) -> UnitView:
    """Return how the showings of duels are shown: both slates side by side, and what is known of the user."""
    table = data.table
    users, tasks = table[USER].tolist(), table[_TASK].tolist()
    profiles, histories = fields_text(data.profiles, USER), histories_text(data, _judged(data))
    # What the utility of a slate is would tell a rater little.
    asked = {**ASKED, **{t: text for t, text in data.tasks.items() if text != UTILITIES.get(t)}}
    return UnitView(
        (
            *(UnitColumn(key, data.nouns[key], table[key].astype(str).tolist()) for key in KEYS),
            UnitColumn(_TASK, _TASK, tasks, key=False),
        ),
        (
            UnitText("shown first", list(_slates(data, FIRST))),
            UnitText("shown second", list(_slates(data, SECOND)), beside=True),
            UnitText("utility to the user", list(_utilities(table)), blind=False),
            UnitText("task", [f"{task}: {asked[task]}" if task in asked else task for task in tasks]),
            UnitText("profile of the user", [profiles.get(user) for user in users]),
            UnitText("history of the user", [histories.get(user) for user in users]),
        ),
        tuple(Rated(aspect, data.aspects.get(aspect, "")) for aspect in aspects),
    )


def _judged(data: SlateSet) -> pd.DataFrame:
    """Return which items stand in a slate of which user."""
    return data.slates[[USER, ITEM]]


def _slates(data: SlateSet, side: str) -> Iterator[str]:
    """Yield the items of the slate on a side, in order."""
    names = called(data)
    listed = data.slates.sort_values([USER, SLATE, POSITION], kind="stable")
    lines = [
        f"{at}. {names.get(item) or item}" for at, item in zip(listed[POSITION], listed[ITEM], strict=True)
    ]
    of = {key: "\n".join(own) for key, own in listed.assign(line=lines).groupby([USER, SLATE])["line"]}
    for user, slate in data.table[[USER, side]].itertuples(index=False, name=None):
        yield of.get((user, slate), slate)


def _utilities(table: pd.DataFrame) -> Iterator[str]:
    """Yield the utilities of both slates."""
    for first, second in table[["utility_first", "utility_second"]].itertuples(index=False, name=None):
        yield f"of the first {first:g}, of the second {second:g}"


def duel_groups(cells: DuelCells) -> list[Groups]:
    """Return the measures of each evaluator by user, and by duel, for every task."""
    return [
        measured_groups(cells, cells.table, noun, keys, undefined="it has no duel of the task")
        for noun, keys in (("user", (USER,)), ("duel", (USER, DUEL)))
    ]
