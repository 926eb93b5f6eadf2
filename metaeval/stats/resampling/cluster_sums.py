"""Statistics that are sums by cluster and a finishing function, and averages of statistics.

Most measures are of this kind: a mean needs two sums, a correlation five, a kappa of K labels K². Units are
summed by cluster once; then a resample costs one matrix product and the finishing function.

Examples
--------
The standard deviation is three sums:

>>> import numpy as np
>>> from metaeval.stats.resampling.cluster_sums import ClusterSums
>>> user, rating = np.array([0, 0, 1, 2]), np.array([1.0, 3.0, 5.0, 3.0])
>>> sums = np.stack([np.bincount(user), np.bincount(user, rating), np.bincount(user, rating**2)])
>>> sd = ClusterSums(sums, lambda s: np.sqrt(s[2:] / s[0] - (s[1:2] / s[0]) ** 2))
>>> sd.at(np.array([[1, 0], [1, 1], [1, 1]]))  # all users, and the study without the first
array([[1.41421356, 1.        ]])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.coefficients.tables import Floats, Ints

if TYPE_CHECKING:
    from metaeval.stats.weighted.sums import Matrix as Weights


class Statistic(Protocol):
    """Anything that is estimated, as a function of cluster weights.

    One that is not smooth in them, as an order of means is not, has ``smooth = False``.
    """

    def at(self, weights: Floats) -> Floats:
        """Return the values, shape (values, columns), under columns of weights; NaN where one is not defined.

        Weights, shape (n_clusters, columns), say how often each cluster counts; 0 leaves it out.
        """


@runtime_checkable
class Linear(Protocol):
    """A statistic that is a function of weighted sums over the clusters."""

    def at(self, weights: Floats) -> Floats:
        """Return the values under each column of weights, shape (values, columns)."""

    def sums(self, weights: Weights) -> Floats:
        """Return the sums, shape (…, columns): a matrix times the weights, which may be sparse."""

    def of_sums(self, sums: Floats) -> Floats:
        """Return the values, shape (values, columns), from sums of shape (…, columns)."""


@dataclass(frozen=True, slots=True, eq=False)
class ClusterSums:
    """A function of sums over clusters."""

    by_cluster: Floats
    """Shape (…, n_clusters)."""
    of_sums: Callable[[Floats], Floats]
    """From weighted sums, shape (…, columns), to the values, shape (values, columns)."""
    smooth: bool = True
    """Whether small changes of the sums change the values little: no order and no choice rests on them."""

    def at(self, weights: Floats) -> Floats:
        """Return the values under each column of weights, shape (values, columns)."""
        return self.of_sums(self.sums(weights))

    def sums(self, weights: Weights) -> Floats:
        """Return the weighted sums, shape (…, columns)."""
        *shape, n_clusters = self.by_cluster.shape
        # One product of two matrices takes a third of the time of many small ones.
        flat = self.by_cluster.reshape(math.prod(shape), n_clusters)
        return np.asarray(flat @ weights).reshape(*shape, weights.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """The values of several statistics, one after the other."""

    statistics: Sequence[Statistic]

    def at(self, weights: Floats) -> Floats:
        """Return all values under each column of weights."""
        return np.concatenate([s.at(weights) for s in self.statistics])


@dataclass(frozen=True, slots=True, eq=False)
class WithAverage:
    """A statistic with values for each aspect, and their average over aspects appended."""

    statistic: Statistic
    values: int = 1
    """Values of each aspect."""

    def at(self, weights: Floats) -> Floats:
        """Return shape ((A + 1) · values, columns), or (values, columns) for a single aspect."""
        return self.averaged(self.statistic.at(weights))

    def averaged(self, of_aspects: Floats) -> Floats:
        """Append the average to values by aspect, shape (A · values, columns)."""
        columns = of_aspects.shape[1]
        return with_average(of_aspects.reshape(-1, self.values, columns)).reshape(-1, columns)


def with_average(of_aspects: Floats, axis: int = 0) -> Floats:
    """Append the mean over aspects, one axis of an array, if there are two or more."""
    if of_aspects.shape[axis] < 2:
        return of_aspects
    return np.concatenate([of_aspects, of_aspects.mean(axis=axis, keepdims=True)], axis=axis)


def mean_of(above: Floats, below: Floats) -> ClusterSums:
    """Return the ratio of two sums by cluster, such as of values and of units, shape (values, n_clusters)."""
    return ClusterSums(np.stack([above, below]), lambda sums: ratio(*sums))


def ratio(above: Floats, below: Floats | Ints) -> Floats:
    """Return above / below; NaN where below is 0."""
    there = below > 0
    if there.all():
        return np.asarray(above / below, dtype=np.float64)
    shape = np.broadcast_shapes(above.shape, below.shape)
    found: Floats = np.divide(above, below, out=np.full(shape, np.nan), where=there)
    return found


def mean_of_defined(values: Floats) -> Floats:
    """Return the mean along the first axis without NaN; NaN where all are."""
    there = ~np.isnan(values)
    return ratio(np.where(there, values, 0.0).sum(axis=0), there.sum(axis=0))


def summed(values: Floats, use: NDArray[np.bool_], of_unit: Ints, n_clusters: int) -> Floats:
    """Sum values by cluster over the units in use: shapes (A, U) and, of the result, (A, n_clusters)."""
    return np.stack(
        [np.bincount(of_unit[u], v[u], n_clusters) for v, u in zip(values, use, strict=True)]
    ).astype(np.float64, copy=False)


LIMIT = 100_000
"""Clusters up to which all statistics are resampled and swapped."""

_GROUPS = 1_000  # groups that are left out where a statistic is not a function of sums
_ROOM = 2**25  # numbers kept at a time: sums by cluster or by group
_BLOCK = 2**22  # numbers worked with at a time
_DEFINED = 0.9  # share of the columns that must be defined


def is_smooth(statistic: Statistic) -> bool:
    """Say whether a statistic, and whatever it is made of, is smooth."""
    return all(getattr(leaf, "smooth", True) for leaf in _leaves(statistic))


def jackknife_deviations(statistic: Statistic, n: int, *, together: int = 1) -> Floats:
    """Leave out clusters in turn (Efron & Stein 1981).

    A function of sums is evaluated at the sums less those of one cluster. Where sums of all clusters do not
    fit in memory (``together`` results are kept at a time), or the statistic is no such function, random
    groups of clusters are left out (1,000 or more). A statistic that knows its derivatives uses them: the
    infinitesimal jackknife (Jaeckel 1972).

    Returns
    -------
    ndarray
        Shape (values, groups), by the root of (g - 1) / g; NaN where less than nine tenths are defined.
    """
    leaves = _leaves(statistic)
    known: list[Floats | None] = [getattr(leaf, "influence", lambda: None)() for leaf in leaves]
    rows = 0
    for leaf, derivatives in zip(leaves, known, strict=True):
        if derivatives is not None:
            rows += len(derivatives)
        else:
            rows += leaf.sums(np.ones((n, 1))).size if isinstance(leaf, Linear) else _ROOM
    g = min(n, max(_GROUPS, _ROOM // max(rows, together)))
    group = np.arange(n) if g == n else np.random.default_rng(0).permutation(n) % g
    parts = []
    for leaf, derivatives in zip(leaves, known, strict=True):
        if derivatives is not None:
            parts.append(
                np.sqrt(g / max(1, g - 1)) * np.stack([np.bincount(group, d, g) for d in derivatives])
            )
        else:
            # What a cluster adds is what is lost without it: the sign of the derivatives.
            parts.append(-np.sqrt((g - 1) / g) * _centred(_left_out(leaf, group, g)))
    return _usable(_assembled(statistic, iter(parts)))


def jackknife_interval(
    value: Floats, deviations: Floats, confidence: float, least: Floats, most: Floats
) -> tuple[Floats, Floats]:
    """Return intervals by Student's t, on the logit scale of values with two bounds.

    Of a correlation, with bounds -1 and 1, that is Fisher's z; of a share, the log odds. Ends then stay
    within the bounds, and cover near them.
    """
    from scipy.special import expit, stdtrit

    t = stdtrit(deviations.shape[1] - 1, (1 + confidence) / 2)
    half = t * np.sqrt((deviations**2).sum(axis=1))
    low, high = value - half, value + half
    width = most - least
    with np.errstate(invalid="ignore"):
        inside = np.isfinite(width) & (least < value) & (value < most)
    above, below = (np.where(inside, v, 1.0) for v in (value - least, most - value))
    middle, half = np.log(above / below), half * (1 / above + 1 / below)
    safe = np.where(inside, width, 1.0), np.where(inside, least, 0.0)
    ends = (safe[1] + safe[0] * expit(middle + by) for by in (-half, half))
    low, high = (np.where(inside, end, plain) for end, plain in zip(ends, (low, high), strict=True))
    return low, high


def _leaves(statistic: Statistic) -> list[Statistic]:
    """Return the statistics that a statistic is made of."""
    if isinstance(statistic, Stack):
        return [leaf for part in statistic.statistics for leaf in _leaves(part)]
    return _leaves(statistic.statistic) if isinstance(statistic, WithAverage) else [statistic]


def _assembled(statistic: Statistic, parts: Iterator[Floats]) -> Floats:
    """Put together what was computed for each of the leaves."""
    if isinstance(statistic, Stack):
        return np.concatenate([_assembled(part, parts) for part in statistic.statistics])
    if isinstance(statistic, WithAverage):
        return statistic.averaged(_assembled(statistic.statistic, parts))
    return next(parts)


def _left_out(statistic: Statistic, group: Ints, g: int) -> Floats:
    """Return the values without each group of clusters, shape (values, groups)."""
    n = len(group)
    if not isinstance(statistic, Linear):
        step = max(1, _BLOCK // n)
        columns = (np.arange(at, min(at + step, g)) for at in range(0, g, step))
        return np.concatenate(
            [statistic.at((group[:, None] != c).astype(np.float64)) for c in columns], axis=1
        )
    import scipy.sparse

    chosen = scipy.sparse.csr_array((np.ones(n), (np.arange(n), group)), shape=(n, g))
    sums = statistic.sums(chosen)
    whole = sums.sum(axis=-1, keepdims=True)
    step = max(1, _BLOCK * g // sums.size)
    parts = [statistic.of_sums(whole - sums[..., at : at + step]) for at in range(0, g, step)]
    return np.concatenate(parts, axis=1)


def _centred(values: Floats) -> Floats:
    """Return values minus the mean of those that are defined."""
    there = ~np.isnan(values)
    n = np.maximum(1, there.sum(axis=1, keepdims=True))
    centred: Floats = values - np.where(there, values, 0.0).sum(axis=1, keepdims=True) / n
    return centred


def _usable(deviations: Floats) -> Floats:
    """Return no deviation where it is not defined, and NaN throughout where too few are."""
    defined = ~np.isnan(deviations)
    enough = defined.mean(axis=1, keepdims=True) >= _DEFINED
    return np.where(enough, np.where(defined, deviations, 0.0), np.nan)
