"""Coefficients of groups with units of several clusters, such as all units when users are resampled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metaeval.stats.coefficients.levels import Grouping, Undefined
from metaeval.stats.coefficients.tables import Floats, Ints, distinct, encode
from metaeval.stats.resampling.cluster_sums import ratio
from metaeval.stats.weighted.ranks import ByCell, Ranked, ranked_of
from metaeval.stats.weighted.sums import Clusters, Matrix, by_cluster, dense, in_blocks

_ROUNDING = 1e-13  # a variance below this share of the mean square is what rounding left of zero


@dataclass(frozen=True, slots=True)
class Crossed:
    """A mean over groups whose units lie in several clusters: their coefficients change with the weights."""

    moments: Moments
    ranked: Ranked | None
    """None if no rank coefficient is asked for, or there is no unit."""
    present: Ints
    """Groups that hold a unit."""
    coefficients: tuple[str, ...]
    undefined: Undefined

    @classmethod
    def of(
        cls,
        x: Floats,
        y: Floats,
        grouping: Grouping,
        clusters: Clusters,
        coefficients: tuple[str, ...],
        *,
        undefined: Undefined,
    ) -> Crossed:
        """Sum up units with values x and y, shape (n,), by group and cluster."""
        present, group = distinct(grouping.group)
        a, b = (encode(v).codes[0].astype(np.int64) for v in (x, y))
        wanted = {c: c in coefficients for c in ("spearman", "kendall")}
        ranked = ranked_of(a, b, group, clusters, **wanted) if len(x) else None
        moments = Moments.of(x, y, grouping, clusters, undefined)
        return cls(moments, ranked, present, coefficients, undefined)

    def at(self, weights: Floats) -> Floats:
        """Return the mean over groups of each coefficient, shape (coefficients, columns)."""
        if self.ranked is None:
            return np.full((len(self.coefficients), weights.shape[1]), np.nan)
        return in_blocks(self._at, weights, max(self.ranked.rows, self.moments.rows))

    def influence(self) -> Floats | None:
        """Return the derivatives by the clusters' weights, at one, of coefficients over all units.

        None of other levels: groups of few units appear and vanish with a cluster, so the mean over them is
        not smooth enough.
        """
        if len(self.present) != 1 or not isinstance(self.ranked, ByCell):
            return None
        of_ranks = self.ranked.influence
        found = [self.moments.derivatives() if c == "pearson" else of_ranks(c) for c in self.coefficients]
        return np.nan_to_num(found) if self.undefined == "zero" else np.stack(found)

    def _at(self, weights: Floats) -> Floats:
        sums = self.moments.sums(weights)
        n = sums[: self.moments.n_groups][self.present]
        found = np.full((len(self.coefficients), weights.shape[1]), np.nan)
        wanted = {c: c in self.coefficients for c in ("spearman", "kendall")}
        with np.errstate(divide="ignore", invalid="ignore"):
            of_groups = self.ranked.at(weights, n, **wanted) if self.ranked is not None else {}
        for row, coefficient in enumerate(self.coefficients):
            if coefficient == "pearson":
                found[row] = self.moments.of_sums(sums)
            else:
                found[row] = _mean(np.clip(of_groups[coefficient], -1.0, 1.0), n, self.undefined)
        return found


@dataclass(frozen=True, slots=True)
class Moments:
    """Pearson's r in groups with units of several clusters, from weighted sums of powers."""

    powers: Matrix
    """Shape (6 groups, n_clusters): n, then sums of x, y, x², y² and xy."""
    n_groups: int
    undefined: Undefined
    noise: float
    """Rounding error of a variance per unit, where sums were added and subtracted."""

    @classmethod
    def of(
        cls,
        x: Floats,
        y: Floats,
        grouping: Grouping,
        clusters: Clusters,
        undefined: Undefined,
        *,
        addable: bool = False,
    ) -> Moments:
        """Sum powers of the values, centred and scaled first unless the sums are to be added."""
        group, n_groups = grouping.group.astype(np.int64), grouping.n_groups
        if not addable:
            x, y = (_centred(v, group, n_groups) for v in (x, y))
        values = np.stack([np.ones(len(x)), x, y, x * x, y * y, x * y])
        noise = _ROUNDING if addable else 0.0
        return cls(by_cluster(values, group, n_groups, clusters), n_groups, undefined, noise)

    @property
    def rows(self) -> int:
        """Number of sums."""
        return 6 * self.n_groups

    def at(self, weights: Floats) -> Floats:
        """Return the mean over groups of Pearson's r, shape (1, columns)."""
        return in_blocks(lambda w: self.of_sums(self.sums(w)), weights, self.rows)

    def sums(self, weights: Matrix) -> Floats:
        """Return the weighted sums, shape (rows, columns)."""
        return dense(self.powers @ weights)

    def derivatives(self) -> Floats:
        """Return the derivatives of Pearson's r over all units by the clusters' weights, shape (n_clusters,).

        With standardised values z of n units, a unit adds (z_x z_y − r (z_x² + z_y²) / 2) / n (Hampel 1974).
        """
        n, x, y, xx, yy, xy = dense(self.powers).reshape(6, self.n_groups, -1).sum(axis=1)
        mx, my = x.sum() / n.sum(), y.sum() / n.sum()
        vx, vy = xx - 2 * mx * x + mx * mx * n, yy - 2 * my * y + my * my * n
        vxy = xy - mx * y - my * x + mx * my * n
        sx, sy = vx.sum(), vy.sum()
        if sx <= _ROUNDING * xx.sum() or sy <= _ROUNDING * yy.sum():
            return np.full(len(n), np.nan)
        root = np.sqrt(sx * sy)
        slope: Floats = vxy / root - vxy.sum() / root / 2 * (vx / sx + vy / sy)
        return slope

    def of_sums(self, sums: Floats) -> Floats:
        """Return the mean over groups of Pearson's r from weighted sums, shape (1, columns)."""
        n, x, y, xx, yy, xy = sums.reshape(6, self.n_groups, -1)
        with np.errstate(divide="ignore", invalid="ignore"):
            vx, vy = xx - x * x / n, yy - y * y / n
            r: Floats = (xy - x * y / n) / np.sqrt(vx * vy)
        r[(vx <= _ROUNDING * xx + self.noise * n) | (vy <= _ROUNDING * yy + self.noise * n)] = np.nan
        return _mean(np.clip(r, -1.0, 1.0), n, self.undefined)[None]


def _centred(values: Floats, group: Ints, n_groups: int) -> Floats:
    """Return values less their group's mean, scaled so that squares stay in range and no digits are lost."""
    v = values / (np.abs(values).max(initial=0.0) or 1.0)
    v -= (np.bincount(group, v, n_groups) / np.maximum(1, np.bincount(group, minlength=n_groups)))[group]
    scaled: Floats = v / (np.abs(v).max(initial=0.0) or 1.0)
    return scaled


def _mean(r: Floats, n: Floats, undefined: Undefined) -> Floats:
    """Average over the groups that have units, or over those with a defined coefficient."""
    defined = np.isfinite(r)
    counted = (defined if undefined == "skip" else n > 0).sum(axis=0)
    total = np.where(defined, r, 0.0).sum(axis=0)
    return ratio(total, counted)


MOST = 256
"""Pairs of values up to which they are counted: a scale of 16 points against another one."""


@dataclass(frozen=True, slots=True)
class CellCounts:
    """A rank coefficient of units whose x and y have few values."""

    x: Floats
    """Shape (cells,)."""
    y: Floats
    by_cluster: Matrix
    """Shape (cells, n_clusters): units of each cluster."""
    coefficient: str
    undefined: Undefined

    @classmethod
    def of(
        cls, x: Floats, y: Floats, clusters: Clusters, coefficient: str, undefined: Undefined
    ) -> CellCounts | None:
        """Count units with values x and y, shape (n,); None if they have many."""
        a, b = (encode(v).codes[0].astype(np.int64) for v in (x, y))
        cells, cell = distinct(a * (int(b.max(initial=0)) + 1) + b)
        if not 0 < len(cells) <= MOST:
            return None
        example = np.empty(len(cells), dtype=np.int64)
        example[cell] = np.arange(len(x))
        counts = by_cluster(np.ones(len(x)), cell, len(cells), clusters)
        return cls(x[example], y[example], counts, coefficient, undefined)

    def at(self, weights: Floats) -> Floats:
        """Return the coefficient under each column of weights, shape (1, columns)."""
        return self.of_sums(self.sums(weights))

    def sums(self, weights: Matrix) -> Floats:
        """Return the weighted counts, shape (cells, columns)."""
        return dense(self.by_cluster @ weights)

    def of_sums(self, sums: Floats) -> Floats:
        """Return the coefficient of counts, shape (1, columns)."""
        # A cell is a cluster of one unit, and its count the weight.
        n = len(self.x)
        each, together = Clusters(np.arange(n), n), Grouping(np.zeros(n, dtype=np.int64), 1)
        return Crossed.of(self.x, self.y, together, each, (self.coefficient,), undefined=self.undefined).at(
            sums
        )
