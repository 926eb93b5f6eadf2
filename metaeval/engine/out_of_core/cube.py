"""Scores of every evaluator, aspect and unit in an unnamed file, each a byte where they are on a scale."""

from __future__ import annotations

import tempfile
import weakref
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from metaeval.engine.alignment.aligned import Bools
    from metaeval.stats.coefficients.tables import Floats

NO_ROW, MISSING, EXAMPLE = 255, 254, 253
"""Bytes that are no score."""
LARGEST = 252
"""Whole scores that differ by at most this are a byte each."""
_FLOATS = {NO_ROW: -np.inf, MISSING: np.nan, EXAMPLE: np.inf}  # the same, where scores are floats


class Cube:
    """Scores of E evaluators for A aspects and U units, in the order of the evaluators.

    The file has no name, so that the system frees it when the process ends, however it ends.
    """

    def __init__(self, n_aspects: int, n_units: int, low: float | None) -> None:
        self.shape = (n_aspects, n_units)
        self.low = low
        """The lowest score of a scale; None if scores are not on a scale, and kept as floats."""
        self.type = np.dtype(np.float64 if low is None else np.uint8)
        self.size = n_aspects * n_units
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the cube lives
        weakref.finalize(self, self._file.close)
        self._reading = Lock()

    def code(self, status: int) -> float:
        """Return what stands in the place of a score for ``NO_ROW``, ``MISSING`` or ``EXAMPLE``."""
        return status if self.low is not None else _FLOATS[status]

    def all_scored(self, codes: NDArray[Any]) -> bool:
        """Say whether codes are scores throughout."""
        return bool((codes <= LARGEST).all() if self.low is not None else np.isfinite(codes).all())

    def append(self, codes: NDArray[Any]) -> None:
        """Write the codes of the evaluators that come next, one after the other."""
        self._file.seek(0, 2)
        self._file.write(codes.data.cast("B"))

    def rows(self, evaluator: int) -> Bools:
        """Return where an evaluator has a row, with a score or without, shape (A, U)."""
        return np.asarray(self._codes([evaluator])[0] != self.code(NO_ROW))

    def read(self, evaluators: Sequence[int]) -> tuple[Floats, Bools | None]:
        """Return the scores of evaluators, shape (E, A, U), NaN for none, and where a unit was an example."""
        codes = self._codes(evaluators)
        example = codes == self.code(EXAMPLE)
        if self.low is None:
            codes[np.isinf(codes)] = np.nan
            scores = codes
        else:
            values = self.low + np.arange(NO_ROW + 1.0)
            values[LARGEST + 1 :] = np.nan
            scores = values[codes]
        return scores, example if example.any() else None

    def _codes(self, evaluators: Sequence[int]) -> NDArray[Any]:
        codes = np.empty((len(evaluators), *self.shape), dtype=self.type)
        with self._reading:
            for place, evaluator in zip(codes, evaluators, strict=True):
                self._file.seek(evaluator * self.size * self.type.itemsize)
                self._file.readinto(place.data.cast("B"))
        return codes
