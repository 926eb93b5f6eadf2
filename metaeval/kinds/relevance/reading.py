"""What a reader of a report sees of a collection: the item, and what is known of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.engine.drilldown import Rated, UnitColumn, UnitText, UnitView
from metaeval.kinds.reading import TITLE, fields_text, histories_text, titles_of
from metaeval.kinds.relevance.data.collection import ITEM, KEYS, USER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.kinds.relevance.data.collection import Collection


def unit_view(data: Collection, aspects: Sequence[str]) -> UnitView:
    """Return how the units of a collection are shown: profiles and histories are shortened."""
    users, items = (data.units[key].tolist() for key in KEYS)
    titles = titles_of(data)
    columns = [UnitColumn(key, data.nouns[key], ids) for key, ids in zip(KEYS, (users, items), strict=True)]
    if titles:
        columns.insert(0, UnitColumn(TITLE, TITLE, [titles.get(item) for item in items], key=False))
    fields, profiles = fields_text(data.items, ITEM), fields_text(data.profiles, USER)
    histories = histories_text(data, data.units)
    return UnitView(
        tuple(columns),
        (
            UnitText("item", [fields.get(item) for item in items]),
            UnitText("profile of the user", [profiles.get(user) for user in users]),
            UnitText("history of the user", [histories.get(user) for user in users]),
        ),
        tuple(Rated(aspect, data.aspects.get(aspect, "")) for aspect in aspects),
        heading=TITLE if titles else "",
    )
