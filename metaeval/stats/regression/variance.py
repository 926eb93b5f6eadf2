"""Variance components of ratings and scores: users, items, generators, and the residual.

The model is y = mean + one random effect for each factor + residual, all independent. Henderson's method I
(Henderson 1953; Searle, Casella & McCulloch 1992, chapter 5) equates sums of squares to their expectations.
It needs neither balanced data nor iteration; `Design` holds what depends on the factors alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import ratio
from metaeval.stats.weighted.sums import Clusters

RESIDUAL = "residual"
MEAN = "mean"

_SINGULAR = 1e-9  # relative to the largest singular value of the scaled system


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Variance components; the arrays have one entry per row of values, or shape () for a single row."""

    components: dict[str, Floats]
    """Name of each factor, and ``residual`` → estimate in squared units of the values; can be negative.

    NaN where the design does not tell it apart: see `Design`.
    """
    shares: dict[str, Floats]
    """Components over their sum, with negative ones taken as 0.

    They sum to 1, leaving NaN of merged factors out. All are NaN where a component is undetermined, or where
    there is no variance.
    """
    design: Design


@dataclass(frozen=True, slots=True)
class Design:
    """What depends on the factors alone, for any number of rows of values."""

    codes: dict[str, Ints]
    """Level of each unit, shape (n,), of the factors that are estimated."""
    sizes: dict[str, Floats]
    """Units of each level."""
    solver: Floats
    """Shape (estimated factors + 1, the same): sums of squares → components, ``residual`` last."""
    merged: dict[str, str]
    """Factor with a component of NaN → the name whose component holds its variance too.

    Another factor, if both group the units alike; ``residual``, if every unit is a level of its own;
    ``mean``, if there is one level only: then its variance shows nowhere.
    """
    undetermined: tuple[str, ...]
    """Further components that are NaN: together, the factors leave no way to tell them apart."""
    n_units: int
    n_levels: dict[str, int]

    @classmethod
    def of(cls, factors: Mapping[str, ArrayLike]) -> Design:
        """Count units by level, and by pairs of levels.

        ``factors`` has integer codes of shape (n,) by name. An interaction is a factor of its own, with one
        code for each combination.
        """
        codes = {name: np.unique(given, return_inverse=True)[1] for name, given in factors.items()}
        n = len(next(iter(codes.values())))
        sizes = {name: np.bincount(c).astype(np.float64) for name, c in codes.items()}
        n_levels = {name: len(s) for name, s in sizes.items()}
        merged = {name: MEAN if m == 1 else RESIDUAL for name, m in n_levels.items() if m in {1, n}}
        names = [name for name in codes if name not in merged]
        between: dict[tuple[str, str], float] = {}
        for i, f in enumerate(names):
            for h in names[:i]:
                if f in merged or h in merged:
                    continue
                cell_f, cell_h, count = _cells(codes[f], codes[h], n_levels[f], n_levels[h])
                if len(count) == n_levels[f] == n_levels[h]:
                    merged[f] = h
                between[f, h] = float((count**2 / sizes[f][cell_f]).sum())
                between[h, f] = float((count**2 / sizes[h][cell_h]).sum())
        names = [name for name in names if name not in merged]
        solver, lost = _solver(names, between, sizes, n)
        return cls(
            codes={name: codes[name] for name in names},
            sizes={name: sizes[name] for name in names},
            solver=solver,
            merged=merged,
            undetermined=tuple(np.array([*names, RESIDUAL])[lost].tolist()),
            n_units=n,
            n_levels=n_levels,
        )

    def decompose(self, values: ArrayLike) -> Decomposition:
        """Estimate the components of each row of values, shape (n,) or (rows, n), finite."""
        given = np.asarray(values, dtype=np.float64)
        rows = np.atleast_2d(given)
        # The sums of squares below do not depend on the mean. Taken off, N · mean² is zero in all of them.
        centred = rows - rows.mean(axis=1, keepdims=True)
        centred[rows.max(axis=1) == rows.min(axis=1)] = 0.0  # what rounding left of a constant
        squares = np.empty((len(rows), len(self.codes) + 1))
        for column, name in enumerate(self.codes):
            code, size = self.codes[name], self.sizes[name]
            for row, v in enumerate(centred):
                total = np.bincount(code, weights=v, minlength=len(size))
                squares[row, column] = (total**2 / size).sum()
        squares[:, -1] = np.square(centred).sum(axis=1)
        estimates = squares @ self.solver.T
        positive = np.maximum(estimates, 0.0)
        shares = ratio(positive, positive.sum(axis=1, keepdims=True))
        order = [*self.n_levels, RESIDUAL]
        return Decomposition(
            components=self._named(estimates, order, given.shape[:-1]),
            shares=self._named(shares, order, given.shape[:-1]),
            design=self,
        )

    def _named(self, columns: Floats, order: list[str], shape: tuple[int, ...]) -> dict[str, Floats]:
        known = dict(zip([*self.codes, RESIDUAL], columns.T, strict=True))
        unknown = np.full(len(columns), np.nan)
        return {name: known.get(name, unknown).reshape(shape) for name in order}


def _cells(f: Ints, h: Ints, n_f: int, n_h: int) -> tuple[Ints, Ints, Floats]:
    """Return both levels and the number of units of each combination that occurs."""
    key = f.astype(np.int64) * n_h + h
    if n_f * n_h <= max(4 * len(key), 4096):
        counts = np.bincount(key, minlength=n_f * n_h)
        cells: Ints = np.flatnonzero(counts)
        counts = counts[cells]
    else:
        cells, counts = np.unique(key, return_counts=True)
    return cells // n_h, cells % n_h, counts.astype(np.float64)


def _solver(
    names: list[str], between: dict[tuple[str, str], float], sizes: dict[str, Floats], n: int
) -> tuple[Floats, Ints]:
    """Return the matrix that turns sums of squares into components, and the components that it cannot tell.

    The row of factor f says what E[T_f − N · mean²] takes of each component: of factor h, the sum over cells
    of n_cell² / n_level of f, less the sum of n_level² / N of h; of the residual, levels − 1.
    """
    k = len(names)
    expected = np.full((k + 1, k + 1), float(n))
    for i, f in enumerate(names):
        for j, h in enumerate(names):
            if i != j:
                expected[i, j] = between[f, h]
        expected[i, k] = len(sizes[f])
    expected -= np.array([*((sizes[h] ** 2).sum() / n for h in names), 1.0])
    # Rows as mean squares and columns of one size: then the singular values can be compared.
    by_row = 1 / np.array([*(len(sizes[f]) - 1 for f in names), max(n - 1, 1)], dtype=np.float64)
    scaled = expected * by_row[:, None]
    by_column = 1 / np.maximum(np.abs(scaled).max(axis=0), np.finfo(float).tiny)
    u, s, v = np.linalg.svd(scaled * by_column)
    kept = s > _SINGULAR * max(s[0], np.finfo(float).tiny)
    lost = np.flatnonzero((np.abs(v[~kept]) > np.sqrt(_SINGULAR)).any(axis=0))
    inverse = (v[kept].T / s[kept]) @ u[:, kept].T
    solver = by_column[:, None] * inverse * by_row
    solver[lost] = np.nan
    return solver, lost


_BLOCK = 2**20  # numbers in the systems that are solved at a time


@dataclass(frozen=True, slots=True)
class UserAdjusted:
    """Sufficient statistics of the regression value ~ generator + user, by cluster of units."""

    counts: Floats
    """Shape (n_clusters, G): units."""
    sums: Floats
    """Shape (n_clusters, V * G): sums of values, less ``origin`` each."""
    origin: Floats
    """Shape (V,): the mean of all values."""
    cross: Floats | None
    """Shape (n_clusters, G * (G + 1) / 2): cross-products of the generators' indicators, centred within
    users, the upper triangle row by row; None if no effects are removed."""
    centred: Floats
    """Shape (n_clusters, V * G): ``sums`` of values that are centred within users, if effects are removed."""

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        generator: ArrayLike,
        n_generators: int,
        clusters: Clusters,
        *,
        users: bool = True,
    ) -> UserAdjusted:
        """Collect the statistics of finite values, shape (n,), or (V, n) for several values of each unit.

        ``generator`` has shape (n,), in ``range(n_generators)``; ``users`` says whether the clusters are
        users, whose effects are removed.
        """
        v = np.atleast_2d(np.asarray(values, dtype=np.float64))
        n_units, g, c = v.shape[1], np.asarray(generator, dtype=np.int64), clusters.of_unit
        origin = v.mean(axis=1) if n_units else np.zeros(len(v))
        v = v - origin[:, None]  # so that a large offset costs no digits
        cells = c * n_generators + g
        counts = _table(cells, clusters.n, n_generators)
        sums = np.hstack([_table(cells, clusters.n, n_generators, own) for own in v])
        if not users:
            return cls(counts, sums, origin, None, sums)

        units = np.maximum(np.bincount(c, minlength=clusters.n), 1)
        means = np.stack([np.bincount(c, weights=own, minlength=clusters.n) / units for own in v])
        centred = np.hstack([_table(cells, clusters.n, n_generators, own) for own in v - means[:, c]])
        row, column = np.triu_indices(n_generators)
        cross = counts[:, row] * counts[:, column] / -units[:, None]
        cross[:, row == column] += counts
        return cls(counts, sums, origin, cross, centred)

    def at(self, weights: Floats) -> Floats:
        """Compute the adjusted mean of each generator under columns of weights, shape (n_clusters, columns).

        It is the generator's effect, where the effects of the generators present sum to zero, plus the
        weighted mean of all values: least squares with fixed effects of users, each unit weighted as its
        cluster, which equals entering clusters repeatedly, as users of their own each time. Without users it
        is the weighted mean of the generator's values.

        Returns
        -------
        ndarray
            Shape (V * G, columns). NaN for a generator without a unit of positive weight. A whole column is
            NaN if users do not link the generators present (by a chain of users who saw two of them each):
            then effects of generators cannot be told from effects of users.
        """
        n_clusters, n_generators = self.counts.shape
        found = np.empty((self.sums.shape[1], weights.shape[1]))
        step = max(1, _BLOCK // max(n_generators**2, n_clusters))
        for start in range(0, weights.shape[1], step):
            found[:, start : start + step] = self._of_block(weights[:, start : start + step].T).T
        return found

    def _of_block(self, w: Floats) -> Floats:
        by_generator = (len(w), len(self.origin), self.counts.shape[1])
        counts, sums = w @ self.counts, (w @ self.sums).reshape(by_generator)
        present = counts > 0
        if self.cross is None:
            return (ratio(sums, counts[:, None]) + self.origin[:, None]).reshape(len(w), -1)
        systems = _symmetric(w @ self.cross, counts.shape[1])
        linked = _linked(systems < 0, present)
        # The rows of a system sum to zero: one number added everywhere makes it regular and its solution sum
        # to zero. A number in proportion to the diagonal keeps the system well conditioned.
        both = present[:, :, None] & present[:, None, :]
        scale = np.trace(systems, axis1=1, axis2=2) / np.maximum(present.sum(axis=1), 1) ** 2
        systems += both * np.where(scale > 0, scale, 1.0)[:, None, None]
        diagonal = np.einsum("bii->bi", systems)
        diagonal[~present] = 1.0
        systems[~linked] = np.eye(counts.shape[1])
        centred = (w @ self.centred).reshape(by_generator)
        effects = np.linalg.solve(systems, centred.swapaxes(1, 2)).swapaxes(1, 2)
        grand = ratio(sums.sum(axis=2), counts.sum(axis=1)[:, None])
        means = effects + (grand + self.origin)[:, :, None]
        return np.where((present & linked[:, None])[:, None], means, np.nan).reshape(len(w), -1)


def top_agreement(a: ArrayLike, b: ArrayLike) -> float:
    """Share of draws, shape (B, G) from the same resamples, in which two sets of means have the same on top.

    NaN never is on top; of equal values, the first is. A draw without any value in a or b is left out; NaN if
    no draw is left.
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    there = ~(np.isnan(x).all(axis=1) | np.isnan(y).all(axis=1))
    if not there.any():
        return float("nan")
    tops = [np.where(np.isnan(m), -np.inf, m)[there].argmax(axis=1) for m in (x, y)]
    return float((tops[0] == tops[1]).mean())


def _table(cells: Ints, rows: int, columns: int, values: Floats | None = None) -> Floats:
    """Sum values (or count) by cell, shape (rows, columns)."""
    table = np.bincount(cells, weights=values, minlength=rows * columns)
    return table.reshape(rows, columns).astype(np.float64, copy=False)


def _symmetric(triangles: Floats, n: int) -> Floats:
    """Unfold upper triangles, shape (B, n * (n + 1) / 2), to matrices, shape (B, n, n)."""
    row, column = np.triu_indices(n)
    place = np.empty((n, n), dtype=np.int64)
    place[row, column] = place[column, row] = np.arange(row.size)
    return np.take(triangles, place, axis=1)


def _linked(neighbours: NDArray[np.bool_], present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say of each graph, shape (B, n, n), if its nodes present, shape (B, n), hang together."""
    reached = np.zeros_like(present)
    reached[np.arange(len(present)), present.argmax(axis=1)] = True
    while True:
        further = reached | (neighbours & reached[:, :, None]).any(axis=1)
        if (further == reached).all():
            break
        reached = further
    return np.asarray((reached | ~present).all(axis=1))
