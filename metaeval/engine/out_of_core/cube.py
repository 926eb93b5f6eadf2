"""Scores of every evaluator, aspect and unit in an unnamed file."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from metaeval.base.records import Status

if TYPE_CHECKING:
    from pathlib import Path

    from metaeval.engine.alignment.aligned import Aligned, Bools
    from metaeval.stats.coefficients.tables import Floats

NO_ROW, EXAMPLE = -np.inf, np.inf
"""What stands where an evaluator has no row, and where the unit was an example; NaN is a missing score."""


class Cube:
    """Scores of E evaluators for A aspects and U units, in the order of the evaluators.

    The file has no name, so that the system frees it when the process ends, however it ends.
    """

    def __init__(self, n_aspects: int, n_units: int) -> None:
        self.shape = (n_aspects, n_units)
        self.size = n_aspects * n_units
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the cube lives
        weakref.finalize(self, self._file.close)
        self._reading = Lock()

    def append(self, scores: Floats) -> None:
        """Write the scores of the evaluators that come next, one after the other."""
        self._file.seek(0, 2)
        self._file.write(scores.data.cast("B"))

    def rows(self, evaluator: int) -> Bools:
        """Return where an evaluator has a row, with a score or without, shape (A, U)."""
        return np.asarray(self._stored([evaluator])[0] != NO_ROW)

    def read(self, evaluators: Sequence[int]) -> tuple[Floats, Bools | None]:
        """Return the scores of evaluators, shape (E, A, U), NaN for none, and where a unit was an example."""
        scores = self._stored(evaluators)
        example = scores == EXAMPLE
        scores[np.isinf(scores)] = np.nan
        return scores, example if example.any() else None

    def _stored(self, evaluators: Sequence[int]) -> Floats:
        scores = np.empty((len(evaluators), *self.shape))
        with self._reading:
            for place, evaluator in zip(scores, evaluators, strict=True):
                self._file.seek(evaluator * self.size * scores.itemsize)
                self._file.readinto(place.data.cast("B"))
        return scores


@dataclass(frozen=True)
class Loaded:
    """Scores and truth over the same units."""

    truth: Aligned
    """Without evaluators."""
    evaluators: list[str]
    cube: Cube
    complete: bool
    """Whether every evaluator gave every unit a score."""

    def part(self, evaluators: Sequence[int]) -> Aligned:
        """Return the scores of some evaluators and the truth."""
        scores, example = self.cube.read(evaluators)
        names = [self.evaluators[e] for e in evaluators]
        return replace(self.truth, evaluators=names, scores=scores, example=example)

    def status_counts(self) -> dict[str, dict[str, int]]:
        """Return evaluator → status → number of scores with it."""
        counts = {}
        for e, name in enumerate(self.evaluators):
            scored = int(np.isfinite(self.cube.read([e])[0]).sum())
            both = {Status.OK.value: scored, Status.MISSING.value: int(self.cube.rows(e).sum()) - scored}
            counts[name] = {status: n for status, n in both.items() if n}
        return counts

    def write_scores(self, keys: Sequence[str], file: Path) -> None:
        """Write the scores as the Parquet file of a run, one evaluator at a time."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        texts = {k: pa.array(self.truth.labels[k].to_numpy(dtype=object)) for k in keys}
        aspects, statuses = pa.array(self.truth.aspects), pa.array([Status.OK.value, Status.MISSING.value])
        writer = None
        try:
            for e, name in enumerate(self.evaluators):
                aspect, unit = np.nonzero(self.cube.rows(e))
                score = self.cube.read([e])[0][0, aspect, unit]
                table = pa.table(
                    {
                        **{k: names.take(pa.array(self.truth.keys[k][unit])) for k, names in texts.items()},
                        "evaluator": pa.array([name]).take(pa.array(np.zeros(len(unit), dtype=np.int64))),
                        "aspect": aspects.take(pa.array(aspect)),
                        "score": pa.array(score),
                        "status": statuses.take(pa.array(np.isnan(score).astype(np.int64))),
                    }
                )
                writer = writer or pq.ParquetWriter(file, table.schema)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()
