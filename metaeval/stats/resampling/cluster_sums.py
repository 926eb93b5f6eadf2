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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.coefficients.tables import Floats, Ints

if TYPE_CHECKING:
    from metaeval.stats.resampling.bootstrap import Statistic
    from metaeval.stats.weighted.sums import Matrix as Weights


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
