"""Confidence against agreement: calibration error, Brier score, reliability, and conformal half-widths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.bootstrap import NOTHING, Estimate, Resampler, bootstrap, each
from metaeval.stats.resampling.cluster_sums import ClusterSums, mean_of, ratio
from metaeval.stats.resampling.weights import percentile_interval
from metaeval.stats.weighted.sums import Clusters

BINS = 10
"""Bins of equal width, as published."""
_STEPS = 100  # confidences are ranked to this fraction
FOLDS = 10
"""Folds of clusters in which coverage is measured."""
LEVEL = 0.9
"""The share of ratings that a conformal interval holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """A confidence against whether the answer was right; estimates have shares as values."""

    accuracy: Estimate[float]
    confidence: Estimate[float]
    gap: Estimate[float]
    """Mean confidence minus accuracy: above 0 where the judge is overconfident."""
    brier: Estimate[float]
    auroc: Estimate[float]
    """How often a right answer has a higher confidence than a wrong one; NaN if all are right, or wrong."""
    ece: Estimate[float]
    """Expected calibration error, less its bias."""
    p: float
    """Of a calibrated confidence."""
    counts: Ints
    """Units of each bin."""
    stated: Floats
    """Mean confidence of each bin, shape (BINS,); NaN without a unit."""
    right: Estimate[Floats]
    """Accuracy of each bin."""


def reliability(
    confidence: ArrayLike, right: ArrayLike, clusters: Clusters, resampler: Resampler
) -> Reliability:
    """Measure a confidence.

    With n_b units, mean confidence c_b and accuracy a_b of bin b, ECE = Σ n_b |c_b - a_b| / n (Guo et al.
    2017, equation 3). |c_b - a_b| is above 0 by chance alone: resamples have this bias once more, and it is
    subtracted from the estimate, and twice from the lower end of their percentiles, which is 0 unless a test
    finds the confidence miscalibrated. That test flips the sign of all c - a of random clusters, which
    changes nothing of a calibrated one.

    Parameters
    ----------
    confidence
        Shape (n,), in 0 … 1.
    right
        Shape (n,): 0 or 1.
    """
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    place = np.minimum((c * BINS + 1e-9).astype(np.int64), BINS - 1)
    step = np.rint(c * _STEPS).astype(np.int64)

    def by(where: Ints, n: int, values: Floats) -> Floats:
        flat = np.bincount(where * clusters.n + clusters.of_unit, values, n * clusters.n)
        return np.asarray(flat, dtype=np.float64).reshape(n, clusters.n)

    units, said, hit = (by(place, BINS, v) for v in (np.ones_like(c), c, a))
    square = by(np.zeros_like(place), 1, np.square(c - a))
    apart = said - hit
    whole = np.concatenate([units.sum(axis=0)[None], hit.sum(axis=0)[None], said.sum(axis=0)[None], square])

    def means(sums: Floats) -> Floats:
        hits, stated, squares = ratio(sums[1:], sums[:1])
        return np.stack([hits, stated, stated - hits, squares])

    def area(sums: Floats) -> Floats:
        hits, misses = np.split(sums, 2)
        below = np.cumsum(misses, axis=0) - misses / 2
        return ratio((hits * below).sum(axis=0), hits.sum(axis=0) * misses.sum(axis=0))[None]

    def error(sums: Floats) -> Floats:
        return ratio(np.abs(sums[:BINS]).sum(axis=0), sums[BINS:].sum(axis=0))[None]

    drawn = resampler.of(clusters.n)
    ones = (0.0, 1.0)
    accuracy, mean, gap, brier = each(
        bootstrap(ClusterSums(whole, means), drawn, bounds=[ones, ones, (-1.0, 1.0), ones])
    )
    ranks = np.concatenate([by(step, _STEPS + 1, a), by(step, _STEPS + 1, 1 - a)])
    [auroc] = each(bootstrap(ClusterSums(ranks, area), drawn))
    ece = ClusterSums(np.concatenate([apart, units]), error, smooth=False)
    flipped = np.concatenate([np.abs(apart @ (1 - 2 * s)).sum(axis=0) for s in drawn.swaps.blocks()])
    found = np.abs(apart.sum(axis=1)).sum()
    p = float((1 + np.count_nonzero(flipped >= found * (1 - 1e-12))) / (1 + len(flipped)))
    return Reliability(
        accuracy,
        mean,
        gap,
        brier,
        auroc,
        _less_bias(ece, drawn, tells=p <= 1 - drawn.confidence),
        p,
        units.sum(axis=1).astype(np.int64),
        ratio(said.sum(axis=1), units.sum(axis=1)),
        bootstrap(mean_of(hit, units), drawn, bounds=(0.0, 1.0)),
    )


def _less_bias(statistic: ClusterSums, resampler: Resampler, *, tells: bool) -> Estimate[float]:
    """Estimate a share that is too high by chance, by as much as its resamples are above it."""
    value = float(statistic.at(np.ones((resampler.n_clusters, 1)))[0, 0])
    drawn = resampler.replicates(statistic)
    low, high = (float(end[0]) for end in percentile_interval(drawn, resampler.level))
    bias = max(0.0, float(np.nanmean(drawn)) - value)
    least, middle = np.clip(np.array([low - 2 * bias if tells else 0.0, value - bias]), 0.0, 1.0)
    return Estimate(float(middle), float(min(least, middle)), high, resampler.n_clusters)


@dataclass(frozen=True, slots=True)
class RatingInterval:
    """A conformal interval of single ratings: prediction ± ``half_width``."""

    half_width: float
    """Infinity where there are too few clusters for any."""
    coverage: Estimate[float]
    """Of the ratings of clusters that were held out."""


def half_width(errors: Floats, of_unit: Ints, n_clusters: int, level: float = LEVEL) -> float:
    """Return q, so that a unit of a new cluster has an error of at most q with probability ``level``.

    The level-quantile of the errors in which each of K clusters has the weight 1 / (K + 1), shared by its
    units, and infinity has the rest (Lee, Barber & Willett 2023, "Distribution-free inference with
    hierarchical data", equation 5). It holds for any dependence within clusters.
    """
    sizes = np.bincount(of_unit, minlength=n_clusters)
    order = np.argsort(errors, kind="stable")
    reached = np.cumsum(1 / sizes[of_unit[order]]) / (np.count_nonzero(sizes) + 1)
    at = int(np.searchsorted(reached, level - 1e-9))
    return float(errors[order[at]]) if at < len(order) else np.inf


def conformal(
    errors: Floats, clusters: Clusters, resampler: Resampler, level: float = LEVEL
) -> RatingInterval:
    """Return the half-width of all clusters, and how often those of other clusters hold.

    Parameters
    ----------
    errors
        Distances of ratings from predictions that were made without them, shape (n,); finite.
    """
    q = half_width(errors, clusters.of_unit, clusters.n, level)
    if np.isinf(q):
        return RatingInterval(q, NOTHING)
    folds = min(FOLDS, clusters.n)
    fold = np.random.default_rng(resampler.seed).permutation(clusters.n) % folds
    held: NDArray[np.bool_] = np.zeros(len(errors), dtype=bool)
    for f in range(folds):
        out = fold[clusters.of_unit] == f
        if not out.all():
            held[out] = errors[out] <= half_width(errors[~out], clusters.of_unit[~out], clusters.n, level)
    # Each cluster counts once, as a new one does.
    sizes = np.bincount(clusters.of_unit, minlength=clusters.n)
    share = ratio(np.bincount(clusters.of_unit, held, clusters.n).astype(np.float64), sizes)
    there = (sizes > 0).astype(np.float64)
    covered = mean_of(np.nan_to_num(share)[None], there[None])
    [coverage] = each(bootstrap(covered, resampler.of(clusters.n), bounds=(0.0, 1.0), stretch=False))
    return RatingInterval(q, coverage)
