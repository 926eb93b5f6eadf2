"""Evaluators of slates without a model: popularity, length, and the truth itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError
from metaeval.evaluators.chance import Preference
from metaeval.evaluators.grid import FloatArray
from metaeval.kinds.slates.data.slate_set import ITEM, SLATE, USER, SlateSet


@dataclass(frozen=True, repr=False)
class PopularSlate(Preference):
    """The slate with items that more other users chose before, on average; in specs, ``Popularity()``."""

    called: ClassVar[str] = "Popularity"
    needs: ClassVar[str] = "histories"

    def worth(self, data: SlateSet, side: str) -> FloatArray:
        """Return the mean number of other users per item."""
        if data.histories is None:
            raise DataError(f"{self}: data set {data.name!r} has no histories of users; add them")
        pairs = data.histories[[USER, ITEM]].drop_duplicates()
        counts = data.slates[ITEM].map(pairs[ITEM].value_counts()).fillna(0).to_numpy()
        own = data.slates[[USER, ITEM]].merge(pairs.assign(own=1), how="left")["own"].fillna(0).to_numpy()
        return _of_slates(data, side, data.slates.assign(users=counts - own), "users", "mean")


@dataclass(frozen=True, repr=False)
class Longer(Preference):
    """The slate with more items."""

    def worth(self, data: SlateSet, side: str) -> FloatArray:
        """Return the number of items."""
        return _of_slates(data, side, data.slates, ITEM, "size")


@dataclass(frozen=True, repr=False)
class Oracle(Preference):
    """The slate of the higher utility: no evaluator can have less regret. It is for tests."""

    def worth(self, data: SlateSet, side: str) -> FloatArray:
        """Return the utility."""
        return data.table[f"utility_{side}"].to_numpy(np.float64)


def _of_slates(data: SlateSet, side: str, items: pd.DataFrame, column: str, how: str) -> FloatArray:
    """Return for each unit a statistic of a column over the items of the slate on a side."""
    import pandas as pd

    known = items.groupby([USER, SLATE])[column].agg(how)
    shown = pd.MultiIndex.from_frame(data.table[[USER, side]])
    found: FloatArray = known.reindex(shown).to_numpy(np.float64)
    return found
