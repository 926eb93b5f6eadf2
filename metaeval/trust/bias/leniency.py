"""Leniency and central tendency: whether a judge scores higher than people do, and all things alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.resampling.cluster_sums import ClusterSums, mean_of, ratio, summed
from metaeval.trust.bias.clustered import measured

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.resampling.bootstrap import Resampler
    from metaeval.trust.bias.arrays import JudgedUnits
    from metaeval.trust.bias.clustered import Measured


@dataclass(frozen=True, slots=True, eq=False)
class Leniency:
    """Where a judge's scores lie beside the truth, and how far they spread."""

    judge: str
    difference: Measured
    """The mean of score − truth, in points; tested."""
    spread: Measured
    """The scores' standard deviation by the truth's: below 1 the judge keeps to the middle; tested
    against 1 (the test of Pitman 1939 and Morgan 1939 that two paired spreads are equal)."""
    n_units: Ints
    """Shape (A,)."""


def leniency(data: JudgedUnits, judge: str, resampler: Resampler) -> Leniency | None:
    """Measure leniency and spread; None if the judge's scores are not ratings on the truth's scale."""
    if judge not in data.rates:
        return None
    use = data.rated(judge)
    x = np.where(use, data.scores[data.place(judge)], 0.0)
    y = np.where(use, data.truth, 0.0)
    n = np.maximum(use.sum(axis=1, keepdims=True), 1)
    # Centred once, so that squares of large numbers are not taken off each other.
    dx, dy = (np.where(use, v - v.sum(axis=1, keepdims=True) / n, 0.0) for v in (x, y))

    def by_cluster(values: Floats) -> Floats:
        return summed(values, use, data.cluster, data.n_clusters)

    def spread(sums: Floats) -> Floats:
        first, square, of_truth, square_of_truth = ratio(sums[1:], sums[0])
        return np.sqrt(ratio(np.maximum(square - first**2, 0.0), square_of_truth - of_truth**2))

    units, difference = by_cluster(use.astype(np.float64)), by_cluster(x - y)
    sums = np.stack([units, *(by_cluster(v) for v in (dx, dx**2, dy, dy**2))])
    total = np.maximum(sums[4].sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    empty = np.where(use.any(axis=1, keepdims=True), 0.0, np.nan)
    apart = (sums[2] - sums[4]) / (2 * total) + empty
    return Leniency(
        judge,
        measured(mean_of(difference, units), resampler, difference / n + empty),
        measured(ClusterSums(sums, spread), resampler, apart, bounds=(0.0, np.inf)),
        use.sum(axis=1),
    )
