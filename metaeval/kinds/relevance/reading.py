"""What a reader of a report sees of a collection: the item, and what is known of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.engine.drilldown import Rated, UnitColumn, UnitText, UnitView
from metaeval.kinds.entries import entries_of
from metaeval.kinds.histories import histories_of
from metaeval.kinds.relevance.data.collection import ITEM, KEYS, USER

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from metaeval.kinds.relevance.data.collection import Collection

_TITLE = "title"
_SHOWN = 30
"""Items of a history; a reader sees the whole in the prompt."""


def unit_view(data: Collection, aspects: Sequence[str]) -> UnitView:
    """Return how the units of a collection are shown: profiles and histories are shortened."""
    users, items = (data.units[key].tolist() for key in KEYS)
    titled = data.items if data.items is not None and _TITLE in data.items else None
    titles = {} if titled is None else dict(titled[[ITEM, _TITLE]].to_numpy())
    columns = [UnitColumn(key, data.nouns[key], ids) for key, ids in zip(KEYS, (users, items), strict=True)]
    if titles:
        columns.insert(0, UnitColumn(_TITLE, _TITLE, [titles.get(item) for item in items], key=False))
    fields, profiles = _entries(data.items, ITEM), _entries(data.profiles, USER)
    called = titles or {item: of.replace("\n", "; ") for item, of in fields.items()}
    histories = _histories(data, called)
    return UnitView(
        tuple(columns),
        (
            UnitText("item", [fields.get(item) for item in items]),
            UnitText("profile of the user", [profiles.get(user) for user in users]),
            UnitText("history of the user", [histories.get(user) for user in users]),
        ),
        tuple(Rated(aspect, data.aspects.get(aspect, "")) for aspect in aspects),
        heading=_TITLE if titles else "",
    )


def _entries(frame: pd.DataFrame | None, key: str) -> dict[str, str]:
    """Return of each item, or user, a line per field that is not empty."""
    if frame is None:
        return {}
    of = entries_of(frame, key, [c for c in frame.columns if c != key])
    return {name: "\n".join(f"{field}: {value}" for field, value in own) for name, own in of.items()}


def _histories(data: Collection, called: dict[str, str]) -> dict[str, str]:
    """Return the last items of each user's history, newest first, and how many more there are."""
    if data.histories is None:
        return {}
    past = histories_of(data, data.units)
    if "timestamp" in past:
        past = past.sort_values("timestamp", ascending=False, kind="stable")
    found = {}
    for user, own in past.groupby(USER, sort=False):
        shown = own.iloc[:_SHOWN]
        names = [called.get(item) or item for item in shown[ITEM]]
        if "rating" in shown:
            names = [n if r != r else f"{n} ({r:g})" for n, r in zip(names, shown["rating"], strict=True)]  # noqa: PLR0124 NaN
        more = len(own) - len(shown)
        found[str(user)] = "\n".join([*names, *([f"… and {more:,} more"] if more else [])])
    return found
