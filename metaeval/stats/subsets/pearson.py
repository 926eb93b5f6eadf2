"""Pearson's r of the mean of every subset of K judges with the truth, from covariances.

The covariance of a subset's mean with the truth is the sum of its judges' covariances with the truth; its
variance is the sum over its part of the covariance matrix (both up to a factor, which cancels). So the means
themselves are not needed: one matrix product gives r of all 2^K − 1 subsets.

The moments are summed by cluster once, as in `metaeval.stats.weighted.statistic`: resampled, left-out and
held-out clusters are columns of weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from metaeval.stats.coefficients.exact import common_denominator, squarable
from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.coefficients.tables import changes, lengths
from metaeval.stats.resampling.cluster_sums import ratio
from metaeval.stats.subsets.moments import (
    BLOCK,
    ROUNDING,
    Covariances,
    SubsetMoments,
    about_mean,
    moments_of,
    pearson_of_subsets,
)
from metaeval.stats.weighted.statistic import Clusters, cluster_of_groups

if TYPE_CHECKING:
    from metaeval.stats.coefficients.levels import Undefined
    from metaeval.stats.coefficients.tables import Floats, Ints


class SubsetStatistic(Protocol):
    """Pearson's r of every subset at one level, as a function of the clusters' weights."""

    def at(self, weights: Floats, subsets: Ints | None = None) -> Floats:
        """Return the coefficients under each column of weights.

        Parameters
        ----------
        weights
            How often each cluster is there: whole numbers, shape (n_clusters, columns).
        subsets
            Rows of `every_subset` to compute, in any order; all if None.

        Returns
        -------
        ndarray
            Shape (subsets, columns); NaN where no group has a defined coefficient.
        """


def subset_statistic(
    x: Floats, y: Floats, grouping: Grouping, clusters: Clusters, *, undefined: Undefined = "skip"
) -> SubsetStatistic:
    """Return the correlations of the means of all subsets at one level, as a function of cluster weights.

    Parameters
    ----------
    x
        Finite scores of the judges, shape (K, n).
    y
        Truth, shape (n,).
    grouping
        The group of each unit, at the level.
    clusters
        The units that are resampled, or held out, together.
    undefined
        Groups without a defined coefficient are left out of the mean, or count as zero.

    Returns
    -------
    SubsetStatistic
        At weights of one for every cluster it is what `metaeval.stats.coefficients.levels.estimate` says of
        the judges' averaged scores.
    """
    x, y = squarable(x), squarable(y)
    if grouping.between:
        home = cluster_of_groups(grouping, clusters)
        if home is None:
            return _Between.of(x, y, grouping, clusters, undefined)
        # Each group lies in one cluster, and its mean counts as often as that.
        n = np.bincount(grouping.group, minlength=grouping.n_groups)
        there = n > 0
        means = [np.bincount(grouping.group, v, grouping.n_groups)[there] / n[there] for v in (*x, y)]
        x, y, clusters = np.stack(means[:-1]), means[-1], Clusters(home[there], clusters.n)
        grouping = Grouping(np.zeros(len(y), dtype=np.int64), 1)
    _, group = np.unique(grouping.group, return_inverse=True)
    place = group * np.int64(clusters.n) + clusters.of_unit
    rows, row = np.unique(place, return_inverse=True)
    moments = moments_of(x, y, group, row, len(rows))
    of_group, of_cluster = np.divmod(rows, clusters.n)
    if not (of_group[1:] == of_group[:-1]).any():  # no group has units of two clusters
        return _Nested.of(moments, len(x), of_cluster, clusters.n, undefined)
    first = np.flatnonzero(changes(of_group))
    return _Crossed(moments, len(x), of_cluster, first, undefined)


@dataclass(frozen=True, slots=True)
class _Nested:
    """A mean over groups that each lie in one cluster, so that weights do not change their coefficients."""

    sums: Floats
    """Shape (subsets, n_clusters): sum over the cluster's groups."""
    counts: Floats
    """Shape (subsets, n_clusters), or (1, n_clusters) where all subsets have the same: groups in the mean."""

    @classmethod
    def of(cls, moments: Floats, k: int, home: Ints, n_clusters: int, undefined: Undefined) -> _Nested:
        order = np.argsort(home, kind="stable")
        first = np.flatnonzero(changes(home[order]))
        there = home[order][first]
        covariances = about_mean(moments[:, order], k)
        sums, counts = np.zeros((2, 2**k - 1, n_clusters))
        step = max(1, BLOCK // max(1, len(home)))
        for at in range(0, len(sums), step):
            part = np.arange(at, min(at + step, len(sums)))
            r = pearson_of_subsets(covariances, part)
            defined = ~np.isnan(r)
            counted = defined if undefined == "skip" else np.ones(r.shape, dtype=bool)
            sums[at : at + step, there] = np.add.reduceat(np.where(defined, r, 0.0), first, axis=1)
            counts[at : at + step, there] = np.add.reduceat(counted, first, axis=1, dtype=np.float64)
        return cls(sums, counts[:1].copy() if (counts == counts[:1]).all() else counts)

    def at(self, weights: Floats, subsets: Ints | None = None) -> Floats:
        """Return the weighted mean over groups, shape (subsets, columns)."""
        sums = self.sums if subsets is None else self.sums[subsets]
        counts = self.counts if subsets is None or len(self.counts) == 1 else self.counts[subsets]
        total, n = sums @ weights, counts @ weights
        return ratio(total, n)


@dataclass(frozen=True, slots=True)
class _Crossed:
    """A mean over groups whose units lie in several clusters: their coefficients change with the weights."""

    moments: Floats
    """Shape (features, rows): a row is what a group has of a cluster; rows come group by group."""
    k: int
    of_cluster: Ints
    """Shape (rows,)."""
    first: Ints
    """Shape (groups,): the first row of each group."""
    undefined: Undefined

    def at(self, weights: Floats, subsets: Ints | None = None) -> Floats:
        """Return the mean over groups, shape (subsets, columns)."""
        chosen = np.arange(2**self.k - 1) if subsets is None else subsets
        step = max(1, BLOCK // max(1, len(self.of_cluster), weights.shape[1]))
        parts = [self._of(chosen[at : at + step], weights) for at in range(0, len(chosen), step)]
        return np.concatenate(parts)

    def _of(self, subsets: Ints, weights: Floats) -> Floats:
        parts = lengths(self.first, len(self.of_cluster))
        total, counted = np.zeros((2, len(subsets), weights.shape[1]))
        whole = self.first[parts == 1]  # groups of one cluster: they are there or not, but do not change
        if len(whole):
            r = pearson_of_subsets(about_mean(self.moments[:, whole], self.k), subsets)
            there = (weights[self.of_cluster[whole]] > 0).astype(np.float64)
            defined = ~np.isnan(r)
            total += np.where(defined, r, 0.0) @ there
            counted += defined @ there if self.undefined == "skip" else there.sum(axis=0)
        moments = SubsetMoments.of(self.moments, self.k, subsets)
        for start, n in zip(self.first[parts > 1], parts[parts > 1], strict=True):
            part = slice(start, start + n)
            r, present = moments.pearson(part, weights[self.of_cluster[part]])
            defined = ~np.isnan(r)
            total += np.where(defined, r, 0.0)
            counted += defined if self.undefined == "skip" else present
        return ratio(total, counted)


@dataclass(frozen=True, slots=True)
class _Between:
    """Correlations of the means of groups, such as generators."""

    x: Floats
    """Shape (K, n_groups, n_clusters): sums, of whole numbers where all judges have a common denominator."""
    y: Floats
    """Shape (n_groups, n_clusters)."""
    counts: Floats
    square: Floats
    """Shape (K,): mean square of the units' values, to which rounding is relative."""
    undefined: Undefined

    @classmethod
    def of(
        cls, x: Floats, y: Floats, grouping: Grouping, clusters: Clusters, undefined: Undefined
    ) -> _Between:
        place = grouping.group * np.int64(clusters.n) + clusters.of_unit
        shape = (grouping.n_groups, clusters.n)
        size = shape[0] * shape[1]

        def whole(v: Floats) -> Floats:
            denominator = common_denominator(v)
            d = v if denominator is None else np.rint(v * denominator)
            return np.asarray(d - d[..., :1])

        def sums(v: Floats) -> Floats:
            return np.bincount(place, v, size).astype(np.float64, copy=False).reshape(shape)

        wx, wy = whole(x), whole(y)
        counts = np.bincount(place, minlength=size).reshape(shape).astype(np.float64)
        return cls(np.stack([sums(v) for v in wx]), sums(wy), counts, np.square(wx).mean(axis=1), undefined)

    def at(self, weights: Floats, subsets: Ints | None = None) -> Floats:
        """Return the coefficients of the weighted means, shape (subsets, columns)."""
        n = self.counts @ weights
        there = n > 0
        safe = np.where(there, n, 1.0)
        origin = np.argmax(there, axis=0)[None]  # a group that has units
        groups = there.sum(axis=0)

        def centred(sums: Floats) -> Floats:
            means = sums @ weights / safe
            means = np.where(there, means - np.take_along_axis(means, origin, axis=0), 0.0)
            return np.where(there, means - means.sum(axis=0) / np.maximum(groups, 1), 0.0)

        x, y = np.stack([centred(s) for s in self.x]), centred(self.y)
        i, j = np.triu_indices(len(x))
        judges = np.stack([(x[a] * x[b]).sum(axis=0) for a, b in zip(i, j, strict=True)])
        spread = np.sqrt(judges[i == j] + ROUNDING * groups * self.square[:, None])
        r = pearson_of_subsets(Covariances(judges, (x * y).sum(axis=1), (y * y).sum(axis=0), spread), subsets)
        if self.undefined == "zero":
            r[np.isnan(r) & (groups > 0)] = 0.0
        return r
