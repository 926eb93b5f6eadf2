"""Sums over units by row and cluster, and over runs of rows: the parts of weighted coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.coefficients.tables import Floats, Ints, changes

if TYPE_CHECKING:
    import scipy.sparse

Matrix: TypeAlias = "Floats | scipy.sparse.csr_array"

_BLOCK = 2**18  # numbers worked with at a time, so that they stay in the cache
_DENSE = 2**22  # entries of a matrix up to which zeros are stored, too


@dataclass(frozen=True, slots=True)
class Clusters:
    """Which cluster each unit is in; clusters are resampled, left out and swapped whole."""

    of_unit: Ints
    """Shape (n,), in ``range(n)``."""
    n: int

    def take(self, units: Ints | NDArray[np.bool_] | slice) -> Clusters:
        """Return the clusters of some of the units."""
        return Clusters(self.of_unit[units], self.n)

    def among(self, units: NDArray[np.bool_] | slice) -> Clusters:
        """Return the clusters that have one of these units; the units of others get any of their numbers.

        Without a unit there is one cluster, of which nothing is known.
        """
        present = np.unique(self.of_unit[units])
        n = max(1, len(present))
        return Clusters(np.minimum(np.searchsorted(present, self.of_unit), n - 1), n)


def by_cluster(values: Floats, row: Ints, n_rows: int, clusters: Clusters) -> Matrix:
    """Sum values, shape (n,) or (k, n), by row and cluster, shape (k n_rows, n clusters); sparse if large."""
    several = np.atleast_2d(values)
    k = len(several)
    shape = (k * n_rows, clusters.n)
    if k * n_rows * clusters.n <= _DENSE:
        place = row * np.int64(clusters.n) + clusters.of_unit
        summed = np.stack([np.bincount(place, v, n_rows * clusters.n) for v in several])
        return summed.reshape(shape).astype(np.float64, copy=False)
    import scipy.sparse

    at = (np.arange(k)[:, None] * n_rows + row).ravel(), np.tile(clusters.of_unit, k)
    return scipy.sparse.coo_array((several.ravel(), at), shape=shape).tocsr()


def dense(matrix: Matrix) -> Floats:
    """Return a matrix with its zeros."""
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def in_blocks(function: Callable[[Floats], Floats], weights: Floats, rows: int) -> Floats:
    """Apply a function that makes arrays of ``rows`` rows to a few columns of weights at a time."""
    columns = weights.shape[1]
    step = max(8, _BLOCK // max(1, rows))
    if columns <= step:
        return function(weights)
    parts = [function(weights[:, at : at + step]) for at in range(0, columns, step)]
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True, slots=True)
class Runs:
    """Rows that come group by group."""

    first: Ints
    """Shape (groups,): first row of each group."""
    of_row: Ints
    """Shape (rows,): group of each row."""

    @classmethod
    def of(cls, group: Ints) -> Runs:
        """Find the groups, which are numbered from 0 and come in order."""
        return cls(np.flatnonzero(changes(group)), group)

    def total(self, rows: Floats) -> Floats:
        """Sum over the rows of each group, shape (groups, columns)."""
        if len(self.first) == 1:
            return np.asarray(rows.sum(axis=0, keepdims=True))
        return np.add.reduceat(rows, self.first, axis=0)

    def ranks(self, count: Floats, n: Floats) -> Floats:
        """Return twice the midrank less n + 1 of values that occur ``count`` times and come in order.

        Shapes (rows, columns), and (groups, columns) of the sizes ``n``.
        """
        twice: Floats = np.cumsum(count, axis=0)
        twice *= 2
        twice -= count
        if len(self.first) == 1:
            twice -= n
        else:
            before = np.cumsum(n, axis=0) - n  # counts of the groups that came first
            twice -= (2 * before + n)[self.of_row]
        return twice


def raised(count: Floats, power: int) -> Floats:
    """Return the second or third power: several times as fast as numpy's power of floats."""
    square = count * count
    return square if power == 2 else square * count
