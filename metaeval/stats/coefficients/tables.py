"""Contingency tables of two variables, one per group: the sufficient statistic of every coefficient here.

A table is kept as its non-empty cells, sorted by group, x and y. Five-point ratings of a million units
make 25 cells per group; continuous scores make as many cells as units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Ints: TypeAlias = "NDArray[np.integer[Any]]"

BLOCK = 2**19  # units worked through at a time, so that what they need stays in the cache
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
            return cls.merged(x, y, np.ravel(group), np.ones(x.codes.size), n_groups)
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
    def merged(cls, x: Coded, y: Coded, group: Ints, count: Floats, n_groups: int) -> ContingencyTables:
        """Add up cells of which several may have one group, x and y; the three need not fit into one key."""
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


def changes(values: Floats | Ints) -> NDArray[np.bool_]:
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


_LARGEST_DENOMINATOR = 2**20
_SQUARABLE = 200  # binary exponent; products of four such numbers are in range
_EXACT = 2.0**53  # whole numbers below this are exact as floats


def squarable(values: Floats) -> Floats:
    """Scale values by a power of two where their squares would overflow or underflow.

    This changes no correlation coefficient in any digit. Values of usual size are returned as they are.
    """
    exponent = math.frexp(float(np.fmax.reduce(np.abs(values), axis=None, initial=0.0)))[1]
    return values if abs(exponent) < _SQUARABLE else np.ldexp(values, -exponent)


@dataclass(frozen=True, slots=True)
class GroupSums:
    """Exact sums and counts of groups."""

    sums: tuple[Fraction, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, values: Floats, group: Ints, n_groups: int) -> GroupSums:
        """Sum finite values, shape (n,), by group, shape (n,)."""
        counts = np.bincount(group, minlength=n_groups)
        denominator = common_denominator(values)
        if denominator is not None and np.abs(values).sum() * denominator < _EXACT:
            whole = np.bincount(group, weights=np.rint(values * denominator), minlength=n_groups)
            sums = tuple(Fraction(int(s), denominator) for s in whole)
        else:
            sums = _sums_of_floats(values, group, n_groups)
        return cls(sums, tuple(map(int, counts)))

    def means(self) -> Floats:
        """Return the mean of each group, correctly rounded, shape (n_groups,); NaN for an empty group."""
        return np.array(
            [s / n if n else math.nan for s, n in zip(self.sums, self.counts, strict=True)], dtype=float
        )


def exact_mean(values: Floats) -> Floats:
    """Return the mean of each column without NaN, of which one is all: equal means on paper are equal.

    Values count as the fractions over one denominator, else as the decimals, that they are the nearest floats
    to, and the quotient is rounded once; in a column with other values, the sum and the quotient are.
    """
    there = ~np.isnan(values)
    counts, filled = there.sum(axis=0), np.where(there, values, 0.0)
    most = len(filled) * max(1.0, float(np.abs(filled).max(initial=0.0)))
    of_all = common_denominator(filled)
    denominator = float(of_all or 10.0 ** max(0, math.floor(math.log10(_EXACT / most))))
    whole = np.rint(filled * denominator)
    exact = (whole / denominator == filled).all(axis=0) & (most * denominator < _EXACT)
    means: Floats = whole.sum(axis=0) / (denominator * counts)
    for i in np.flatnonzero(~exact):
        means[i] = math.fsum(filled[:, i].tolist()) / counts[i]
    return means


def common_denominator(values: Floats) -> int | None:
    """Return the least d that makes each value the float nearest to a fraction over d; None above 2**20."""
    distinct = np.unique(values)
    if not distinct.size or max(-distinct[0], distinct[-1]) >= _EXACT / _LARGEST_DENOMINATOR:
        return None  # whole numbers at this size: the sum of floats is exact without a denominator
    denominator = 1
    while True:
        off = distinct[np.rint(distinct * denominator) / denominator != distinct]
        if not off.size:
            return denominator
        fraction = Fraction(float(off[0])).limit_denominator(_LARGEST_DENOMINATOR)
        together = math.lcm(denominator, fraction.denominator)
        if float(fraction) != off[0] or together > _LARGEST_DENOMINATOR or together == denominator:
            return None
        denominator = together


def _sums_of_floats(values: Floats, group: Ints, n_groups: int) -> tuple[Fraction, ...]:
    """Split values into slices of few bits, whose sums are exact (after Rump et al. 2008)."""
    sums = [Fraction(0)] * n_groups
    headroom = math.ceil(math.log2(len(values) + 2))
    rest = values
    while rest.any():
        exponent = headroom + math.frexp(float(np.abs(rest).max()))[1]
        if exponent > 1000:  # the largest floats leave no room for a sum: scale them down, exactly
            large = np.abs(rest) > 1
            scaled = _sums_of_floats(np.where(large, np.ldexp(rest, -128), 0.0), group, n_groups)
            others = _sums_of_floats(np.where(large, 0.0, rest), group, n_groups)
            return tuple(2**128 * a + b for a, b in zip(scaled, others, strict=True))
        unit = math.ldexp(0.75, exponent + 1)
        part = (rest + unit) - unit
        for i, s in enumerate(np.bincount(group, weights=part, minlength=n_groups)):
            sums[i] += Fraction(float(s))
        rest = rest - part
    return tuple(sums)
