"""Agreement of two orders of systems: Kendall's τ under weights of users, and τ that counts the top more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from metaeval.stats.coefficients.grouped import kendall
from metaeval.stats.ranking.orders import paired_values
from metaeval.stats.resampling.cluster_sums import ClusterSums
from metaeval.stats.weighted.statistic import coefficients_of_means
from metaeval.stats.weighted.sums import in_blocks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.weighted.sums import Matrix

_EQUAL = 1e-12  # of the largest mean: means that are closer tie


@dataclass(frozen=True, slots=True, eq=False)
class TauOfMeans:
    """Kendall's τ-b of two means per system, as a function of the users' weights."""

    by_cluster: Floats
    """Shape (2, rows, users): sums of the judge, and of the truth."""
    judge: ClusterSums
    truth: ClusterSums
    smooth: ClassVar = False

    @classmethod
    def of(cls, judge: ClusterSums, truth: ClusterSums) -> TauOfMeans:
        """Compare means of the same systems over the same users."""
        return cls(np.stack([judge.by_cluster, truth.by_cluster]), judge, truth)

    def sums(self, weights: Matrix) -> Floats:
        """Return the weighted sums, shape (2, rows, columns)."""
        return ClusterSums(self.by_cluster, self.of_sums).sums(weights)

    def of_sums(self, sums: Floats) -> Floats:
        """Return τ, shape (1, columns), from weighted sums."""
        means = np.concatenate([self.judge.of_sums(sums[0]), self.truth.of_sums(sums[1])])
        return in_blocks(_tau, means, len(means) ** 2 // 4)

    def at(self, weights: Floats) -> Floats:
        """Return τ under each column of weights, shape (1, columns)."""
        return self.of_sums(self.sums(weights))


def _tau(means: Floats) -> Floats:
    x, y = np.split(means, 2)
    there = ~np.isnan(x + y)
    x, y = np.where(there, x, 0.0), np.where(there, y, 0.0)
    slack = (_EQUAL * float(np.abs(x).max(initial=0.0)), _EQUAL * float(np.abs(y).max(initial=0.0)))
    return coefficients_of_means(x, y, there, slack, ["kendall"])


def tau_of(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's τ-b of the means of systems, of which some tie but for rounding."""
    return float(_tau(np.concatenate(paired_values(x, y))[:, None])[0, 0])


def tau_ap(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Kendall's τ with the errors at the top of the estimated order weighing most (Yilmaz et al. 2008, τ_AP).

    For each system it takes those above it by the estimate: the share that the truth puts above it too, less
    the share that it puts below; and averages over the systems that have any above them. Two that the
    estimate ties are not compared (as in τ_AP,b; Urbano & Marrero 2017); two that only the truth
    ties count 0.

    Parameters
    ----------
    estimate, truth
        Values of the systems, the highest first in order; shape (systems,).

    Returns
    -------
    float
        From -1 to 1; NaN if the estimate ties all systems.
    """
    x, y = paired_values(estimate, truth)
    by_x, by_y = (_EQUAL * np.abs(v).max(initial=0.0) for v in (x, y))
    above = x > x[:, None] + by_x
    agreeing = (above * ((y > y[:, None] + by_y).astype(float) - (y < y[:, None] - by_y))).sum(axis=1)
    n_above = above.sum(axis=1)
    below = n_above > 0
    return float((agreeing[below] / n_above[below]).mean()) if below.any() else math.nan


def top_tau(estimate: ArrayLike, truth: ArrayLike, k: int) -> float:
    """Kendall's τ-b among the k best systems by the truth, and those tied with the last."""
    x, y = paired_values(estimate, truth)
    if len(y) == 0:
        return math.nan
    last = np.sort(y)[-min(k, len(y))]
    top = y >= last - _EQUAL * np.abs(y).max()
    return kendall(x[top], y[top]) if top.sum() > 1 else math.nan
