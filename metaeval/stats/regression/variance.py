"""Variance components of ratings and scores: users, items, generators, and the residual.

The model is y = mean + one random effect for each factor + residual, all independent. Henderson's method I
(Henderson 1953; Searle, Casella & McCulloch 1992, chapter 5) equates sums of squares to their expectations.
It needs neither balanced data nor iteration; `Design` holds what depends on the factors alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import ratio

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
