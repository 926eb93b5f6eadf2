"""Coefficients of groups that clusters cut across, such as all units of a study whose users are resampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from metaeval.stats.tables import Floats, Ints, changes, encode
from metaeval.stats.weighted_pairs import Pairs, pairs_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import scipy.sparse

    from metaeval.stats.levels import Undefined

    Matrix: TypeAlias = Floats | scipy.sparse.csr_array

_BLOCK = 2**18  # numbers worked with at a time, so that they stay in the cache
_DENSE = 2**22  # entries of a matrix up to which zeros are stored, too
_ROUNDING = 1e-13  # a variance below this share of the mean square is what rounding left of zero


def in_blocks(function: Callable[[Floats], Floats], weights: Floats, rows: int) -> Floats:
    """Apply a function that makes arrays of ``rows`` rows to a few columns of weights at a time."""
    columns = weights.shape[1]
    step = max(8, _BLOCK // max(1, rows))
    if columns <= step:
        return function(weights)
    parts = [function(weights[:, at : at + step]) for at in range(0, columns, step)]
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True, slots=True)
class Clusters:
    """Which cluster each unit is in: what is resampled, left out or swapped as one."""

    of_unit: Ints
    """Shape (n,), in ``range(n)``."""
    n: int


def by_cluster(values: Floats, row: Ints, n_rows: int, clusters: Clusters) -> Matrix:
    """Sum values, shape (n,), by row and cluster, shape (n_rows, n clusters); sparse if that is large."""
    if n_rows * clusters.n <= _DENSE:
        place = row * np.int64(clusters.n) + clusters.of_unit
        summed = np.bincount(place, values, n_rows * clusters.n)
        return summed.reshape(n_rows, clusters.n).astype(np.float64, copy=False)
    import scipy.sparse

    return scipy.sparse.coo_array((values, (row, clusters.of_unit)), shape=(n_rows, clusters.n)).tocsr()


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


@dataclass(frozen=True, slots=True)
class Crossed:
    """A mean over groups whose units lie in several clusters: their coefficients change with the weights."""

    moments: Matrix
    """Shape (6 groups, n_clusters): n, then sums of x, y, x², y² and xy about the means of the group."""
    cells: Matrix
    """Shape (cells, n_clusters): units of each group with the same x and y, by group, x and y."""
    runs: Runs
    """Groups of cells."""
    x_first: Ints
    """Shape (values of x,): first cell of each distinct x of a group."""
    x_runs: Runs
    x_row: Ints
    """Shape (cells,): the distinct x of each cell."""
    y_counts: Matrix
    """Shape (values of y, n_clusters): units of each distinct y of a group."""
    y_runs: Runs
    y_row: Ints
    pairs: Pairs | None
    """None if Kendall's coefficient is not asked for."""
    coefficients: tuple[str, ...]
    undefined: Undefined

    @classmethod
    def of(
        cls,
        x: Floats,
        y: Floats,
        group: Ints,
        clusters: Clusters,
        coefficients: tuple[str, ...],
        *,
        undefined: Undefined,
    ) -> Crossed:
        """Sum up units with values x and y, shape (n,), by group and cluster."""
        _, group = np.unique(group, return_inverse=True)  # groups without a unit have no rows here
        a, b = (encode(v).codes[0].astype(np.int64) for v in (x, y))
        if len(np.unique(a)) < len(np.unique(b)):
            x, y, a, b = y, x, b, a  # one pass a bit of y; all coefficients are symmetric
        _, of_y = np.unique(a * (b.max(initial=0) + 1) + b, return_inverse=True)
        _, example, cell = np.unique(
            group * (of_y.max(initial=0) + 1) + of_y, return_index=True, return_inverse=True
        )
        cell_group, cell_a, cell_b = group[example], a[example], b[example]
        fresh_x = changes(cell_group) | changes(cell_a)
        y_key, y_row = np.unique(cell_group * (b.max(initial=0) + 1) + cell_b, return_inverse=True)
        cells = by_cluster(np.ones(len(x)), cell, len(example), clusters)
        return cls(
            _moments(x, y, group, clusters),
            cells,
            Runs.of(cell_group),
            np.flatnonzero(fresh_x),
            Runs.of(cell_group[fresh_x]),
            np.cumsum(fresh_x) - 1,
            by_cluster(np.ones(len(x)), y_row[cell], len(y_key), clusters),
            Runs.of(y_key // (b.max(initial=0) + 1)),
            y_row,
            pairs_of(cell_group, cell_a, cell_b, cells) if "kendall" in coefficients else None,
            coefficients,
            undefined,
        )

    def at(self, weights: Floats) -> Floats:
        """Return the mean over groups of each coefficient, shape (coefficients, columns)."""
        if not len(self.runs.first):
            return np.full((len(self.coefficients), weights.shape[1]), np.nan)
        ranked = set(self.coefficients) != {"pearson"}
        return in_blocks(self._at, weights, self.cells.shape[0] if ranked else self.moments.shape[0])

    def _at(self, weights: Floats) -> Floats:
        moments = np.asarray(self.moments @ weights).reshape(6, -1, weights.shape[1])
        n = moments[0]
        ranked = _Ranked.of(self, weights, n) if set(self.coefficients) != {"pearson"} else None
        found = np.full((len(self.coefficients), weights.shape[1]), np.nan)
        for row, coefficient in enumerate(self.coefficients):
            with np.errstate(divide="ignore", invalid="ignore"):
                if coefficient == "pearson" or ranked is None:
                    r = _pearson(moments)
                else:
                    r = ranked.spearman() if coefficient == "spearman" else ranked.kendall()
            np.clip(r, -1.0, 1.0, out=r)
            found[row] = _mean(r, n, self.undefined)
        return found


@dataclass(frozen=True, slots=True)
class _Ranked:
    """What Spearman's and Kendall's coefficients have in common, for a few columns of weights."""

    of_study: Crossed
    weights: Floats
    n: Floats
    cells: Floats
    x: Floats
    y: Floats

    @classmethod
    def of(cls, s: Crossed, weights: Floats, n: Floats) -> _Ranked:
        cells = np.asarray(s.cells @ weights)
        x = cells if len(s.x_first) == len(cells) else np.add.reduceat(cells, s.x_first, axis=0)
        return cls(s, weights, n, cells, x, np.asarray(s.y_counts @ weights))

    def _untied(self, power: int) -> tuple[Floats, Floats]:
        """Return n to a power less the counts of tied units to it, for x and y: 0 where all are tied."""
        s = self.of_study

        def raised(count: Floats) -> Floats:  # three times as fast as a power of floats
            return count * count * count if power == 3 else count * count

        whole = raised(self.n)
        return whole - s.x_runs.total(raised(self.x)), whole - s.y_runs.total(raised(self.y))

    def spearman(self) -> Floats:
        s = self.of_study
        rank_x, rank_y = s.x_runs.ranks(self.x, self.n), s.y_runs.ranks(self.y, self.n)
        products = rank_y[s.y_row]
        products *= rank_x if len(rank_x) == len(self.cells) else rank_x[s.x_row]
        products *= self.cells
        of_x, of_y = self._untied(3)  # three times the sum of squares of the ranks
        r: Floats = 3 * s.runs.total(products) / np.sqrt(of_x * of_y)
        return r

    def kendall(self) -> Floats:
        s = self.of_study
        of_x, of_y = self._untied(2)  # twice the number of pairs that are not tied
        if s.pairs is None:
            raise AssertionError("pairs are made whenever Kendall's coefficient is asked for")
        difference = s.pairs.difference(self.weights, self.cells, self.n, of_x, of_y)
        r: Floats = 2 * difference / np.sqrt(of_x * of_y)
        return r


def _moments(x: Floats, y: Floats, group: Ints, clusters: Clusters) -> Matrix:
    """Sum powers of the values less their group's mean, scaled so that squares stay in range."""
    n = np.bincount(group)
    dx, dy = (v / (np.abs(v).max(initial=0.0) or 1.0) for v in (x, y))
    dx, dy = (v - (np.bincount(group, v) / n)[group] for v in (dx, dy))
    dx, dy = (v / (np.abs(v).max(initial=0.0) or 1.0) for v in (dx, dy))
    values = np.concatenate([np.ones(len(x)), dx, dy, dx * dx, dy * dy, dx * dy])
    row = (np.arange(6)[:, None] * len(n) + group).ravel()
    return by_cluster(values, row, 6 * len(n), Clusters(np.tile(clusters.of_unit, 6), clusters.n))


def _pearson(moments: Floats) -> Floats:
    n, x, y, xx, yy, xy = moments
    vx, vy = xx - x * x / n, yy - y * y / n
    r: Floats = (xy - x * y / n) / np.sqrt(vx * vy)
    r[(vx <= _ROUNDING * xx) | (vy <= _ROUNDING * yy)] = np.nan
    return r


def _mean(r: Floats, n: Floats, undefined: Undefined) -> Floats:
    """Average over the groups that have units, or over those with a defined coefficient."""
    defined = np.isfinite(r)
    counted = (defined if undefined == "skip" else n > 0).sum(axis=0)
    total = np.where(defined, r, 0.0).sum(axis=0)
    mean: Floats = np.divide(total, counted, out=np.full(counted.shape, np.nan), where=counted > 0)
    return mean
