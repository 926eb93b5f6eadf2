"""Concordant less discordant pairs of weighted cells: what Kendall's coefficient needs beside the ties.

There are three ways, chosen by size: compare all cells of a group in every column of weights (few cells);
compare all cells once and sum by pair of clusters (few clusters); or split on the bits of the ranks, which
takes cells × log(cells) per column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.coefficients.tables import Floats, Ints, changes, lengths
from metaeval.stats.weighted.sums import Matrix, dense

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
