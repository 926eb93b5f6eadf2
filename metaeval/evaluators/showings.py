"""Baselines for units that show two sides, one of which is preferred: chance and position."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from metaeval.base.records import FIRST, SECOND, Kind
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.chance import Random
from metaeval.evaluators.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.base.records import DataOfKind, Scale
    from metaeval.evaluators.grid import FloatArray


@dataclass(frozen=True, repr=False)
class Coin(Random):
    """A fair coin for each showing, never a tie; in specs, ``Random(seed=0)``.

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
    """Prefers the side that has more of something; a tie if both have the same."""

    kind: ClassVar[Kind] = Kind.BASELINE

    @abstractmethod
    def worth(self, data: DataOfKind, side: str) -> FloatArray:
        """Return how much the side, ``first`` or ``second``, has, a value per unit; NaN if no one knows."""

    def grid(self, data: DataOfKind, aspects: Sequence[str]) -> Grid:
        """Return the sign of the difference between what is shown first and the other side."""
        return Grid.repeated(np.sign(self.worth(data, FIRST) - self.worth(data, SECOND)), len(aspects))


@dataclass(frozen=True, repr=False)
class FirstPosition(Preference):
    """Prefers the side that is shown first."""

    def worth(self, data: DataOfKind, side: str) -> FloatArray:
        """Return 1 for what is shown first."""
        return np.full(len(data), float(side == FIRST))
