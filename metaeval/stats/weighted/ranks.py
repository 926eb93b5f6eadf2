"""Spearman's and Kendall's coefficients of groups whose units lie in several clusters, under weights.

`ByCell` works with the weighted count of every cell, in any number of groups. `ByClass` is for a single group
where one variable has few values, such as a rating scale, and the other many: units are compared once, and
the comparisons are summed by class and pair of clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.coefficients.tables import Floats, Ints, changes, distinct, lengths
from metaeval.stats.weighted.sums import Clusters, Matrix, Runs, by_cluster, dense, raised

_FEW_CELLS = 96  # with so few cells, `ByClass` is no faster
_WORTH = 200  # numbers that a matrix product works through while `ByCell` does one
_ROOM = 2**24  # entries of a dense matrix of cells and clusters
_EXACT = 2**24  # whole numbers up to which 32 bits hold exactly


def ranked_of(x: Ints, y: Ints, group: Ints, clusters: Clusters, *, spearman: bool, kendall: bool) -> Ranked:
    """Prepare units with codes x and y, shape (n,), in groups numbered from 0 without a gap."""
    if len(distinct(x)[0]) < len(distinct(y)[0]):
        x, y = y, x  # both coefficients are symmetric
    ky = int(y.max(initial=0)) + 1
    pairs, of_xy = distinct(x * ky + y)
    cells, cell = distinct(group * len(pairs) + of_xy)
    example = np.empty(len(cells), dtype=np.int64)
    example[cell] = np.arange(len(x))
    counts = by_cluster(np.ones(len(x)), cell, len(example), clusters)
    group, x, y = group[example], x[example], y[example]
    _, classes = distinct(y)
    one_group = bool((group == 0).all())
    compared = (int(classes.max()) + 1) * clusters.n**2 <= _WORTH * len(example) and len(
        x
    ) * clusters.n <= _ROOM
    if one_group and len(x) > _FEW_CELLS and compared:
        return ByClass.of(x, classes, dense(counts), spearman=spearman, kendall=kendall)
    return ByCell.of(group, x, y, counts, kendall=kendall)


@dataclass(frozen=True, slots=True)
class ByCell:
    """Counts of cells, by group, x and y, in each cluster."""

    cells: Matrix
    """Shape (cells, n_clusters)."""
    runs: Runs
    x_first: Ints
    """Shape (values of x,): first cell of each distinct x of a group."""
    x_runs: Runs
    x_row: Ints
    """Shape (cells,): the distinct x of each cell."""
    y_order: Ints
    """Shape (cells,): puts cells in order of group and y."""
    y_first: Ints
    y_runs: Runs
    y_row: Ints
    pairs: ConcordantPairs | None
    """None if Kendall's coefficient is not wanted."""

    @classmethod
    def of(cls, group: Ints, x: Ints, y: Ints, cells: Matrix, *, kendall: bool) -> ByCell:
        """Prepare for cells that come by group, x and y."""
        fresh_x = changes(group) | changes(x)
        order = np.lexsort((y, group))
        fresh_y = changes(group[order]) | changes(y[order])
        y_row = np.empty(len(y), dtype=np.int64)
        y_row[order] = np.cumsum(fresh_y) - 1
        return cls(
            cells,
            Runs.of(group),
            np.flatnonzero(fresh_x),
            Runs.of(group[fresh_x]),
            np.cumsum(fresh_x) - 1,
            order,
            np.flatnonzero(fresh_y),
            Runs.of(group[order][fresh_y]),
            y_row,
            pairs_of(group, x, y, cells) if kendall else None,
        )

    @property
    def rows(self) -> int:
        """Number of cells."""
        return int(self.cells.shape[0])

    def at(self, weights: Floats, n: Floats, *, spearman: bool, kendall: bool) -> dict[str, Floats]:
        """Return the coefficients asked for, shape (groups, columns)."""
        cells = np.asarray(self.cells @ weights)
        x = cells if len(self.x_first) == len(cells) else np.add.reduceat(cells, self.x_first, axis=0)
        y = np.add.reduceat(cells[self.y_order], self.y_first, axis=0)

        def untied(power: int) -> tuple[Floats, Floats]:
            """Return n to a power less the counts of tied units to it: 0 where all units are tied."""
            whole = raised(n, power)
            return whole - self.x_runs.total(raised(x, power)), whole - self.y_runs.total(raised(y, power))

        found = {}
        if spearman:
            rank_x = self.x_runs.ranks(x, n)
            products = self.y_runs.ranks(y, n)[self.y_row]
            products *= rank_x if len(rank_x) == len(cells) else rank_x[self.x_row]
            products *= cells
            of_x, of_y = untied(3)  # three times the sum of squares of the ranks
            found["spearman"] = 3 * self.runs.total(products) / np.sqrt(of_x * of_y)
        if kendall and self.pairs is not None:
            of_x, of_y = untied(2)  # twice the number of pairs that are not tied
            difference = self.pairs.difference(weights, cells, n, of_x, of_y)
            found["kendall"] = 2 * difference / np.sqrt(of_x * of_y)
        return found

    def influence(self, coefficient: str) -> Floats:
        """Return the derivatives of a coefficient by the clusters' weights, at one, shape (n_clusters,).

        There is one group. With counts N of cells, the coefficient is S / √(A B), and its derivative by
        N is S' / √(A B) − r / 2 · (A' / A + B' / B). For Kendall's, S' is twice the units that are concordant
        with the cell, less those discordant; for Spearman's, S sums up products of centred midranks.
        """
        cells = np.asarray(self.cells.sum(axis=1), dtype=np.float64)
        n = cells.sum()
        y_sorted = cells[self.y_order]
        x, y = np.add.reduceat(cells, self.x_first), np.add.reduceat(y_sorted, self.y_first)
        power = 3 if coefficient == "spearman" else 2
        of_x, of_y = (n**power - (v**power).sum() for v in (x, y))
        by_x, by_y = (power * (n ** (power - 1) - v ** (power - 1)) for v in (x, y))
        if coefficient == "spearman":
            rank_x, rank_y = _below_less_above(x)[self.x_row], _below_less_above(y)[self.y_row]
            of_ranks = 3 * (cells * rank_x * rank_y).sum()
            lifted_x = _below_less_above(np.add.reduceat(cells * rank_y, self.x_first))[self.x_row]
            lifted_y = _below_less_above(np.add.reduceat((cells * rank_x)[self.y_order], self.y_first))
            slope = 3 * (rank_x * rank_y - lifted_x - lifted_y[self.y_row])
        else:
            below_x, below_y = np.cumsum(x) - x, np.cumsum(y) - y
            # Units of the same x and a lower y, and the other way round.
            same_x, same_y = np.cumsum(cells) - cells - below_x[self.x_row], np.empty_like(cells)
            same_y[self.y_order] = np.cumsum(y_sorted) - y_sorted - below_y[self.y_row[self.y_order]]
            crossed = higher_before(self.x_row, self.y_row, cells)
            lower = below_x[self.x_row] - same_y - crossed  # in both
            crossing = below_y[self.y_row] - lower - same_x  # a higher x and a lower y
            higher = n - below_x[self.x_row] - x[self.x_row] - crossing
            higher -= y[self.y_row] - same_y - cells
            slope = 2 * (lower + higher - crossed - crossing)
            of_ranks = (cells * slope).sum() / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            r = of_ranks / np.sqrt(of_x * of_y)
            slope = slope / np.sqrt(of_x * of_y)
            slope -= r / 2 * (by_x[self.x_row] / of_x + by_y[self.y_row] / of_y)
        return np.asarray(slope @ self.cells)


def _below_less_above(counts: Floats) -> Floats:
    """Return for each value, in order, the sum over lower values less that over higher ones."""
    centred: Floats = 2 * np.cumsum(counts) - counts - counts.sum()
    return centred


@dataclass(frozen=True, slots=True)
class ByClass:
    """One group, y with few values (classes): comparisons summed up by class and pair of clusters."""

    classes: Floats
    """Shape (classes, n_clusters): units of each class."""
    above: NDArray[np.floating[Any]]
    """Shape (classes × n_clusters, n_clusters): how many units of the second cluster have a lower x, less how
    many have a higher one, summed over the units of the class in the first."""
    pairs: NDArray[np.floating[Any]]
    """Shape (n_clusters, n_clusters): concordant less discordant pairs."""
    own: Floats
    """Shape (2, n_clusters): sums of second and third powers of the counts of x that only one cluster has."""
    shared: Floats
    """Shape (values, n_clusters): counts of the values of x that several clusters have."""
    n_cells: int

    @classmethod
    def of(cls, x: Ints, y: Ints, cells: Floats, *, spearman: bool, kendall: bool) -> ByClass:
        """Prepare for cells in order of x, with classes y numbered from 0; counts (cells, n_clusters)."""
        n_clusters = cells.shape[1]
        # Pairs of units are counted, in 32 bits if their number fits.
        small = cells.astype(np.float32 if cells.sum() * cells.sum(axis=0).max() < 2**23 else np.float64)
        of_class = [np.flatnonzero(y == c) for c in range(int(y.max()) + 1)]
        above, pairs = np.zeros((0, n_clusters)), np.zeros((n_clusters, n_clusters))
        if spearman:
            everything = _lower_less_higher(x, small)
            above = np.concatenate([small[c].T @ everything[c] for c in of_class])
        if kendall:
            cell, cluster = np.nonzero(cells)
            times = cells[cell, cluster]
            for c, here in enumerate(of_class[:-1]):
                # A unit of a higher class is concordant with those here that have a lower x.
                higher = y[cell] > c
                reached = np.zeros((len(here) + 1, n_clusters), dtype=small.dtype)
                np.cumsum(small[here], axis=0, out=reached[1:])
                place = [np.searchsorted(x[here], x[cell[higher]], side) for side in ("left", "right")]
                key = (np.stack(place) * n_clusters + cluster[higher]).ravel()
                met = np.bincount(key, np.tile(times[higher], 2), reached.size).reshape(reached.shape)
                whole = np.bincount(cluster[higher], times[higher], n_clusters)
                # Pairs count from both sides.
                pairs += 2 * (met.astype(small.dtype).T @ reached - whole[:, None] * reached[-1])
        fresh = changes(x)
        counts = cells if fresh.all() else np.add.reduceat(cells, np.flatnonzero(fresh), axis=0)
        value, home = np.nonzero(counts)
        alone = np.bincount(value, minlength=len(counts)) == 1
        times, home = counts[value, home][alone[value]], home[alone[value]]
        own = np.stack([np.bincount(home, raised(times, p), n_clusters).astype(np.float64) for p in (2, 3)])
        classes = np.stack([cells[c].sum(axis=0) for c in of_class]).astype(np.float64)
        return cls(classes, above, pairs.astype(small.dtype), own, counts[~alone], len(x))

    @property
    def rows(self) -> int:
        """Rows of the largest product; the number of cells if that is less, as for `ByCell`."""
        return min(self.n_cells, max(len(self.above), len(self.shared)))

    def at(self, weights: Floats, n: Floats, *, spearman: bool, kendall: bool) -> dict[str, Floats]:
        """Return the coefficients asked for, shape (1, columns)."""
        of_class = self.classes @ weights
        shared = self.shared @ weights

        square = shared * shared
        of_shared = {2: square.sum(axis=0), 3: np.einsum("vb,vb->b", square, shared)}

        def untied(power: int) -> tuple[Floats, Floats]:
            """Return n to a power less the counts of tied units to it: 0 where all units are tied."""
            tied = self.own[power - 2] @ raised(weights, power) + of_shared[power]
            whole = raised(n, power)
            return whole - tied, whole - raised(of_class, power).sum(axis=0)

        found = {}
        if n.max(initial=0) ** 2 < _EXACT and (weights == np.rint(weights)).all():
            weights = weights.astype(np.float32)  # whole numbers that 32 bits hold: the same, and faster
        if spearman:
            ranks = 2 * np.cumsum(of_class, axis=0) - of_class - n
            above = (self.above @ weights).reshape(len(self.classes), *weights.shape)
            products = (ranks * np.einsum("kcb,cb->kb", above, weights)).sum(axis=0)
            of_x, of_y = untied(3)
            found["spearman"] = 3 * products[None] / np.sqrt(of_x * of_y)
        if kendall:
            of_x, of_y = untied(2)
            difference = np.einsum("cb,cb->b", self.pairs @ weights, weights)
            found["kendall"] = difference[None] / np.sqrt(of_x * of_y)
        return found


def _lower_less_higher(x: Ints, counts: NDArray[Any]) -> NDArray[Any]:
    """Return for every cell, in order of x, how many counted units have a lower x, less a higher one."""
    fresh = changes(x)
    whole = bool(fresh.all())
    of_value = counts if whole else np.add.reduceat(counts, np.flatnonzero(fresh), axis=0)
    reached = np.cumsum(of_value, axis=0)
    reached *= 2
    reached -= of_value
    reached -= of_value.sum(axis=0)
    return reached if whole else reached[np.cumsum(fresh) - 1]


Ranked: TypeAlias = ByCell | ByClass
"""Rank coefficients as functions of the clusters' weights, shape (groups, columns)."""


_SMALL_TABLE = 96  # cells of a group up to which all its pairs are compared for every column
_PAIRS = 2**28  # pairs of cells up to which they are compared once
_CLUSTERS = 512  # clusters up to which a product of all their pairs is cheap
_BLOCK = 2**22


def pairs_of(group: Ints, x: Ints, y: Ints, cells: Matrix) -> ConcordantPairs:
    """Prepare for cells that come by group, x and y: codes of shape (cells,), counts (cells, n_clusters)."""
    first = np.flatnonzero(changes(group))
    sizes = lengths(first, len(group))
    if sizes.max(initial=0) <= _SMALL_TABLE:
        return _ByTable.of(first, sizes, x, y)
    if len(first) == 1 and len(x) ** 2 <= _PAIRS and cells.shape[1] <= _CLUSTERS:
        return _ByCluster.of(x, y, cells)
    return _ByBits.of(group, y)


def _signs(x: Ints, y: Ints, part: slice = slice(None)) -> NDArray[np.float32]:
    """Return 1 for concordant, -1 for discordant cells, 0 for ties, shape (part, cells)."""
    of_x = (x[part, None] > x).astype(np.float32) - (x[part, None] < x)
    of_y = (y[part, None] > y).astype(np.float32) - (y[part, None] < y)
    return of_x * of_y


@dataclass(frozen=True, slots=True)
class _ByTable:
    parts: tuple[tuple[slice, Floats], ...]

    @classmethod
    def of(cls, first: Ints, sizes: Ints, x: Ints, y: Ints) -> _ByTable:
        parts = [slice(int(f), int(f + n)) for f, n in zip(first, sizes, strict=True)]
        return cls(tuple((p, _signs(x[p], y[p]).astype(np.float64)) for p in parts))

    def difference(self, weights: Floats, cells: Floats, n: Floats, of_x: Floats, of_y: Floats) -> Floats:
        del weights, of_x, of_y
        found = np.empty_like(n)
        for row, (part, signs) in enumerate(self.parts):
            found[row] = np.einsum("ij,ij->j", signs @ cells[part], cells[part])
        return found / 2


@dataclass(frozen=True, slots=True)
class _ByCluster:
    signs: Floats
    """Shape (n_clusters, n_clusters): the sum over all pairs of a unit of one and a unit of the other."""

    @classmethod
    def of(cls, x: Ints, y: Ints, cells: Matrix) -> _ByCluster:
        counts = dense(cells)
        small = counts.astype(np.float32)
        found = np.zeros((counts.shape[1], counts.shape[1]))
        step = max(1, _BLOCK // len(x))
        for at in range(0, len(x), step):
            part = slice(at, at + step)
            found += counts[part].T @ (_signs(x, y, part) @ small)
        return cls(found)

    def difference(self, weights: Floats, cells: Floats, n: Floats, of_x: Floats, of_y: Floats) -> Floats:
        del cells, n, of_x, of_y
        summed: Floats = np.einsum("ij,ij->j", self.signs @ weights, weights)
        return summed[None] / 2


def higher_before(x: Ints, y: Ints, cells: Floats) -> Floats:
    """Return for each cell, in order of x and y, the units with a lower x and a higher y, shape (cells,)."""
    found, at = np.zeros(len(x)), np.arange(len(x))
    for step in _ByBits.of(np.zeros_like(x), y).passes:
        found[at] += step.ones_before(cells[at, None])[:, 0] * (1 - step.one[:, 0])
        at = at[step.order]
    return found


@dataclass(frozen=True, slots=True)
class _Pass:
    one: Floats
    """Shape (cells, 1): 1 where the bit of y is set."""
    first: Ints
    """First cell of each stretch whose higher bits are equal."""
    stretch: Ints
    order: Ints
    """How cells are put for the next pass: those without the bit before those with it, in each stretch."""

    def ones_before(self, cells: Floats) -> Floats:
        """Return the units with the bit in the same stretch up to each cell, shape (cells, columns)."""
        ones: Floats = np.cumsum(cells * self.one, axis=0)
        base = np.where(self.first[:, None] > 0, ones[self.first - 1], 0.0)
        ones -= base[self.stretch]
        return ones


@dataclass(frozen=True, slots=True)
class _ByBits:
    """Two cells, in order of x, are discordant if the first bit of y that differs is a one in the earlier.

    Cells of equal x come in order of y, so that none of them counts.
    """

    passes: tuple[_Pass, ...]
    first: Ints
    """First cell of each group."""

    @classmethod
    def of(cls, group: Ints, y: Ints) -> _ByBits:
        passes = []
        of_group = np.flatnonzero(changes(group))
        for bit in reversed(range(int(y.max(initial=0)).bit_length())):
            fresh = changes(group) | changes(y >> (bit + 1))
            stretch = np.cumsum(fresh) - 1
            one = (y >> bit) & 1
            order = np.lexsort((np.arange(len(y)), one, stretch))
            passes.append(_Pass(one[:, None].astype(np.float64), np.flatnonzero(fresh), stretch, order))
            group, y = group[order], y[order]
        return cls(tuple(passes), of_group)

    def difference(self, weights: Floats, cells: Floats, n: Floats, of_x: Floats, of_y: Floats) -> Floats:
        del weights
        discordant = np.zeros_like(n)
        tied = np.add.reduceat(cells**2, self.first, axis=0)
        for step in self.passes:
            ones = step.ones_before(cells)
            ones *= cells * (1 - step.one)
            discordant += np.add.reduceat(ones, self.first, axis=0)
            cells = cells[step.order]
        untied = (of_x + of_y - (n**2 - tied)) / 2  # pairs that neither x nor y ties
        return untied - 2 * discordant


ConcordantPairs: TypeAlias = _ByTable | _ByCluster | _ByBits
"""``difference`` returns concordant less discordant pairs of units in each group, shape (groups, columns).

``cells``, shape (cells, columns), are the weighted counts; ``n``, ``of_x`` and ``of_y``, all of shape
(groups, columns), the units, and twice the pairs that x and that y do not tie.
"""
