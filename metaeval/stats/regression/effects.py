"""Means of generators with the effects of users removed, for many resamples of the users at once.

Some users rate high and some low; where users saw different generators, plain means mix the two. Here the
effects of users are absorbed (within transformation), and the sums that the regression needs are kept by
cluster, so that a resample costs a weighted sum and a small system of equations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.coefficients.tables import labels
from metaeval.stats.resampling.cluster_sums import ratio

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.weighted.sums import Clusters

_BLOCK = 2**20  # numbers in the systems that are solved at a time


@dataclass(frozen=True, slots=True)
class UserAdjusted:
    """Sufficient statistics of the regression value ~ generator + user, by cluster of units."""

    counts: Floats
    """Shape (n_clusters, G): units."""
    sums: Floats
    """Shape (n_clusters, G): sums of values, less ``origin`` each."""
    origin: float
    """The mean of all values."""
    cross: Floats | None
    """Shape (n_clusters, G * (G + 1) / 2): cross-products of the generators' indicators, centred within
    users, the upper triangle row by row; None if no effects are removed."""
    centred: Floats
    """Shape (n_clusters, G): sums of values, centred within users; plain sums if no effects are removed."""

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
        """Collect the statistics of n units.

        Parameters
        ----------
        values
            Shape (n,), finite.
        generator
            Shape (n,), in ``range(n_generators)``.
        clusters
            The units that are resampled together.
        users
            Whether the clusters are users, whose effects are removed.

        Raises
        ------
        ValueError
            If shapes differ, a value is not finite, or a label is out of range.
        """
        v = np.asarray(values, dtype=np.float64)
        if v.ndim != 1 or not np.isfinite(v).all():
            raise ValueError("values must be finite and in one dimension")
        g = labels(generator, n_generators, (v.size,), "generator")
        c = labels(clusters.of_unit, clusters.n, (v.size,), "cluster")

        origin = float(v.mean()) if v.size else 0.0
        v = v - origin  # so that a large offset costs no digits
        cells = c * n_generators + g
        counts = _table(cells, clusters.n, n_generators)
        sums = _table(cells, clusters.n, n_generators, v)
        if not users:
            return cls(counts, sums, origin, None, sums)

        units = np.maximum(np.bincount(c, minlength=clusters.n), 1)
        means = np.bincount(c, weights=v, minlength=clusters.n) / units
        centred = _table(cells, clusters.n, n_generators, v - means[c])
        row, column = np.triu_indices(n_generators)
        cross = counts[:, row] * counts[:, column] / -units[:, None]
        cross[:, row == column] += counts
        return cls(counts, sums, origin, cross, centred)

    def at(self, weights: Floats) -> Floats:
        """Compute the adjusted mean of each generator under each column of weights.

        It is the generator's effect, where the effects of the generators present sum to zero, plus the
        weighted mean of all values: least squares with fixed effects of users, each unit weighted as its
        cluster, which equals entering clusters repeatedly, as users of their own each time. Without users it
        is the weighted mean of the generator's values.

        Parameters
        ----------
        weights
            Shape (n_clusters, columns), at least zero.

        Returns
        -------
        ndarray
            Shape (G, columns). NaN for a generator without a unit of positive weight. A whole column is NaN
            if users do not link the generators present (by a chain of users who saw two of them each): then
            effects of generators cannot be told from effects of users.
        """
        n_clusters, n_generators = self.counts.shape
        found = np.empty((n_generators, weights.shape[1]))
        step = max(1, _BLOCK // max(n_generators**2, n_clusters))
        for start in range(0, weights.shape[1], step):
            found[:, start : start + step] = self._of_block(weights[:, start : start + step].T).T
        return found

    def _of_block(self, w: Floats) -> Floats:
        counts, sums = w @ self.counts, w @ self.sums
        present = counts > 0
        if self.cross is None:
            return ratio(sums, counts) + self.origin
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
        effects = np.linalg.solve(systems, (w @ self.centred)[:, :, None])[:, :, 0]
        total = counts.sum(axis=1)
        grand = ratio(sums.sum(axis=1), total)
        means = effects + (grand + self.origin)[:, None]
        return np.where(present & linked[:, None], means, np.nan)


def top_agreement(a: ArrayLike, b: ArrayLike) -> float:
    """Share of draws in which two sets of means have the same generator on top.

    Parameters
    ----------
    a, b
        Shape (B, G), row by row from the same draws. NaN never is on top; of equal values, the first is. A
        draw without any value in a or b is left out.

    Returns
    -------
    float
        In [0, 1]; NaN if no draw is left.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.ndim != 2 or x.shape != y.shape:
        raise ValueError(f"draws must be matrices of one shape, not of {x.shape} and {y.shape}")
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
