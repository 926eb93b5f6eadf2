"""Linear regression with fixed effects, for many resamples of the clusters at once.

The regression needs a small matrix of cross-products per cluster. A resample is a weighted sum of these
matrices and a small system of equations. A column that is measured with noise can have an instrument: another
measurement of the same thing, with noise of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats, Ints

_SINGULAR = 1e-9  # determinant of a correlation matrix below which its columns are collinear
_CONSTANT = 1e-12  # share of a column's spread that rounding may leave


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """The coefficient of the first of p columns, from cross-products with p instruments by cluster."""

    cross: Floats
    """Shape (n_clusters, p, p + 1), the response last, everything in units of its spread."""
    spread: Floats
    """Shape (p + 1,): of the columns and the response, 0 for one that is constant within the groups."""

    @classmethod
    def of(
        cls,
        response: Floats,
        columns: Floats,
        cluster: Ints,
        n_clusters: int,
        *,
        effects: Ints | None = None,
        instruments: Floats | None = None,
    ) -> Within:
        """Sum the cross-products of n units.

        Parameters
        ----------
        response, columns
            Shapes (n,) and (p, n), finite.
        cluster
            Shape (n,), in ``range(n_clusters)``.
        effects
            Shape (n,): groups whose fixed effects are removed (within transformation), each inside one
            cluster; None for a regression through the origin.
        instruments
            Shape (p, n): of each column, itself or another measurement of it; None for least squares.
        """
        right, spread = _scaled(np.concatenate([columns, response[None]]), effects)
        left = right[:-1] if instruments is None else _scaled(instruments, effects)[0]
        cross = np.stack(
            [[np.bincount(cluster, z * x, n_clusters) for x in right] for z in left],
        ).transpose(2, 0, 1)
        return cls(np.ascontiguousarray(cross, dtype=np.float64), spread)

    def at(self, weights: Floats) -> Floats:
        """Return the coefficient under each column of weights, shape (1, B).

        NaN where the column is collinear with others or with the effects. Other columns that are constant
        are left out.
        """
        n, p, _ = self.cross.shape
        total = (weights.T @ self.cross.reshape(n, -1)).reshape(-1, p, p + 1)
        count = np.maximum(np.abs(np.einsum("bii->bi", total[:, :, :-1])).max(axis=1, initial=0.0), 1e-300)
        total = total / count[:, None, None]
        system, right = total[:, :, :-1], total[:, :, -1]
        there = np.abs(np.einsum("bii->bi", system)) > _CONSTANT
        both = there[:, :, None] & there[:, None, :]
        system = np.where(both, system, np.eye(p))
        size = np.sqrt(np.abs(np.einsum("bii->bi", system)))
        system = system / (size[:, :, None] * size[:, None, :])
        told = np.abs(np.linalg.det(system)) > _SINGULAR
        system[~told] = np.eye(p)
        found = np.linalg.solve(system, np.where(there, right / size, 0.0)[:, :, None])[:, :, 0] / size
        known = told & there[:, 0] & (self.spread[0] > 0)
        unit = self.spread[-1] / (self.spread[0] or 1.0)
        return np.where(known, found[:, 0] * unit, np.nan)[None]

    def contributions(self) -> Floats:
        """Return what each cluster contributes to the coefficient, shape (n_clusters,).

        That is the column's residual given the others, times the residual of the regression without it,
        scaled to sum to the coefficient (Frisch, Waugh & Lovell). NaN if the coefficient is.
        """
        n, p, _ = self.cross.shape
        if np.isnan(self.at(np.ones((n, 1))))[0, 0]:
            return np.full(n, np.nan)
        total = self.cross.sum(axis=0)
        present = [i for i in range(p) if abs(total[i, i]) > _CONSTANT * np.abs(np.diagonal(total)).max()]
        others = [i for i in present if i != 0]
        freed, residual = np.zeros(p), np.zeros(p + 1)
        freed[present] = np.linalg.inv(total[np.ix_(present, present)])[0]
        residual[-1] = 1.0
        if others:
            residual[others] = -np.linalg.solve(total[np.ix_(others, others)], total[others, -1])
        unit = self.spread[-1] / self.spread[0]
        return np.asarray(np.einsum("i,cij,j->c", freed, self.cross, residual) * unit)


def _scaled(table: Floats, effects: Ints | None) -> tuple[Floats, Floats]:
    """Remove the fixed effects and divide by the remaining spread; zeros where there is none."""
    table = np.asarray(table, dtype=np.float64)
    if not table.shape[1]:
        return table, np.zeros(len(table))
    before = np.sqrt(np.square(table).mean(axis=1))
    if effects is not None:
        counts = np.maximum(np.bincount(effects), 1)
        table = table - np.stack([np.bincount(effects, row) / counts for row in table])[:, effects]
    spread = np.sqrt(np.square(table).mean(axis=1))
    spread = np.where(spread > _CONSTANT * before, spread, 0.0)
    there = spread > 0
    return np.where(there[:, None], table / np.where(there, spread, 1.0)[:, None], 0.0), spread
