"""Baselines that any other evaluator should beat: chance and position."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metaeval.base.records import FIRST, SECOND, DataOfKind, DataSet, Kind, Scale
from metaeval.evaluators.base import BaseEvaluator, integer
from metaeval.evaluators.grid import OK, FloatArray, Grid

_SOURCE = "blake2b of seed, aspect and unit"


@dataclass(frozen=True, repr=False)
class Random(BaseEvaluator):
    """A score drawn uniformly from the rating scale, for each unit and aspect by itself.

    It depends on the seed, the unit and the aspect alone: neither on the order of the rows nor on what else
    is scored. On a scale of integers it is an integer.

    Parameters
    ----------
    seed
        Any integer.
    """

    kind: ClassVar[Kind] = Kind.BASELINE

    seed: int = integer(0)

    def grid(self, data: DataSet, aspects: Sequence[str]) -> Grid:
        """Return a random score for every unit and aspect."""
        rows = zip(*(data.units[k].tolist() for k in data.keys), strict=True)
        units = ["\x1f".join(map(str, row)).encode("utf-8", "surrogatepass") for row in rows]
        scores = np.empty((len(data), len(aspects)))
        for column, aspect in enumerate(aspects):
            drawn = _uniform(f"{self.seed}\x1f{aspect}\x1f".encode("utf-8", "surrogatepass"), units)
            scores[:, column] = self.scored(drawn, data.scale.of(aspect))
        return Grid(scores, np.full(scores.shape, OK, np.int8))

    def scored(self, drawn: FloatArray, scale: Scale) -> FloatArray:
        """Return the scores that numbers from 0 to 1 stand for."""
        if scale.integer:
            return scale.min + np.floor(drawn * (scale.max - scale.min + 1))
        return scale.min + drawn * (scale.max - scale.min)

    def signature(self, data: DataSet) -> Mapping[str, Any]:
        """Return the seed and where the numbers come from."""
        return {"seed": self.seed, "source": _SOURCE, "scale": str(data.scale)}


def is_random(signature: Mapping[str, Any]) -> bool:
    """Say whether the signature of an evaluator is that of `Random`."""
    return signature.get("source") == _SOURCE


def _uniform(prefix: bytes, units: Sequence[bytes]) -> FloatArray:
    """Return a number in [0, 1) for each unit, with all 53 bits that a float has."""
    start = hashlib.blake2b(prefix, digest_size=8)
    digests = []
    for unit in units:
        state = start.copy()
        state.update(unit)
        digests.append(state.digest())
    drawn = np.frombuffer(b"".join(digests), dtype="<u8")
    return (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53


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
