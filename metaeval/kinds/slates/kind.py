"""The kind of study whose units are pairs of slates that are shown for a user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.engine.drilldown import Rated, UnitColumn, UnitText, UnitView
from metaeval.kinds.kind import StudyKind
from metaeval.kinds.slates.data.loading import load
from metaeval.kinds.slates.study import SlatesStudy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from metaeval.kinds.slates.data.slate_set import SlateSet


class SlatesKind(StudyKind):
    """Duels of slates: which of two lists of items a user prefers."""

    name = "slates"
    study = SlatesStudy

    def load(self, place: str | Path) -> SlateSet:
        """Load the folder of a data set."""
        return load(place)

    def unit_view(self, data: SlateSet, aspects: Sequence[str]) -> UnitView:
        """Show the names of the two slates."""
        columns = tuple(UnitColumn(k, data.nouns[k], data.units[k].tolist()) for k in data.keys)
        texts = tuple(UnitText(side, data.table[side].tolist()) for side in ("first", "second"))
        return UnitView(columns, texts, tuple(Rated(a, data.aspects.get(a, "")) for a in aspects))


SLATES = SlatesKind()
