"""Correlation coefficients as functions of cluster weights: for bootstrap, jackknife, permutations and power.

A bootstrap resample, a jackknife sample, a permutation and a smaller study are columns of weights, which say
how often each cluster counts. `statistic` sums what a coefficient needs by cluster once. Then a column costs
a few products of small matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.coefficients.grouped import grouped
from metaeval.stats.coefficients.levels import Grouping, Undefined
from metaeval.stats.coefficients.tables import (
    ContingencyTables,
    Floats,
    GroupSums,
    Ints,
    common_denominator,
    encode,
    squarable,
)
from metaeval.stats.resampling.cluster_sums import mean_of, summed
from metaeval.stats.weighted.crossed import CellCounts, Crossed, Moments
from metaeval.stats.weighted.sums import Clusters, Matrix, by_cluster, dense, in_blocks

if TYPE_CHECKING:
    from metaeval.stats.resampling.cluster_sums import Statistic

__all__ = ["Clusters", "cluster_of_groups", "coefficients_of_means", "statistic"]

_ROUNDING = 1e-12  # of means near one: closer ones differ by the rounding of their sums


def statistic(
    x: Floats,
    y: Floats,
    grouping: Grouping,
    clusters: Clusters,
    coefficients: Sequence[str],
    *,
    undefined: Undefined = "skip",
    terms: Floats | None = None,
    addable: bool = False,
) -> Statistic:
    """Return the coefficients of x and y at one level as a function of cluster weights.

    At weights of one for every cluster they are the estimate of
    `metaeval.stats.coefficients.levels.estimate`.

    Parameters
    ----------
    x, y
        Finite values, shape (n,).
    grouping, clusters
        The group of each unit, at the level, and the units that are resampled together.
    coefficients
        Any of ``pearson``, ``spearman``, ``kendall``.
    undefined
        Groups without a defined coefficient are left out of the mean, or count as zero.
    terms
        Shape (coefficients, n_groups): coefficients of the groups, if they are known already.
    addable
        Whether the sums of a `Linear` statistic are to be added to those of others. Then values are neither
        centred nor scaled, which would keep more digits.
    """
    if not addable:
        x, y = squarable(x), squarable(y)
    home = cluster_of_groups(grouping, clusters)
    if grouping.between and home is not None:
        # Each group lies in one cluster, and its mean counts as often as that.
        x, y = (GroupSums.of(v, grouping.group, grouping.n_groups).means() for v in (x, y))
        there = ~np.isnan(x)
        x, y, clusters = x[there], y[there], Clusters(home[there], clusters.n)
        grouping, home = Grouping(np.zeros(len(x), dtype=np.int64), 1), None
    if grouping.between:
        return _Between.of(
            x, y, grouping, clusters, tuple(coefficients), undefined=undefined, addable=addable
        )
    if home is None:
        if tuple(coefficients) == ("pearson",):
            return Moments.of(x, y, grouping, clusters, undefined, addable=addable)
        one_group = len(coefficients) == 1 and grouping.n_groups == 1
        counted = CellCounts.of(x, y, clusters, coefficients[0], undefined) if addable and one_group else None
        if counted is not None:
            return counted
        return Crossed.of(x, y, grouping, clusters, tuple(coefficients), undefined=undefined)
    sizes = np.bincount(grouping.group, minlength=grouping.n_groups)
    if terms is None:
        terms = grouped(
            ContingencyTables.of(encode(x), encode(y), grouping.group, grouping.n_groups), coefficients
        )
    # A mean over groups that each lie in one cluster: weights do not change their coefficients.
    defined = ~np.isnan(terms)
    entering = defined if undefined == "skip" else np.broadcast_to(sizes > 0, terms.shape)
    ones = np.ones_like(terms)
    return mean_of(summed(terms, defined, home, clusters.n), summed(ones, entering, home, clusters.n))


def cluster_of_groups(grouping: Grouping, clusters: Clusters) -> Ints | None:
    """Return the cluster of each group if no group has units of two clusters, else None."""
    home = np.zeros(grouping.n_groups, dtype=np.int64)
    home[grouping.group] = clusters.of_unit
    return home if np.array_equal(home[grouping.group], clusters.of_unit) else None


@dataclass(frozen=True, slots=True)
class _Between:
    """Coefficients of the means of groups, such as generators; equal means tie, as in exact arithmetic."""

    x: Matrix
    """Shape (n_groups, n_clusters): sums of x, as whole numbers where x have a common denominator."""
    y: Matrix
    counts: Matrix
    slack: tuple[float, float]
    """Means of x, and of y, that are no further apart tie: without a common denominator, sums are rounded."""
    coefficients: tuple[str, ...]
    undefined: Undefined

    @property
    def smooth(self) -> bool:
        """Whether no coefficient is one of ranks."""
        return self.coefficients == ("pearson",)

    @classmethod
    def of(
        cls,
        x: Floats,
        y: Floats,
        grouping: Grouping,
        clusters: Clusters,
        coefficients: tuple[str, ...],
        *,
        undefined: Undefined,
        addable: bool,
    ) -> _Between:
        def sums(values: Floats) -> Matrix:
            return by_cluster(values, grouping.group, grouping.n_groups, clusters)

        whole = [None if addable else _whole(v) for v in (x, y)]
        if not addable:
            x, y = (v - v[:1] for v in (x, y))  # a large offset would cost digits of the sums
        x, y = (v if w is None else w for v, w in zip((x, y), whole, strict=True))
        slack = [_ROUNDING * float(np.abs(v).max(initial=0.0)) for v in (x, y)]
        exact = [0.0 if w is not None else by for w, by in zip(whole, slack, strict=True)]
        return cls(sums(x), sums(y), sums(np.ones(len(x))), (exact[0], exact[1]), coefficients, undefined)

    def at(self, weights: Floats) -> Floats:
        """Return the coefficients of the weighted means, shape (coefficients, columns)."""
        return self.of_sums(self.sums(weights))

    def sums(self, weights: Matrix) -> Floats:
        """Return sums of x, of y, and the number of units of each group, shape (3 groups, columns)."""
        return np.concatenate([dense(m @ weights) for m in (self.x, self.y, self.counts)])

    def of_sums(self, sums: Floats) -> Floats:
        """Return the coefficients of the means that the sums make, shape (coefficients, columns)."""
        return in_blocks(self._of_sums, sums, self.counts.shape[0] ** 2)

    def _of_sums(self, sums: Floats) -> Floats:
        sum_x, sum_y, n = np.split(sums, 3)
        there = n > 0
        safe = np.where(there, n, 1.0)
        x, y = (np.where(there, s / safe, 0.0) for s in (sum_x, sum_y))
        return coefficients_of_means(x, y, there, self.slack, self.coefficients, undefined=self.undefined)


def coefficients_of_means(
    x: Floats,
    y: Floats,
    there: NDArray[np.bool_],
    slack: tuple[float, float],
    coefficients: Sequence[str],
    *,
    undefined: Undefined = "skip",
) -> Floats:
    """Correlate the means of groups, x and y of shape (n_groups, columns), in each column.

    ``there``, of the same shape, marks the groups that enter. Means of x, and of y, that are no further apart
    than ``slack`` tie. The result has shape (coefficients, columns); that of constant means is NaN, or 0 if
    ``undefined`` is ``zero``.
    """
    found = np.full((len(coefficients), x.shape[1]), np.nan)
    first, second = np.triu_indices(len(x), 1)
    both = there[first] & there[second]
    # Whole numbers, which 32 bits hold exactly: 1 where the first of two is higher, -1 where it is lower.
    of_x, of_y = (
        np.where(both, (d > by).astype(np.float32) - (d < -by), np.float32(0))
        for d, by in zip((v[first] - v[second] for v in (x, y)), slack, strict=True)
    )
    pairs_x, pairs_y = (np.abs(v).sum(axis=0, dtype=np.float64) for v in (of_x, of_y))
    varies = (pairs_x > 0) & (pairs_y > 0)
    sides = np.zeros((len(x), len(first)), dtype=np.float32)
    sides[first, np.arange(len(first))], sides[second, np.arange(len(first))] = 1, -1
    for row, coefficient in enumerate(coefficients):
        with np.errstate(divide="ignore", invalid="ignore"):
            if coefficient == "kendall":
                r = (of_x * of_y).sum(axis=0, dtype=np.float64) / np.sqrt(pairs_x * pairs_y)
            else:
                # Twice a midrank less its mean is the number of those below less those above.
                ranked = coefficient == "spearman"
                a, b = ((sides @ v).astype(np.float64) for v in (of_x, of_y)) if ranked else (x, y)
                r = _correlation_of_rows(a, b, there)
        nothing = np.where(there.any(axis=0), 0.0, np.nan) if undefined == "zero" else np.nan
        found[row] = np.where(varies, r, nothing)
    return np.clip(found, -1.0, 1.0, out=found)


def _whole(values: Floats) -> Floats | None:
    """Return the values times their common denominator, whose sums are exact; None if there is none."""
    denominator = common_denominator(values)
    return None if denominator is None else np.rint(values * denominator)


def _correlation_of_rows(a: Floats, b: Floats, there: NDArray[np.bool_]) -> Floats:
    n = there.sum(axis=0)
    a, b = (np.where(there, v - np.where(there, v, 0.0).sum(axis=0) / n, 0.0) for v in (a, b))
    r: Floats = (a * b).sum(axis=0) / np.sqrt((a * a).sum(axis=0) * (b * b).sum(axis=0))
    return r
