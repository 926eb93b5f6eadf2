"""Leniency and central tendency: whether a judge scores higher than people do, and in a narrower range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.resampling.cluster_sums import ClusterSums, mean_of, ratio
from metaeval.trust.bias.clustered import measured

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.resampling.bootstrap import Resampler
    from metaeval.trust.bias.arrays import JudgedUnits
    from metaeval.trust.bias.clustered import Measured


@dataclass(frozen=True, slots=True, eq=False)
class Leniency:
    """The level and the spread of a judge's scores against the truth's."""

    judge: str
    difference: Measured
    """The mean of score − truth, in points; tested."""
    spread: Measured
    """Standard deviation of the scores / the truth; tested against 1 (Pitman 1939, Morgan 1939)."""
    n_units: Ints
    """Shape (A,)."""


def leniency(data: JudgedUnits, judge: str, resampler: Resampler) -> Leniency | None:
    """Measure leniency and spread; None if the judge's scores are not ratings on the truth's scale."""
    if judge not in data.rates:
        return None
    use = data.rated(judge)
    x = np.where(use, data.of(judge), 0.0)
    y = np.where(use, data.truth, 0.0)
    n = np.maximum(use.sum(axis=1, keepdims=True), 1)
    # Centred first, so that the difference of squares keeps its digits.
    dx, dy = (np.where(use, v - v.sum(axis=1, keepdims=True) / n, 0.0) for v in (x, y))

    def spread(sums: Floats) -> Floats:
        first, square, of_truth, square_of_truth = ratio(sums[1:], sums[0])
        return np.sqrt(ratio(np.maximum(square - first**2, 0.0), square_of_truth - of_truth**2))

    units, difference, *moments = (
        data.by_cluster(v, use) for v in (use.astype(np.float64), x - y, dx, dx**2, dy, dy**2)
    )
    sums = np.stack([units, *moments])
    total = np.maximum(sums[4].sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    empty = np.where(use.any(axis=1, keepdims=True), 0.0, np.nan)
    apart = (sums[2] - sums[4]) / (2 * total) + empty
    return Leniency(
        judge,
        measured(mean_of(difference, units), resampler, difference / n + empty),
        measured(ClusterSums(sums, spread), resampler, apart, bounds=(0.0, np.inf)),
        use.sum(axis=1),
    )
