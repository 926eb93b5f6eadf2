"""Evaluators of slates that ask no model: chance, place, popularity, length, and the truth itself."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from metaeval.base.errors import DataError
from metaeval.base.records import FIRST, SECOND, Kind
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.chance import Random
from metaeval.evaluators.grid import Grid
from metaeval.kinds.slates.data.slate_set import ITEM, SLATE, USER

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from metaeval.base.records import Scale
    from metaeval.evaluators.grid import FloatArray
    from metaeval.kinds.slates.data.slate_set import SlateSet


@dataclass(frozen=True, repr=False)
class Coin(Random):
    """A fair coin for each showing of a duel, never a tie; in specs, ``Random(seed=0)``.

    It depends on the seed and the unit alone: neither on the order of the rows nor on what else is scored.

    Parameters
    ----------
    seed
        Any integer.
    """

    called: ClassVar[str] = "Random"

    def scored(self, drawn: FloatArray, scale: Scale) -> FloatArray:
        """Return the ends of the scale."""
        return np.where(drawn < 0.5, scale.min, scale.max)


class Preference(BaseEvaluator):
    """Prefers the slate that has more of something; a tie where both have as much."""

    kind: ClassVar[Kind] = Kind.BASELINE

    @abstractmethod
    def worth(self, data: SlateSet, side: str) -> FloatArray:
        """Return how much the slate on a side, ``first`` or ``second``, has; a value per unit."""

    def grid(self, data: SlateSet, aspects: Sequence[str]) -> Grid:
        """Return the sign of the difference between the slate shown first and the other one."""
        return Grid.repeated(np.sign(self.worth(data, FIRST) - self.worth(data, SECOND)), len(aspects))


@dataclass(frozen=True, repr=False)
class FirstPosition(Preference):
    """The slate that is shown first, whatever it holds."""

    def worth(self, data: SlateSet, side: str) -> FloatArray:
        """Return 1 for the slate that is shown first."""
        return np.full(len(data), float(side == FIRST))


@dataclass(frozen=True, repr=False)
class PopularSlate(Preference):
    """The slate with items that more other users chose before, on average; in specs, ``Popularity()``."""

    called: ClassVar[str] = "Popularity"

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
