"""Simulate studies of any size by resampling the users of a run, with all or some of their units."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.engine.alignment.aligned import Bools
from metaeval.engine.alignment.prepared import Prepared
from metaeval.stats.coefficients.levels import Grouping, Undefined
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import ClusterSums, Statistic, ratio
from metaeval.stats.resampling.weights import Resamples
from metaeval.stats.weighted.statistic import statistic
from metaeval.stats.weighted.sums import Clusters

_BLOCK = 2**21  # units drawn at a time
_POOL = 2**20  # units of all precomputed subsamples, about
_FEWEST, _MOST = 16, 4096  # precomputed subsamples per user


@dataclass(frozen=True, slots=True)
class Pair:
    """Scores of two evaluators and the truth, A aspects and U units, at one level."""

    x: Floats
    """Shape (2, A, U)."""
    y: Floats
    """Shape (A, U)."""
    mask: Bools | None
    """Shape (2, A, U): units that enter; None if every unit does."""
    grouping: Grouping
    cluster: str
    """What is drawn: ``user`` or ``item``."""
    clusters: Clusters
    coefficient: str
    undefined: Undefined

    @classmethod
    def of(cls, data: Prepared, evaluators: tuple[int, int], aspects: Sequence[int], cluster: str) -> Pair:
        """Select the units that enter for either evaluator and any aspect.

        Raises `DataError` if the data have no such clusters.
        """
        at = np.ix_(evaluators, aspects)
        mask = None if data.mask is None else data.mask[at]
        units = slice(None) if mask is None else np.flatnonzero(mask.any(axis=(0, 1)))
        return cls(
            data.scores[at][:, :, units],
            data.truth[list(aspects)][:, units],
            None if mask is None else mask[:, :, units],
            data.groupings[data.policy.levels[0]].take(units),
            cluster,
            data.clusters(cluster).take(units).among(slice(None)),
            data.policy.coefficients[0],
            data.policy.undefined,
        )

    @property
    def sizes(self) -> Ints:
        """Units of each cluster, shape (clusters,)."""
        return np.bincount(self.clusters.of_unit, minlength=self.clusters.n)

    @property
    def nested(self) -> bool:
        """Whether each group lies whole in a cluster, as those of users and pairs lie in users."""
        group, clusters = self.grouping.group, self.clusters
        both = group.astype(np.int64) * clusters.n + clusters.of_unit
        return not self.grouping.between and len(np.unique(both)) == len(np.unique(group))

    def statistics(self, clusters: Clusters) -> list[list[Statistic]]:
        """Return the coefficient as a function of clusters' weights, for each evaluator and aspect."""
        shape = self.x.shape[:2]
        return [[self._statistic(e, a, clusters) for a in range(shape[1])] for e in range(shape[0])]

    def _statistic(self, e: int, a: int, clusters: Clusters) -> Statistic:
        keep = slice(None) if self.mask is None else self.mask[e, a]
        return statistic(
            self.x[e, a, keep],
            self.y[a, keep],
            self.grouping.take(keep),
            clusters.take(keep),
            [self.coefficient],
            undefined=self.undefined,
        )

    def copies(self, units: Ints, copy: Ints) -> Pair:
        """Select units, some of them several times; each copy of a group is a group of its own."""
        keys, group = np.unique(
            copy * np.int64(self.grouping.n_groups) + self.grouping.group[units], return_inverse=True
        )
        return Pair(
            self.x[:, :, units],
            self.y[:, units],
            None if self.mask is None else self.mask[:, :, units],
            Grouping(group, len(keys)),
            self.cluster,
            Clusters(copy, int(copy[-1]) + 1),
            self.coefficient,
            self.undefined,
        )


def substudies(pair: Pair, units: int | None, seed: int) -> _Whole | _Copies | _Units:
    """Return a simulator that draws clusters, and of each some units (all if ``units`` is None).

    Its ``replicates(n_clusters, studies, seed)`` are the estimates of both evaluators, mean over aspects,
    shape (2, studies). Clusters are drawn with replacement, units without. A cluster that is drawn twice
    counts as two: its groups, at a level within clusters, count twice, and its units are drawn independently.
    """
    if units is None:
        return _Whole(pair.statistics(pair.clusters), pair.clusters.n)
    subsampler = _Subsampler.of(pair.clusters, units)
    if pair.nested:
        return _Copies.of(pair, subsampler, np.random.default_rng([seed, units]))
    return _Units(pair.statistics(Clusters(np.arange(pair.x.shape[2]), pair.x.shape[2])), subsampler)


def _replicates(statistics: list[list[Statistic]], blocks: Iterator[Floats]) -> Floats:
    parts = [np.stack([np.mean([s.at(w)[0] for s in of], axis=0) for of in statistics]) for w in blocks]
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True, slots=True)
class _Whole:
    """Clusters with all of their units."""

    statistics: list[list[Statistic]]
    n: int

    def replicates(self, n_clusters: int, studies: int, seed: int) -> Floats:
        return _replicates(self.statistics, Resamples(self.n, studies, seed, size=n_clusters).blocks())


@dataclass(frozen=True, slots=True)
class _Subsampler:
    """Chooses units of clusters without replacement."""

    order: Ints
    """Shape (U,): units, cluster by cluster."""
    first: Ints
    """Shape (clusters,): where each cluster begins in the order."""
    sizes: Ints
    units: int

    @classmethod
    def of(cls, clusters: Clusters, units: int) -> _Subsampler:
        sizes = np.bincount(clusters.of_unit, minlength=clusters.n)
        return cls(np.argsort(clusters.of_unit, kind="stable"), np.cumsum(sizes) - sizes, sizes, units)

    def choose(self, clusters: Ints, rng: np.random.Generator) -> Ints:
        """Return units of each of the clusters, shape (len(clusters), units)."""
        chosen = np.empty((len(clusters), self.units), dtype=np.int64)
        sizes = self.sizes[clusters]
        for size in np.unique(sizes):  # the units with the smallest random keys
            rows = np.flatnonzero(sizes == size)
            keys = rng.random((len(rows), size), dtype=np.float32)
            place = np.argpartition(keys, self.units - 1, axis=1)[:, : self.units]
            chosen[rows] = self.order[self.first[clusters[rows]][:, None] + place]
        return chosen


@dataclass(frozen=True, slots=True)
class _Units:
    """Some units of each cluster, where groups have units of several clusters: each unit has a weight."""

    statistics: list[list[Statistic]]
    subsampler: _Subsampler

    def replicates(self, n_clusters: int, studies: int, seed: int) -> Floats:
        return _replicates(self.statistics, self._blocks(n_clusters, studies, seed))

    def _blocks(self, n_clusters: int, studies: int, seed: int) -> Iterator[Floats]:
        s = self.subsampler
        rng = np.random.default_rng([seed, s.units, n_clusters])
        n_units = len(s.order)
        step = max(1, _BLOCK // max(n_units, n_clusters * int(s.sizes.max())))
        for at in range(0, studies, step):
            columns = min(step, studies - at)
            drawn = s.choose(rng.integers(0, len(s.sizes), columns * n_clusters), rng)
            place = drawn.reshape(columns, -1) * columns + np.arange(columns)[:, None]
            counts = np.bincount(place.ravel(), minlength=n_units * columns)
            yield counts.reshape(n_units, columns).astype(np.float64)


@dataclass(frozen=True, slots=True)
class _Copies:
    """Some units of each cluster, where groups lie in one cluster: subsamples are precomputed.

    The contribution of a cluster's subsample to the mean does not depend on the rest of the study.
    """

    totals: Floats
    """Shape (2, A, n, copies of a cluster): sum over the copy's groups."""
    counts: Floats
    """Groups that the mean is over; the same shape."""

    @classmethod
    def of(cls, pair: Pair, subsampler: _Subsampler, rng: np.random.Generator) -> _Copies:
        n, k = pair.clusters.n, subsampler.units
        copies = min(_MOST, max(_FEWEST, math.ceil(_POOL / (n * k))))
        step = max(1, _BLOCK // (2 * pair.x.shape[2]))
        parts = []
        for at in range(0, copies, step):
            each = min(step, copies - at)
            units = subsampler.choose(np.repeat(np.arange(n), each), rng)
            copy = np.repeat(np.arange(n * each), k)
            expanded = pair.copies(units.ravel(), copy)
            statistics = [s for of in expanded.statistics(expanded.clusters) for s in of]
            both = np.stack([s.by_cluster[:, 0] for s in statistics if isinstance(s, ClusterSums)], axis=1)
            parts.append(both.reshape(2, *pair.x.shape[:2], n, each))
        totals, counts = np.concatenate(parts, axis=4)
        return cls(totals, counts)

    def replicates(self, n_clusters: int, studies: int, seed: int) -> Floats:
        rng = np.random.default_rng([seed, n_clusters])
        n, copies = self.totals.shape[2:]
        totals, counts = (v.reshape(*v.shape[:2], -1) for v in (self.totals, self.counts))
        parts = []
        step = max(1, _BLOCK // n_clusters)
        for at in range(0, studies, step):
            drawn = rng.integers(0, n * copies, (min(step, studies - at), n_clusters))
            total, of = (np.stack([[c[drawn].sum(axis=1) for c in e] for e in v]) for v in (totals, counts))
            r = ratio(total, of)
            parts.append(r.mean(axis=1))
        return np.concatenate(parts, axis=1)
