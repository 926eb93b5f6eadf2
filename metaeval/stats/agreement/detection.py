"""Two-valued truth: how well what passes is found, at a cut of the scores and over all cuts (ROC)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio
from metaeval.stats.weighted.sums import Clusters, Matrix, by_cluster, dense, in_blocks

DETECTIONS = (
    "prevalence",
    "passed",
    "accuracy",
    "sensitivity",
    "specificity",
    "precision",
    "f1",
    "balanced",
)
"""The measures of `detection`, in its order."""


def detection(said: ArrayLike, true: ArrayLike, clusters: Clusters) -> ClusterSums:
    """Return the `DETECTIONS` as a statistic of the clusters' weights; NaN where one has nothing to count.

    With hits h, false alarms f, misses m and correct rejections c, of n units: prevalence (h + m) / n, passed
    (h + f) / n, accuracy (h + c) / n, sensitivity (recall) h / (h + m), specificity c / (c + f), precision
    h / (h + f), F1 2h / (2h + f + m), and balanced accuracy, the mean of sensitivity and specificity (Altman
    & Bland 1994, BMJ 308, 1552 and 309, 102). All but sensitivity, specificity and balanced accuracy depend
    on the prevalence.

    Parameters
    ----------
    said, true
        Which units pass by the scores, and by the truth, shape (n,).
    """
    cell = 2 * np.asarray(true, dtype=np.int64) + np.asarray(said, dtype=np.int64)
    return ClusterSums(dense(by_cluster(np.ones(len(cell)), cell, 4, clusters)), _detections)


def _detections(sums: Floats) -> Floats:
    rejected, alarms, missed, hits = sums
    n, passed, there = sums.sum(axis=0), alarms + hits, missed + hits
    sensitivity, specificity = ratio(hits, there), ratio(rejected, rejected + alarms)
    return np.stack(
        [
            ratio(there, n),
            ratio(passed, n),
            ratio(hits + rejected, n),
            sensitivity,
            specificity,
            ratio(hits, passed),
            ratio(2 * hits, passed + there),
            (sensitivity + specificity) / 2,
        ]
    )


@dataclass(frozen=True, slots=True)
class RocArea:
    """The area under the ROC curve, as a function of the clusters' weights.

    It is the share of pairs, of a unit that passes and one that does not, in which the first has the higher
    score; a tie counts half (Hanley & McNeil 1982, Radiology 143, 29). NaN without such a pair.
    """

    counts: Matrix
    """Shape (2 · values, n_clusters): units that do not pass, by score, ascending; then those that do."""

    @classmethod
    def of(cls, scores: ArrayLike, true: ArrayLike, clusters: Clusters) -> RocArea:
        """Count units by score, truth (which pass) and cluster; scores are finite, shape (n,)."""
        values, place = np.unique(np.asarray(scores, dtype=np.float64), return_inverse=True)
        row = place + len(values) * np.asarray(true, dtype=np.int64)
        return cls(by_cluster(np.ones(len(row)), row, 2 * len(values), clusters))

    def at(self, weights: Floats) -> Floats:
        """Return the area under each column of weights, shape (1, columns)."""
        return in_blocks(lambda columns: self.of_sums(self.sums(columns)), weights, self.counts.shape[0])

    def sums(self, weights: Matrix) -> Floats:
        """Return the weighted counts, shape (2 · values, columns)."""
        return dense(self.counts @ weights)

    def of_sums(self, sums: Floats) -> Floats:
        """Return the area from weighted counts."""
        others, passing = np.split(sums, 2)
        below = np.cumsum(others, axis=0) - others / 2
        return ratio((passing * below).sum(axis=0), passing.sum(axis=0) * others.sum(axis=0))[None]
