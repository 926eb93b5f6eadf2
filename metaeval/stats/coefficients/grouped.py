"""Pearson's r, Spearman's rho and Kendall's tau-b, of two arrays or of many groups at once.

The grouped functions read `metaeval.stats.coefficients.tables.ContingencyTables` and never loop over groups.
A coefficient is NaN where it is undefined: fewer than two units, or a constant variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metaeval.stats.coefficients.tables import (
    ContingencyTables,
    Floats,
    Ints,
    changes,
    encode,
    lengths,
    squarable,
)
from metaeval.stats.resampling.weights import one_thread

_FEW_VALUES = 12  # up to here one pass per value is cheaper than one per bit
_ROOM = 2**16  # cells times values up to which all passes are made at once
_BY_SIGNS = 4_000  # columns up to which signs of all differences are quicker than sorting every two rows
_SAFE = 1e60  # spreads between 1/_SAFE and _SAFE can be squared and summed without overflow or underflow


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's product-moment correlation of two arrays of shape (n,); NaN where it is undefined.

    Raises
    ------
    ValueError
        If the shapes differ or a value is not finite.
    """
    return _of_arrays(x, y, "pearson")


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rank correlation, ties ranked by their mean (midranks); otherwise as `pearson`."""
    return _of_arrays(x, y, "spearman")


def kendall(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's tau-b (Kendall 1945); otherwise as `pearson`."""
    return _of_arrays(x, y, "kendall")


def _of_arrays(x: ArrayLike, y: ArrayLike, coefficient: str) -> float:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"x and y must be arrays of one length, not of shapes {a.shape} and {b.shape}")
    tables = ContingencyTables.of(encode(a), encode(b), np.zeros(a.size, dtype=np.int64), 1)
    return float(grouped(tables, [coefficient])[0, 0])


@one_thread()
def correlation_matrix(x: Floats, coefficient: str) -> tuple[Floats, Ints]:
    """Correlate every row of a table, shape (rows, n), with every other, on the columns that both have.

    Returns
    -------
    r, n : ndarray
        Shape (rows, rows): the coefficients, NaN where undefined, and the number of columns that both have.
    """
    there = ~np.isnan(x)
    n = (there.astype(np.float64) @ there.T).astype(np.int64)
    if coefficient != "kendall":
        import pandas as pd

        # Less one of a row's own values, so that a large offset costs no digits.
        shifted = np.stack([squarable(row - row[t.argmax()]) for row, t in zip(x, there, strict=True)])
        method: Literal["pearson", "spearman"] = "spearman" if coefficient == "spearman" else "pearson"
        return pd.DataFrame(shifted.T).corr(method, min_periods=2).to_numpy(), n
    if x.shape[1] <= _BY_SIGNS:
        return _kendall_by_signs(x, there), n
    r = np.full(n.shape, np.nan)
    for i, j in combinations_with_replacement(range(len(x)), 2):
        both = there[i] & there[j]
        r[i, j] = r[j, i] = kendall(x[i, both], x[j, both])
    return r, n


def _kendall_by_signs(x: Floats, there: NDArray[np.bool_]) -> Floats:
    """Return Kendall's tau-b of every two rows: products of the signs of differences between columns."""
    codes = np.stack([np.unique(row, return_inverse=True)[1] for row in x]).astype(np.float32)
    difference, untied = np.zeros((2, len(x), len(x)))  # sums of whole numbers, which are exact
    complete = there.all()
    for column in range(x.shape[1] - 1):
        signs = np.clip(codes[:, column + 1 :] - codes[:, column, None], -1, 1)
        if not complete:
            both = (there[:, column + 1 :] & there[:, column, None]).astype(np.float32)
            signs *= both
            untied += np.abs(signs) @ both.T
        difference += signs @ signs.T
    if complete:
        untied += np.diag(difference)[:, None]
    with np.errstate(invalid="ignore"):
        return np.clip(difference / np.sqrt(untied * untied.T), -1.0, 1.0)


def grouped(tables: ContingencyTables, coefficients: Sequence[str]) -> Floats:
    """Compute any of ``pearson``, ``spearman``, ``kendall`` by group, shape (coefficients, n_groups)."""
    found = np.full((len(coefficients), tables.n_groups), np.nan)
    if not tables.count.size:
        return found
    margins = _Margins(tables) if set(coefficients) - {"pearson"} else None
    with np.errstate(divide="ignore", invalid="ignore"):
        for row, coefficient in enumerate(coefficients):
            if coefficient == "pearson" or margins is None:
                found[row] = _pearson(tables)
            elif coefficient == "spearman":
                found[row] = _spearman(tables, margins)
            else:
                found[row] = _kendall(tables, margins)
    return np.clip(found, -1.0, 1.0, out=found)


def _pearson(t: ContingencyTables) -> Floats:
    dx, dy = _centred(t, t.x_values, t.x), _centred(t, t.y_values, t.y)
    wx, wy = t.count * dx, t.count * dy
    # What rounding left of the sums is taken off again (corrected two-pass algorithm; Chan et al. 1983).
    sx, sy = t.total(wx), t.total(wy)
    mx, my = sx / t.n, sy / t.n
    vx, vy = t.total(wx * dx) - sx * mx, t.total(wy * dy) - sy * my
    r: Floats = (t.total(wx * dy) - sx * my) / np.sqrt(vx * vy)
    # Rounding can leave a constant a little variance: what is constant is read off the codes. x is sorted.
    constant_x = t.x[t.first] == t.x[t.first + t.cells - 1]
    constant_y = np.maximum.reduceat(t.y, t.first) == np.minimum.reduceat(t.y, t.first)
    r[t.group[t.first][constant_x | constant_y]] = np.nan
    return r


def _centred(t: ContingencyTables, values: Floats, codes: Ints) -> Floats:
    """Return the value of each cell less its group's mean, scaled where squares would leave the range."""
    v = values[codes]
    gaps = np.abs(values[1:] / 2 - values[:-1] / 2)  # halved: a difference of halves cannot overflow
    wide = max(abs(values.item(0)), abs(values.item(-1)), gaps.max(initial=0.0)) > _SAFE
    if wide:
        v = v / 4.0  # so that a difference cannot overflow
    # The difference is exact for values of like size: a large offset costs no digits.
    d: Floats = v - np.repeat(v[t.first], t.cells)
    if wide or gaps.min(initial=1.0, where=gaps > 0) < 1 / _SAFE:
        largest = np.maximum.reduceat(np.abs(d), t.first)
        d /= np.repeat(np.where(largest > 0, largest, 1.0), t.cells)
    d -= (t.total(t.count * d) / t.n)[t.group]
    return d


class _Margins:
    """Ranks and ties of both variables within their groups.

    ``rank_x`` and ``rank_y``, shape (cells,), are twice the midrank less n + 1: whole numbers that sum to
    zero over the units of a group. ``tied_x`` and ``tied_y``, shape (n_groups,), count the pairs of units
    with equal values.
    """

    def __init__(self, t: ContingencyTables) -> None:
        before_group = np.cumsum(t.n) - t.n
        runs = changes(t.group) | changes(t.x)
        self.rank_x, self.tied_x = _ranks_of_runs(t, runs, t.group, t.count, before_group)
        ky = len(t.y_values)
        if t.n_groups * ky <= max(4 * t.count.size, 4096):
            cell = t.group * ky + t.y
            ties = np.bincount(cell, weights=t.count, minlength=t.n_groups * ky).reshape(t.n_groups, ky)
            twice = 2 * np.cumsum(ties, axis=1) - ties - t.n[:, None]
            self.rank_y: Floats = twice.ravel()[cell]
            self.tied_y: Floats = (ties * (ties - 1)).sum(axis=1) / 2
        else:
            order = np.lexsort((t.y, t.group))
            group, y = t.group[order], t.y[order]
            runs = changes(group) | changes(y)
            ranks, self.tied_y = _ranks_of_runs(t, runs, group, t.count[order], before_group)
            self.rank_y = np.empty_like(ranks)
            self.rank_y[order] = ranks


def _ranks_of_runs(
    t: ContingencyTables, runs: NDArray[np.bool_], group: Ints, count: Floats, before_group: Floats
) -> tuple[Floats, Floats]:
    """Return ranks as `_Margins` defines them and tied pairs, for cells sorted by group and value."""
    first = np.flatnonzero(runs)
    ties = np.add.reduceat(count, first)
    of_run = group[first]
    twice = 2 * (np.cumsum(ties) - before_group[of_run]) - ties - t.n[of_run]
    tied = np.bincount(of_run, weights=ties * (ties - 1), minlength=t.n_groups) / 2
    return np.repeat(twice, lengths(first, count.size)), tied


def _spearman(t: ContingencyTables, m: _Margins) -> Floats:
    wx = t.count * m.rank_x
    covariance = t.total(wx * m.rank_y)
    return covariance / np.sqrt(t.total(wx * m.rank_x) * t.total(t.count * m.rank_y * m.rank_y))


def _kendall(t: ContingencyTables, m: _Margins) -> Floats:
    pairs = t.n * (t.n - 1) / 2
    tied_both = t.total(t.count * (t.count - 1)) / 2
    discordant = _discordant(t)
    difference = pairs - m.tied_x - m.tied_y + tied_both - 2 * discordant
    return difference / np.sqrt((pairs - m.tied_x) * (pairs - m.tied_y))


def _discordant(t: ContingencyTables) -> Floats:
    """Count the pairs of units of a group that x and y put in opposite order, shape (n_groups,)."""
    if len(t.y_values) > max(_FEW_VALUES, _ROOM // t.count.size):
        return _discordant_by_bits(t)
    # Cells come in order of x: what lies before a cell and has a larger y is discordant with it. Cells of
    # equal x come in order of y, so that none of them counts.
    larger_before, largest = np.zeros(t.count.size), len(t.y_values) - 1
    start, step = np.repeat(t.first, t.cells), max(1, _ROOM // t.count.size)
    for low in range(0, largest, step):  # several values at a time: of few cells, numpy's calls are the cost
        values = np.arange(low, min(low + step, largest))
        larger = np.cumsum(np.where(t.y > values[:, None], t.count, 0.0), axis=1)
        at = np.flatnonzero((t.y >= low) & (t.y < low + len(values)))
        row, first = t.y[at] - low, start[at]
        larger_before[at] = larger[row, at] - np.where(first > 0, larger[row, first - 1], 0.0)
    return t.total(t.count * larger_before)


def _discordant_by_bits(t: ContingencyTables) -> Floats:
    """Do the same for y with many values: split on one bit of its rank after the other, highest first.

    Two cells differ first in exactly one bit; if they are discordant, the earlier cell has a one there and
    the later a zero. A pass is a cumulative sum and a stable partition: O(cells log cells) in all.
    """
    group, y, count = t.group, _ranks_in_group(t), t.count
    found = np.zeros(t.n_groups)
    bits = int(y.max()).bit_length()
    index = np.arange(y.size)
    for bit in reversed(range(bits)):
        prefix = y >> (bit + 1)
        first = np.flatnonzero(changes(group) | changes(prefix))
        cells = lengths(first, y.size)
        one = (y >> bit & 1).astype(bool)
        ones = np.cumsum(np.where(one, count, 0.0))
        base = np.repeat(np.where(first > 0, ones[first - 1], 0.0), cells)
        found += np.bincount(group, weights=np.where(one, 0.0, count * (ones - base)), minlength=t.n_groups)
        # Stable partition of each stretch: zeros to its front, ones behind them.
        zeros = np.cumsum(~one)
        zeros_before = np.where(first > 0, zeros[first - 1], 0)
        zeros_here = lengths(zeros_before, zeros[-1])
        start, before = np.repeat(first, cells), np.repeat(zeros_before, cells)
        place = np.where(
            one, index - (zeros - before) + np.repeat(zeros_here, cells), start + zeros - before - 1
        )
        y_next, count_next = np.empty_like(y), np.empty_like(count)
        y_next[place], count_next[place] = y, count
        y, count = y_next, count_next
    return found


def _ranks_in_group(t: ContingencyTables) -> Ints:
    """Return the dense rank of y among the values of its group, shape (cells,): as few bits as can be."""
    order = np.lexsort((t.y, t.group))
    group, y = t.group[order], t.y[order]
    fresh = changes(group)
    steps = np.cumsum(changes(y) | fresh)
    first = np.flatnonzero(fresh)
    dense: Ints = steps - np.repeat(steps[first], lengths(first, y.size))
    ranks: Ints = np.empty_like(dense)
    ranks[order] = dense
    return ranks
