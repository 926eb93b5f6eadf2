"""Krippendorff's alpha of any number of raters, as a function of cluster weights."""

from __future__ import annotations

import numpy as np

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio


def alpha_sums(ratings: Floats, of_unit: Ints, n_clusters: int, labels: int = 0) -> ClusterSums:
    """Return alpha as a statistic, whose values have shape (1, columns).

    Parameters
    ----------
    ratings
        Shape (raters, units); NaN where a rater has not rated. A unit with one rating does not count.
    of_unit
        The cluster of each unit, in ``range(n_clusters)``.
    labels
        Number of labels, which are the ratings: alpha is nominal. 0 for numbers, whose alpha is of intervals.
    """
    there = ~np.isnan(ratings)
    n = there.sum(axis=0)
    use = n > 1
    values, given, n = ratings[:, use], there[:, use], n[use].astype(np.float64)
    cluster = of_unit[use]

    def by_cluster(of_units: Floats) -> Floats:
        return np.stack([np.bincount(cluster, row, n_clusters) for row in np.atleast_2d(of_units)])

    if labels:
        counts = np.stack([(values == label).sum(axis=0) for label in range(labels)]).astype(np.float64)
        differ = (n**2 - np.square(counts).sum(axis=0)) / (n - 1)
        return ClusterSums(np.concatenate([by_cluster(differ), by_cluster(counts)]), _nominal)
    centre = values[given].mean() if given.any() else 0.0
    x = np.where(given, values - centre, 0.0)  # a large offset would cost digits
    total, squares = x.sum(axis=0), np.square(x).sum(axis=0)
    within = (squares - total**2 / n) * n / (n - 1)
    return ClusterSums(by_cluster(np.stack([within, n, total, squares])), _interval)


def _nominal(sums: Floats) -> Floats:
    differ, counts = sums[0], sums[1:]
    n = counts.sum(axis=0)
    return 1.0 - ratio((n - 1) * differ, n * n - np.square(counts).sum(axis=0))[None]


def _interval(sums: Floats) -> Floats:
    within, n, total, squares = sums
    spread = n * squares - total**2
    spread = np.where(spread > 1e-9 * np.maximum(n * squares, 1.0), spread, 0.0)
    return 1.0 - ratio((n - 1) * within, spread)[None]
