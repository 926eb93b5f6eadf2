"""Contingency tables of two variables, one per group: the sufficient statistic of every coefficient here.

A table is kept as its non-empty cells, sorted by group, x and y. Five-point ratings of a million units
make 25 cells per group; continuous scores make as many cells as units.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Ints: TypeAlias = "NDArray[np.integer[Any]]"

BLOCK = (
    2**19
)  # units worked through at a time, so that what they need stays in the cache and is allocated once
_SMALL_RANGE = 255  # whole numbers that differ by at most this are coded without sorting


@dataclass(frozen=True, slots=True)
class Coded:
    """Rows of values as codes that keep their order: within a row, ``codes`` compare as the values do."""

    codes: Ints
    """Shape (rows, n); rows may have codes of their own or share them."""
    values: Floats
    """Shape (n_codes,): the value of each code."""


def encode(values: ArrayLike) -> Coded:
    """Code every row of finite values, shape (rows, n) or (n,), by rank among the distinct values.

    Raises `ValueError` if a value is infinite or NaN.
    """
    rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if not rows.size:
        return Coded(np.zeros(rows.shape, dtype=np.int64), np.zeros(1))
    low, high = rows.min(), rows.max()
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError("values must be finite")
    few = high / 2 - low / 2 <= _SMALL_RANGE / 2  # halved, so that the difference cannot overflow
    if few and low.is_integer() and (rows == np.rint(rows)).all():
        codes: Ints = np.empty(rows.shape, dtype=np.uint8)
        np.subtract(rows, low, out=codes, casting="unsafe")
        return Coded(codes, low + np.arange(high - low + 1))
    order = np.argsort(rows, axis=1)
    ordered = np.take_along_axis(rows, order, axis=1)
    fresh = np.ones(rows.shape, dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=fresh[:, 1:])
    ranks = np.cumsum(fresh, dtype=np.int32 if rows.size < 2**31 else np.int64).reshape(rows.shape) - 1
    codes = np.empty_like(ranks)
    np.put_along_axis(codes, order, ranks, axis=1)
    return Coded(codes, ordered[fresh])


@dataclass(frozen=True)
class ContingencyTables:
    """A contingency table per group, as cells sorted by group, x and y."""

    group: Ints
    """Shape (cells,): group of each cell, non-decreasing, in ``range(n_groups)``."""
    x: Ints
    """Shape (cells,): code of x, an index into ``x_values``."""
    y: Ints
    """Shape (cells,): code of y, an index into ``y_values``."""
    count: Floats
    """Shape (cells,): number of units in the cell, above zero."""
    n_groups: int
    x_values: Floats
    y_values: Floats

    @classmethod
    def of(cls, x: Coded, y: Coded, group: ArrayLike, n_groups: int) -> ContingencyTables:
        """Count the cells of units with codes ``x``, ``y`` (flattened) in ``group``, all of equal length."""
        kx, ky = len(x.values), len(y.values)
        space = n_groups * kx * ky
        if space >= 2**62:
            return cls._of_wide(x, y, np.asarray(group), n_groups)
        columns = (np.asarray(group).ravel(), x.codes.ravel(), y.codes.ravel())
        n = len(columns[0])
        if space <= max(4 * n, 4096):
            # Blocks that are small against the space of keys would mostly add zeros.
            step = max(BLOCK, 4 * space)
            counts = np.zeros(space, dtype=np.int64)
            for i in range(0, n, step):
                block = _keys(kx, ky, *(c[i : i + step] for c in columns))
                counts += np.bincount(block, minlength=space)
            cells: Ints = np.flatnonzero(counts)
            count = counts[cells].astype(np.float64)
        else:
            key = _keys(kx, ky, *columns)
            key.sort()
            first = np.flatnonzero(changes(key))
            cells = key[first]
            count = lengths(first, n).astype(np.float64)
        rest, y_codes = np.divmod(cells, ky)
        groups, x_codes = np.divmod(rest, kx)
        return cls(groups, x_codes, y_codes, count, n_groups, x.values, y.values)

    @classmethod
    def _of_wide(cls, x: Coded, y: Coded, group: Ints, n_groups: int) -> ContingencyTables:
        """Do the same where group, x and y do not fit into one 64-bit key together."""
        columns = (group, x.codes.ravel(), y.codes.ravel())
        order = np.lexsort(columns[::-1])
        g, a, b = (c[order] for c in columns)
        first = np.flatnonzero(changes(g) | changes(a) | changes(b))
        count = lengths(first, len(order)).astype(np.float64)
        return cls(g[first], a[first], b[first], count, n_groups, x.values, y.values)

    @classmethod
    def merged(cls, x: Coded, y: Coded, group: Ints, count: Floats, n_groups: int) -> ContingencyTables:
        """Add up cells of which several may have one group, x and y."""
        order = np.lexsort((y.codes.ravel(), x.codes.ravel(), group))
        g, a, b = (c.ravel()[order] for c in (group, x.codes, y.codes))
        first = np.flatnonzero(changes(g) | changes(a) | changes(b))
        return cls(
            g[first], a[first], b[first], np.add.reduceat(count[order], first), n_groups, x.values, y.values
        )

    @classmethod
    def stack(cls, tables: list[ContingencyTables]) -> ContingencyTables:
        """Put the groups of several tables over the same codes one after the other."""
        if len(tables) == 1:
            return tables[0]
        offsets = np.cumsum([0, *(t.n_groups for t in tables)])
        return cls(
            np.concatenate([t.group + o for t, o in zip(tables, offsets[:-1], strict=True)]),
            np.concatenate([t.x for t in tables]),
            np.concatenate([t.y for t in tables]),
            np.concatenate([t.count for t in tables]),
            int(offsets[-1]),
            tables[0].x_values,
            tables[0].y_values,
        )

    @cached_property
    def n(self) -> Floats:
        """Number of units, shape (n_groups,)."""
        return self.total(self.count)

    @cached_property
    def first(self) -> Ints:
        """Index of the first cell of each group that has any."""
        return np.flatnonzero(changes(self.group))

    @cached_property
    def cells(self) -> Ints:
        """Number of cells of each group that has any: repeats a quantity of a group over its cells."""
        return lengths(self.first, self.group.size)

    def total(self, per_cell: Floats) -> Floats:
        """Sum a quantity over the cells of each group, shape (n_groups,)."""
        if self.n_groups == 1:
            return np.atleast_1d(np.asarray(per_cell.sum()))  # pairwise summation: the more exact of the two
        return np.bincount(self.group, weights=per_cell, minlength=self.n_groups).astype(
            np.float64, copy=False
        )


def _keys(kx: int, ky: int, group: Ints, x: Ints, y: Ints) -> Ints:
    """Put group, x and y into one number that sorts as the three do."""
    key = np.multiply(group, kx * ky, dtype=np.int64)
    key += np.multiply(x, ky, dtype=np.int64)
    key += y
    return key


def distinct(keys: Ints) -> tuple[Ints, Ints]:
    """Return the distinct keys in order, and the index of every key among them; keys are 0 or above.

    It is ``numpy.unique``, without sorting where the keys are small numbers.
    """
    space = int(keys.max(initial=-1)) + 1
    if space > 2 * len(keys):
        found, index = np.unique(keys, return_inverse=True)
        return found, index
    there = np.zeros(space, dtype=bool)
    there[keys] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[keys]


def changes(values: Ints) -> NDArray[np.bool_]:
    """Mark the first of each run of equal values."""
    fresh = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=fresh[1:])
    return fresh


def lengths(first: Ints, n: int) -> Ints:
    """Return the lengths of the runs of n values that start at ``first``."""
    runs = np.empty_like(first)
    np.subtract(first[1:], first[:-1], out=runs[:-1])
    runs[-1:] = n - first[-1:]
    return runs


def labels(values: ArrayLike, n: int, shape: tuple[int, ...], what: str) -> Ints:
    """Check labels, one per unit and in ``range(n)``, and return them as 64-bit integers.

    Raises `ValueError` if the shape is another one, or a label is out of range.
    """
    found: Ints = np.asarray(values)
    if found.shape != shape or (found.size and not 0 <= found.min() <= found.max() < n):
        raise ValueError(f"each unit needs a {what} from 0 to {n - 1}")
    return found.astype(np.int64, copy=False)
