"""What the users of one part of a study add to each estimate; parts are summed.

Levels whose groups lie within users add means of coefficients. At the others parts add contingency tables, or
moments where scores are not on a scale, and the means of generators add exact sums.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from metaeval.engine.correlation import estimates
from metaeval.stats.coefficients.exact import GroupSums
from metaeval.stats.coefficients.grouped import grouped
from metaeval.stats.coefficients.levels import Estimates, averages, of_means
from metaeval.stats.coefficients.tables import ContingencyTables, encode
from metaeval.stats.resampling.cluster_sums import ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.engine.alignment.policy import Policy, Prepared
    from metaeval.stats.coefficients.tables import Floats, Ints

_COUNTS = ("n_units", "n_groups", "n_undefined")


@dataclass
class Sums:
    """Sums of R rows, an aspect of an evaluator each, over the parts of a study."""

    policy: Policy
    n_rows: int
    on_scale: bool
    within: dict[tuple[str, str], Floats] = field(default_factory=dict)
    """(level, coefficient) → sum of the coefficients of groups, then the counts, shape (R, 4)."""
    cells: dict[str, list[Floats]] = field(default_factory=lambda: defaultdict(list))
    """Level → parts of tables or of moments, shape (cells, columns): row, group, and what `_cells` gives."""
    means: dict[str, dict[tuple[int, int], tuple[Fraction, Fraction, int]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """Level between groups → row and group → sums of x and y, and the number of units."""
    groups: dict[str, dict[object, int]] = field(default_factory=lambda: defaultdict(dict))
    """Level → what a group is called → its number."""

    def add(self, data: Prepared, rows: Ints, nested: Sequence[str]) -> None:
        """Add the scores of one part; ``rows`` are the rows of its aspects of evaluators, shape (E, A)."""
        if nested:
            self._add_within(data, rows.ravel(), nested)
        for level in self.policy.levels:
            if level in nested:
                continue
            g, columns = data.groupings[level], data.levels[level].columns
            known = self.groups[level]
            names = data.labels[columns[0]] if columns else [None]
            number = np.array([known.setdefault(name, len(known)) for name in names])
            for e, a in np.ndindex(rows.shape):
                units = data.units(e, a)
                x, y, group = data.scores[e, a, units], data.truth[a, units], number[g.group[units]]
                if not len(x):
                    continue
                if g.between:
                    self._add_means(level, int(rows[e, a]), x, y, group)
                else:
                    cells = (_cells if self.on_scale else _moments)(x, y, group)
                    self.cells[level].append(np.column_stack([np.full(len(cells), rows[e, a]), cells]))

    def _add_within(self, data: Prepared, rows: Ints, nested: Sequence[str]) -> None:
        groupings = {level: data.groupings[level] for level in nested}
        found = estimates(
            replace(data, policy=replace(data.policy, levels=tuple(nested)), groupings=groupings)
        )
        for key, of in found.items():
            sums = self.within.setdefault(key, np.zeros((self.n_rows, 4)))
            total = np.where(np.isnan(of.terms), 0.0, of.terms).sum(axis=1)
            sums[rows] += np.column_stack([total, *(getattr(of, count) for count in _COUNTS)])

    def _add_means(self, level: str, row: int, x: Floats, y: Floats, group: Ints) -> None:
        n_groups = int(group.max()) + 1
        of_x, of_y = (GroupSums.of(v, group, n_groups) for v in (x, y))
        known = self.means[level]
        for g, (sum_x, sum_y, n) in enumerate(zip(of_x.sums, of_y.sums, of_x.counts, strict=True)):
            if n:
                before = known.get((row, g), (Fraction(0), Fraction(0), 0))
                known[row, g] = before[0] + sum_x, before[1] + sum_y, before[2] + n

    def estimates(self) -> dict[tuple[str, str], Estimates]:
        """Return the estimates of the whole."""
        policy, none = self.policy, np.empty((self.n_rows, 0))
        found = {}
        for key, (total, *counts) in ((k, v.T) for k, v in self.within.items()):
            n_units, n_groups, n_undefined = (count.astype(np.int64) for count in counts)
            divisor = n_groups - (n_undefined if policy.undefined == "skip" else 0)
            found[key] = Estimates(ratio(total, divisor), n_units, n_groups, n_undefined, none)
        for level in policy.levels:
            n_groups = max(1, len(self.groups[level]))
            if level in self.means:
                found |= {(level, c): of for c, of in self._of_means(level, n_groups).items()}
            elif (level, policy.coefficients[0]) not in found:
                r, n = self._of_cells(level, n_groups)
                found |= averages(r, n, {level: n_groups}, self.n_rows, policy.coefficients, policy.undefined)
        return found

    def _of_means(self, level: str, n_groups: int) -> dict[str, Estimates]:
        x, y = np.full((2, self.n_rows, n_groups), np.nan)
        counts = np.zeros((self.n_rows, n_groups), dtype=np.int64)
        for at, (sum_x, sum_y, n) in self.means[level].items():
            x[at], y[at], counts[at] = float(sum_x / n), float(sum_y / n), n
        return of_means(x, y, counts, self.policy.coefficients, self.policy.undefined)

    def _of_cells(self, level: str, n_groups: int) -> tuple[Floats, Floats]:
        """Return coefficients, shape (coefficients, R n_groups), and the sizes of groups."""
        size = self.n_rows * n_groups
        if not self.cells[level]:
            return np.full((len(self.policy.coefficients), size), np.nan), np.zeros(size)
        row, group, *rest = np.concatenate(self.cells[level]).T
        place = (row * n_groups + group).astype(np.int64)
        return (self._of_tables if self.on_scale else self._of_moments)(place, size, *rest)

    def _of_tables(
        self, place: Ints, size: int, x: Floats, y: Floats, count: Floats
    ) -> tuple[Floats, Floats]:
        tables = ContingencyTables.merged(encode(x), encode(y), place, count, size)
        return grouped(tables, self.policy.coefficients), np.asarray(
            np.bincount(place, count, size), np.float64
        )

    def _of_moments(self, place: Ints, size: int, *moments: Floats) -> tuple[Floats, Floats]:
        """Merge the moments of parts (Chan, Golub & LeVeque 1983)."""
        n, mean_x, mean_y, xx, yy, xy, *ends = moments

        def total(values: Floats) -> Floats:
            return np.asarray(np.bincount(place, values, size), dtype=np.float64)

        whole = total(n)
        dx, dy = (m - ratio(total(n * m), whole)[place] for m in (mean_x, mean_y))
        vx, vy, covariance = total(xx + n * dx * dx), total(yy + n * dy * dy), total(xy + n * dx * dy)
        varies = np.ones(size, dtype=bool)
        for low, high in (ends[:2], ends[2:]):
            least, most = np.full(size, np.inf), np.full(size, -np.inf)
            np.minimum.at(least, place, low)
            np.maximum.at(most, place, high)
            varies &= least < most
        with np.errstate(divide="ignore", invalid="ignore"):
            r = np.where(varies, covariance / np.sqrt(vx * vy), np.nan)
        return np.clip(r, -1.0, 1.0)[None], whole


def _cells(x: Floats, y: Floats, group: Ints) -> Floats:
    """Return the cells of a table: group, x, y, count."""
    t = ContingencyTables.of(encode(x), encode(y), group, int(group.max()) + 1)
    return np.column_stack([t.group, t.x_values[t.x], t.y_values[t.y], t.count])


def _moments(x: Floats, y: Floats, group: Ints) -> Floats:
    """Return by group: its number, n, means, sums of squares and of products about them, and the ends."""
    there, of = np.unique(group, return_inverse=True)
    n = np.bincount(of).astype(np.float64)
    means = [np.bincount(of, v) / n for v in (x, y)]
    dx, dy = (v - m[of] for v, m in zip((x, y), means, strict=True))
    squares = [np.bincount(of, a * b) for a, b in ((dx, dx), (dy, dy), (dx, dy))]
    ends = []
    for v in (x, y):
        for end, nothing in ((np.minimum, np.inf), (np.maximum, -np.inf)):
            ends.append(np.full(len(there), nothing))
            end.at(ends[-1], of, v)
    return np.column_stack([there, n, *means, *squares, *ends])
