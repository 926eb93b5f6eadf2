"""Pearson's r of the mean of every subset of K judges with the truth, from covariances.

The covariance of a subset's mean with the truth is the sum of its judges' covariances with the truth; its
variance is the sum over its part of the covariance matrix (both up to a factor, which cancels). So the means
themselves are not needed: one matrix product gives r of all 2^K − 1 subsets.

The moments are summed by cluster once, as in `metaeval.stats.weighted.statistic`: resampled, left-out and
held-out clusters are columns of weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.coefficients.levels import Grouping, Undefined
from metaeval.stats.coefficients.tables import Floats, Ints, changes, common_denominator, squarable
from metaeval.stats.resampling.cluster_sums import ratio
from metaeval.stats.weighted.statistic import cluster_of_groups
from metaeval.stats.weighted.sums import Clusters

MOST_JUDGES = 16
"""Judges whose subsets, 65,535, can be enumerated."""

BLOCK = 2**20  # numbers worked with at a time, so that they stay in the cache
ROUNDING = 1e-13  # a variance below this share of its terms is a rounding error


def every_subset(n_judges: int) -> NDArray[np.bool_]:
    """Return who is in each subset of one judge or more, shape (2^n − 1, n).

    Row i holds the bits of i + 1: judge j alone is row 2^j − 1, all judges are the last row.
    """
    bits: NDArray[np.bool_] = (np.arange(1, 2**n_judges)[:, None] >> np.arange(n_judges) & 1) == 1
    return bits


@dataclass(frozen=True, slots=True)
class Covariances:
    """Sums of products about the mean, a column per group or resample."""

    judges: Floats
    """Shape (K (K + 1) / 2, columns): the upper triangle, row by row."""
    with_truth: Floats
    """Shape (K, columns)."""
    truth: Floats
    """Shape (columns,): 0 where the truth is constant."""
    spread: Floats
    """Shape (K, columns): the root of what a judge's variance was added up from."""


def pearson_of_subsets(c: Covariances, subsets: Ints | None) -> Floats:
    """Return r of each subset in each column, shape (subsets, columns); NaN where it is undefined."""
    chosen = _chosen(len(c.with_truth), subsets)
    found = np.empty((len(chosen), len(c.truth)))
    step = max(1, BLOCK // max(1, len(c.truth)))
    for at in range(0, len(chosen), step):
        part = chosen[at : at + step]
        variance = _products(part) @ c.judges
        least = part @ c.spread
        least *= least
        least *= ROUNDING
        with np.errstate(divide="ignore", invalid="ignore"):
            r = part @ c.with_truth
            defined = (variance > least) & (c.truth > 0)
            r /= np.sqrt(np.where(defined, variance * c.truth, np.nan))
        np.clip(r, -1.0, 1.0, out=found[at : at + step])
    return found


def _chosen(k: int, subsets: Ints | None) -> Floats:
    members = every_subset(k)
    return (members if subsets is None else members[subsets]).astype(np.float64)


def _products(chosen: Floats) -> Floats:
    """Return how often each product of two judges is in the square of each subset's sum."""
    i, j = np.triu_indices(chosen.shape[1])
    products = chosen[:, i] * chosen[:, j]
    products[:, i != j] *= 2.0
    return products


def moments_of(x: Floats, y: Floats, group: Ints, row: Ints, n_rows: int) -> Floats:
    """Sum powers of values about the mean of their group, by row: a part of a group.

    Shape (features, n_rows): n, the judges, the truth, products of judges, judges × truth, truth².
    """
    example = np.unique(group, return_index=True)[1]
    n = np.bincount(group)

    def centred(v: Floats) -> Floats:
        d = v - v[example][group]  # exact for values of like size; a constant is exactly zero
        return d - (np.bincount(group, d) / n)[group]

    def scaled(v: Floats) -> Floats:  # by a power of two, which is exact; one scale for all judges
        return np.asarray(np.ldexp(v, -int(np.frexp(np.abs(v).max(initial=0.0))[1])))

    dx = scaled(np.stack([centred(v) for v in scaled(x)]))
    dy = scaled(centred(scaled(y)))
    i, j = np.triu_indices(len(x))
    features = np.empty((2 * len(x) + len(i) + 3, n_rows))
    values = [np.ones(len(y)), *dx, dy]
    for at, v in enumerate(values):
        features[at] = np.bincount(row, v, n_rows)
    at = len(values)
    for a, b in [*((dx[p], dx[q]) for p, q in zip(i, j, strict=True)), *((d, dy) for d in dx), (dy, dy)]:
        features[at] = np.bincount(row, a * b, n_rows)
        at += 1
    return features


def about_mean(moments: Floats, k: int) -> Covariances:
    """Turn moments, shape (features, columns), into covariances of each column."""
    i, j = np.triu_indices(k)
    n, x, y, xx, xy, yy = np.split(moments, np.cumsum([1, k, 1, len(i), k]))
    n = np.where(n > 0, n, 1.0)
    truth = (yy - y * y / n)[0]
    truth = np.where(truth > ROUNDING * yy[0], truth, 0.0)
    return Covariances(xx - x[i] * x[j] / n, xy - x * y / n, truth, np.sqrt(np.maximum(xx[i == j], 0.0)))


def subset_statistic(
    x: Floats, y: Floats, grouping: Grouping, clusters: Clusters, *, undefined: Undefined = "skip"
) -> SubsetStatistic:
    """Return the correlations of the means of all subsets at one level, as a function of cluster weights.

    Parameters
    ----------
    x, y
        Finite scores of the judges, shape (K, n), and the truth, shape (n,).
    grouping, clusters
        The group of each unit, at the level, and the units that are resampled, or held out, together.
    undefined
        Groups without a defined coefficient are left out of the mean, or count as zero.

    Returns
    -------
    SubsetStatistic
        ``at(weights, subsets)`` takes how often each cluster is there, whole numbers of shape (n_clusters,
        columns), and rows of `every_subset` (all if None). It returns shape (subsets, columns), NaN where no
        group has a defined coefficient. At weights of one it is what
        `metaeval.stats.coefficients.levels.estimate` says of the judges' averaged scores.
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
    return _Within.of(moments, len(x), of_group, of_cluster, n_clusters=clusters.n, undefined=undefined)


@dataclass(frozen=True, slots=True)
class _Within:
    """A mean over groups: weights change the coefficients of those whose units lie in several clusters."""

    sums: Floats
    """Shape (subsets, n_clusters): the sum of coefficients over the groups that lie in one cluster."""
    counts: Floats
    """How many of them enter, shape (subsets, n_clusters), or (1, n_clusters) where subsets do not differ."""
    moments: Floats
    """Shape (features, rows): a row is what one of the other groups has of a cluster; they come by group."""
    of_cluster: Ints
    """Shape (rows,)."""
    parts: tuple[slice, ...]
    """The rows of each of these groups."""
    k: int
    undefined: Undefined

    @classmethod
    def of(
        cls,
        moments: Floats,
        k: int,
        of_group: Ints,
        of_cluster: Ints,
        *,
        n_clusters: int,
        undefined: Undefined,
    ) -> _Within:
        whole = np.bincount(of_group)[of_group] == 1
        home = of_cluster[whole]
        order = np.argsort(home, kind="stable")
        first = np.flatnonzero(changes(home[order]))
        covariances = about_mean(moments[:, whole][:, order], k)
        sums, counts = np.zeros((2, 2**k - 1, n_clusters))
        step = max(1, BLOCK // max(1, len(home)))
        for at in range(0, len(sums) if len(home) else 0, step):
            r = pearson_of_subsets(covariances, np.arange(at, min(at + step, len(sums))))
            defined = ~np.isnan(r)
            counted = defined if undefined == "skip" else np.ones_like(defined)
            there = home[order][first]
            sums[at : at + step, there] = np.add.reduceat(np.where(defined, r, 0.0), first, axis=1)
            counts[at : at + step, there] = np.add.reduceat(counted, first, axis=1, dtype=np.float64)
        counts = counts[:1].copy() if (counts == counts[:1]).all() else counts
        starts = np.flatnonzero(changes(of_group[~whole]))
        parts = map(slice, starts.tolist(), [*starts[1:].tolist(), None])
        return cls(sums, counts, moments[:, ~whole], of_cluster[~whole], tuple(parts), k, undefined)

    def at(self, weights: Floats, subsets: Ints | None = None) -> Floats:
        """Return the mean over groups, shape (subsets, columns); see `subset_statistic`."""
        chosen = np.arange(2**self.k - 1) if subsets is None else subsets
        step = max(1, BLOCK // max(1, weights.shape[1])) if self.parts else len(chosen)
        parts = [self._of(chosen[at : at + step], weights) for at in range(0, len(chosen), step)]
        return np.concatenate(parts)

    def _of(self, subsets: Ints, weights: Floats) -> Floats:
        # Where all groups lie in one cluster each, one that is drawn twice counts as two.
        times = (weights > 0).astype(np.float64) if self.parts else weights
        total = self.sums[subsets] @ times
        n = (self.counts if len(self.counts) == 1 else self.counts[subsets]) @ times
        for part in self.parts:
            moments = self.moments[:, part] @ weights[self.of_cluster[part]]
            r = pearson_of_subsets(about_mean(moments, self.k), subsets)
            defined = ~np.isnan(r)
            total += np.where(defined, r, 0.0)
            n = n + (defined if self.undefined == "skip" else moments[0] > 0)
        return ratio(total, n)


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


SubsetStatistic: TypeAlias = _Within | _Between
"""Pearson's r of every subset at one level, as a function of the clusters' weights."""


def shapley(values: Floats) -> Floats:
    """Return the Shapley value of every judge (Shapley 1953), shape (K,).

    It is the mean gain when the judge joins, over all orders of the judges. ``values``, shape (2^K − 1,), are
    those of the subsets as `every_subset` orders them; the empty one has 0.
    NaN where a value is.
    """
    from scipy.special import comb

    gains, sizes = _gains(values)
    n = len(gains)
    return np.asarray((gains / (n * comb(n - 1, sizes))).sum(axis=1))


def joining(values: Floats) -> Floats:
    """Return the mean gain when a judge joins a non-empty subset of the others.

    Arguments and result as for `shapley`; NaN for a single judge.
    """
    gains, _ = _gains(values)
    return gains[:, 1:].mean(axis=1) if len(gains) > 1 else np.full(1, np.nan)


def _gains(values: Floats) -> tuple[Floats, Ints]:
    """Return what each judge adds to each subset without it, the empty one first, and the subsets' sizes.

    Both of shape (K, 2^(K−1)).
    """
    n = len(values).bit_length()
    of_subset = np.concatenate([[0.0], values])
    every = np.arange(2**n)
    without = np.stack([every[(every >> j & 1) == 0] for j in range(n)])
    gains = of_subset[without + 2 ** np.arange(n)[:, None]] - of_subset[without]
    return gains, np.bitwise_count(without).astype(np.int64)


def error_correlation(x: Floats, y: Floats) -> float:
    """Return the mean correlation between the errors of judges: standardised score less standardised truth.

    ``x`` has shape (K, n), ``y`` (n,). Judges whose scores are constant are left out; NaN if the truth is
    constant, or fewer than two judges have errors that vary.
    """
    varied = x[(x != x[:, :1]).any(axis=1)]
    if len(varied) < 2 or not (y != y[0]).any():
        return float("nan")
    errors = _standardised(varied) - _standardised(y[None])
    size = np.sqrt(np.square(errors).mean(axis=1))
    errors = errors[size > 1e-9] / size[size > 1e-9, None]  # a judge that equals the truth has no errors
    if len(errors) < 2:
        return float("nan")
    r = errors @ errors.T / errors.shape[1]
    return float(r[np.triu_indices(len(r), 1)].mean())


def _standardised(x: Floats) -> Floats:
    d = np.stack([squarable(row) for row in x])
    d = d - d[:, :1]
    d = d - d.mean(axis=1, keepdims=True)
    return np.asarray(d / d.std(axis=1, keepdims=True))


def effective_number(n: int, mean_correlation: float) -> float:
    """Return the effective number of judges, n / (1 + (n − 1) r̄).

    The design effect of Kish (1965). NaN where errors cancel so far that the formula has no positive value.
    """
    denominator = 1 + (n - 1) * mean_correlation
    return n / denominator if denominator > 1e-9 else float("nan")
