"""What a reader of a report sees of items and users, in every kind that has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.kinds.known.entries import entries_of
from metaeval.kinds.known.histories import ITEM, USER, histories_of

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.base.records import DataOfKind

TITLE = "title"
_SHOWN = 30
"""Items of a history; a reader sees the whole in the prompt."""


def titles_of(data: DataOfKind) -> dict[str, str]:
    """Return the titles of items; empty if they have none."""
    titled = data.items is not None and TITLE in data.items
    return dict(data.items[[ITEM, TITLE]].to_numpy()) if titled else {}


def fields_text(frame: pd.DataFrame | None, key: str) -> dict[str, str]:
    """Return of each item, or user, a line per field that is not empty."""
    if frame is None:
        return {}
    of = entries_of(frame, key, [c for c in frame.columns if c != key])
    return {name: "\n".join(f"{field}: {value}" for field, value in own) for name, own in of.items()}


def called(data: DataOfKind) -> dict[str, str]:
    """Return what items are called: their titles, or their fields where they have none."""
    return titles_of(data) or {i: of.replace("\n", "; ") for i, of in fields_text(data.items, ITEM).items()}


def histories_text(data: DataOfKind, judged: pd.DataFrame) -> dict[str, str]:
    """Return the last items of each user's history, newest first, and how many more there are.

    ``judged`` are the items to leave out; see `metaeval.kinds.known.histories.histories_of`.
    """
    if data.histories is None:
        return {}
    names_of, past = called(data), histories_of(data, judged)
    if "timestamp" in past:
        past = past.sort_values("timestamp", ascending=False, kind="stable")
    found = {}
    for user, own in past.groupby(USER, sort=False):
        shown = own.iloc[:_SHOWN]
        names = [names_of.get(item) or item for item in shown[ITEM]]
        if "rating" in shown:
            names = [n if r != r else f"{n} ({r:g})" for n, r in zip(names, shown["rating"], strict=True)]  # noqa: PLR0124 NaN
        more = len(own) - len(shown)
        found[str(user)] = "\n".join([*names, *([f"… and {more:,} more"] if more else [])])
    return found
