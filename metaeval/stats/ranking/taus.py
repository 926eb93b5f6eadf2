"""Agreement of two orders of systems: Kendall's τ under weights of users, and τ that counts the top more."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.coefficients.grouped import kendall
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.ranking.orders import paired_values
from metaeval.stats.resampling.cluster_sums import ClusterSums
from metaeval.stats.weighted.statistic import coefficients_of_means
from metaeval.stats.weighted.sums import in_blocks

_EQUAL = 1e-12  # of the largest mean: means that are closer tie


def tau_of_means(judge: ClusterSums, truth: ClusterSums) -> ClusterSums:
    """Return Kendall's τ-b of two means per system, over the same users, as a function of their weights."""

    def of_sums(sums: Floats) -> Floats:
        means = np.concatenate([judge.of_sums(sums[0]), truth.of_sums(sums[1])])
        return in_blocks(_tau, means, len(means) ** 2 // 4)

    return ClusterSums(np.stack([judge.by_cluster, truth.by_cluster]), of_sums, smooth=False)


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
    the share that it puts below; and averages over all systems but the first. Where the estimate ties
    systems, it is the mean over all orders of them: τ_AP,a (Urbano & Marrero 2017, for a truth without ties).
    Two that the truth ties count 0. NaN for fewer than two systems.
    """
    agree, against, n_above, n_tied = _above(estimate, truth)
    n = len(agree)
    below = np.flatnonzero(n_above > 0)
    # A system tied with others stands at each of their places equally often.
    shares = [(agree[i] - against[i]) * (1 / (n_above[i] + np.arange(n_tied[i]))).mean() for i in below]
    return float(np.sum(shares) / (n - 1)) if n > 1 else math.nan


def tau_ap_b(x: ArrayLike, y: ArrayLike) -> float:
    """τ_AP,b, the agreement of two orders of which none is the truth (Urbano & Marrero 2017).

    The mean over both directions of τ_AP, averaged over the systems that have any above them by the first
    order; one that is tied by the second counts as below. NaN if an order ties all systems.
    """
    shares = []
    for first, second in ((x, y), (y, x)):
        agree, _, n_above, _ = _above(first, second)
        below = n_above > 0
        shares.append(2 * (agree[below] / n_above[below]).mean() - 1 if below.any() else math.nan)
    return float(np.mean(shares))


def _above(estimate: ArrayLike, truth: ArrayLike) -> tuple[Ints, Ints, Ints, Ints]:
    """Count for each system those above it by the estimate that the truth has above it, and below it.

    And all that are above it by the estimate, and tied with it, itself too.
    """
    x, y = paired_values(estimate, truth)
    by_x, by_y = (_EQUAL * np.abs(v).max(initial=0.0) for v in (x, y))
    above = x > x[:, None] + by_x
    agree, against = above & (y > y[:, None] + by_y), above & (y < y[:, None] - by_y)
    tied = np.abs(x - x[:, None]) <= by_x
    return agree.sum(axis=1), against.sum(axis=1), above.sum(axis=1), tied.sum(axis=1)


def rank_biased_overlap(x: ArrayLike, y: ArrayLike, p: float = 0.9) -> float:
    """Rank-biased overlap of two orders, highest first (Webber, Moffat & Zobel 2010, equation 32).

    The agreement at the last rank is taken to go on. Tied systems stand at each of their places equally
    often, as in RBO^a of Corsi & Urbano (2024). NaN without a system.
    """
    from scipy.stats import rankdata

    a, b = paired_values(x, y)
    if not len(a):
        return math.nan
    depths = np.arange(1, len(a) + 1)
    held = []
    for values in (a, b):
        ranked = -values / (_EQUAL * np.abs(values).max(initial=0.0) or 1.0)
        first, last = (rankdata(np.rint(ranked), method)[:, None] for method in ("min", "max"))
        held.append(np.clip((depths - first + 1) / (last - first + 1), 0.0, 1.0))
    overlap = (held[0] * held[1]).sum(axis=0) / depths
    return float(overlap[-1] * p ** len(a) + (1 - p) * (overlap @ p ** (depths - 1.0)))


def top_tau(estimate: ArrayLike, truth: ArrayLike, k: int) -> float:
    """Kendall's τ-b among the k best systems by the truth, and those tied with the last."""
    x, y = paired_values(estimate, truth)
    if len(y) == 0:
        return math.nan
    last = np.sort(y)[-min(k, len(y))]
    top = y >= last - _EQUAL * np.abs(y).max()
    return kendall(x[top], y[top]) if top.sum() > 1 else math.nan
