"""Coefficients at the levels of a study: over all units, within groups of units, and between group means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.coefficients.grouped import grouped
from metaeval.stats.coefficients.tables import (
    BLOCK,
    Coded,
    ContingencyTables,
    Floats,
    GroupSums,
    Ints,
    encode,
)
from metaeval.stats.resampling.cluster_sums import ratio

Undefined: TypeAlias = Literal["skip", "zero"]


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which group each unit is in."""

    group: Ints
    """Shape (n,), in ``range(n_groups)``."""
    n_groups: int
    between: bool = False
    """Correlate the means of the groups instead of averaging the correlations within them."""

    def take(self, units: Ints | NDArray[np.bool_] | slice) -> Grouping:
        """Return the groups of some of the units."""
        return Grouping(self.group[units], self.n_groups, self.between)


@dataclass(frozen=True, slots=True)
class Estimates:
    """Result for one level and coefficient; arrays have an entry per row of x, shape (rows,)."""

    estimate: Floats
    """Mean over the groups with a defined coefficient; NaN where there is none."""
    n_units: Ints
    n_groups: Ints
    """Groups that hold a unit."""
    n_undefined: Ints
    """Groups among them that have no defined coefficient."""
    terms: Floats
    """Shape (rows, groups): the coefficient of each group, NaN where undefined; no column between groups."""


def estimate(
    x: Floats,
    y: Floats,
    groupings: Mapping[str, Grouping],
    coefficients: Sequence[str],
    *,
    y_row: Ints | None = None,
    mask: NDArray[np.bool_] | None = None,
    undefined: Undefined = "skip",
) -> dict[tuple[str, str], Estimates]:
    """Correlate every row of x with its row of y, at every level: (level, coefficient) → `Estimates`.

    Parameters
    ----------
    x, y
        Scores, shape (rows, n), and truth of the same shape, or (m, n) together with ``y_row``, shape
        (rows,): which row of y belongs to each row of x.
    groupings
        Name of each level → the group of each of the n units.
    coefficients
        Any of ``pearson``, ``spearman``, ``kendall``.
    mask
        Shape (rows, n): units that enter; all if None. Values elsewhere must be finite all the same.
    undefined
        Leave groups without a defined coefficient out of the mean, or count them as zero.
    """
    rows = len(x)
    y_row = np.arange(rows) if y_row is None else y_row
    coded_x, coded_y = encode(x), encode(y)
    of_rows = coded_y.codes if len(coded_y.codes) == 1 == rows else coded_y.codes[y_row]
    first, second = coded_x, Coded(of_rows, coded_y.values)
    if len(first.values) < len(second.values):
        # Kendall's discordant pairs cost one pass per distinct value of the second; all three are symmetric.
        first, second = second, first
    if mask is not None:
        first, second = Coded(first.codes[mask], first.values), Coded(second.codes[mask], second.values)

    within = {level: g for level, g in groupings.items() if not g.between}
    found: dict[tuple[str, str], Estimates] = {}
    if within:
        groups = {level: _groups_of_rows(g, rows, mask) for level, g in within.items()}
        n_groups = [rows * g.n_groups for g in within.values()]
        r, n = _grouped(first, second, list(groups.values()), n_groups, coefficients)
        found = averages(
            r, n, {level: g.n_groups for level, g in within.items()}, rows, coefficients, undefined
        )
    for level, g in groupings.items():
        if g.between:
            for coefficient, result in _between(x, y, y_row, g, coefficients, mask, undefined).items():
                found[level, coefficient] = result
    return found


def _groups_of_rows(g: Grouping, rows: int, mask: NDArray[np.bool_] | None) -> Ints:
    """Return the group of each unit that the mask lets in, numbered on from row to row."""
    group = g.group if rows == 1 else g.group + np.arange(rows, dtype=np.int64)[:, None] * g.n_groups
    if mask is None:
        return group.ravel()
    return group[mask[0]] if rows == 1 else group[mask]


def _grouped(
    x: Coded, y: Coded, groups: Sequence[Ints], n_groups: Sequence[int], coefficients: Sequence[str]
) -> tuple[Floats, Floats]:
    """Compute the coefficients and sizes of the groups of all levels, one level after the other."""
    if x.codes.size * len(groups) <= BLOCK:  # few units: one call for all levels is faster
        stacked = ContingencyTables.stack(
            [ContingencyTables.of(x, y, g, n) for g, n in zip(groups, n_groups, strict=True)]
        )
        return grouped(stacked, coefficients), stacked.n
    r = np.full((len(coefficients), sum(n_groups)), np.nan)
    sizes = np.zeros(sum(n_groups))
    flat_x, flat_y = x.codes.ravel(), y.codes.ravel()
    before = 0
    for group, n in zip(groups, n_groups, strict=True):
        for start, end, low, high in _pieces(group, n):
            part = slice(start, end)
            tables = ContingencyTables.of(
                Coded(flat_x[part], x.values), Coded(flat_y[part], y.values), group[part] - low, high - low
            )
            r[:, before + low : before + high] = grouped(tables, coefficients)
            sizes[before + low : before + high] = tables.n
        before += n
    return r, sizes


def _pieces(group: Ints, n_groups: int) -> Iterator[tuple[int, int, int, int]]:
    """Cut units into stretches of whole groups: first unit, end, first group, end of the groups.

    There is one stretch unless the groups come in order, as users and pairs do in units sorted by user.
    """
    if (group[1:] < group[:-1]).any():
        yield 0, len(group), 0, n_groups
        return
    start = 0
    while start < len(group):
        end = int(np.searchsorted(group, group[min(start + BLOCK, len(group)) - 1], side="right"))
        yield start, end, int(group[start]), int(group[end - 1]) + 1
        start = end


def averages(  # noqa: PLR0917 - what `estimate` has at hand, passed on
    r: Floats,
    n: Floats,
    n_groups: Mapping[str, int],
    rows: int,
    coefficients: Sequence[str],
    undefined: Undefined,
) -> dict[tuple[str, str], Estimates]:
    """Average the coefficients of the groups of each row, at all levels in one go."""
    groups_of_row = np.repeat(list(n_groups.values()), rows)
    start = np.cumsum(groups_of_row) - groups_of_row  # levels × rows, one after the other
    defined = ~np.isnan(r)
    n_units = np.add.reduceat(n, start).astype(np.int64)
    n_there = np.add.reduceat(n > 0, start, dtype=np.int64)
    n_defined = np.add.reduceat(defined, start, axis=1, dtype=np.int64)
    total = np.add.reduceat(np.where(defined, r, 0.0), start, axis=1)
    divisor = n_defined if undefined == "skip" else np.broadcast_to(n_there, n_defined.shape)
    mean = ratio(total, divisor)
    found = {}
    for i, level in enumerate(n_groups):
        at = slice(i * rows, (i + 1) * rows)
        for j, coefficient in enumerate(coefficients):
            first = int(start[i * rows])
            terms = r[j, first : first + rows * n_groups[level]].reshape(rows, -1)
            found[level, coefficient] = Estimates(
                mean[j, at], n_units[at], n_there[at], n_there[at] - n_defined[j, at], terms
            )
    return found


def _between(  # noqa: PLR0917 - the arguments of `estimate`, passed on
    x: Floats,
    y: Floats,
    y_row: Ints,
    g: Grouping,
    coefficients: Sequence[str],
    mask: NDArray[np.bool_] | None,
    undefined: Undefined,
) -> dict[str, Estimates]:
    """Correlate exact group means, one coefficient per row."""
    rows = len(x)
    x_means, y_means = np.empty((2, rows, g.n_groups))
    counts = np.empty((rows, g.n_groups), dtype=np.int64)
    shared: dict[int, Floats] = {}
    for row in range(rows):
        units = slice(None) if mask is None else mask[row]
        group = g.group[units]
        sums = GroupSums.of(x[row, units], group, g.n_groups)
        x_means[row], counts[row] = sums.means(), sums.counts
        of_y = int(y_row[row])
        if mask is not None or of_y not in shared:
            shared[of_y] = GroupSums.of(y[of_y, units], group, g.n_groups).means()
        y_means[row] = shared[of_y]
    return of_means(x_means, y_means, counts, coefficients, undefined)


def of_means(
    x_means: Floats, y_means: Floats, counts: Ints, coefficients: Sequence[str], undefined: Undefined
) -> dict[str, Estimates]:
    """Correlate the means of groups in each row; groups whose number of units is 0 have none."""
    rows = len(counts)
    there = counts > 0
    a = encode(np.where(there, x_means, 0.0))
    b = encode(np.where(there, y_means, 0.0))
    row_of = np.broadcast_to(np.arange(rows)[:, None], there.shape)[there]
    tables = ContingencyTables.of(
        Coded(a.codes[there], a.values), Coded(b.codes[there], b.values), row_of, rows
    )
    n_groups = there.sum(axis=1)
    found = {}
    for coefficient, r in zip(coefficients, grouped(tables, coefficients), strict=True):
        result = np.where(np.isnan(r) & (n_groups > 0), 0.0, r) if undefined == "zero" else r
        found[coefficient] = Estimates(
            result, counts.sum(axis=1), n_groups, np.where(np.isnan(r), n_groups, 0), np.empty((rows, 0))
        )
    return found
