"""Means of generators with the effects of users removed, for many resamples of the users at once.

Some users rate high and some low; where users saw different generators, plain means mix the two. Here the
effects of users are absorbed (within transformation), and the sums that the regression needs are kept by
cluster, so that a resample costs a weighted sum and a small system of equations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import ratio
from metaeval.stats.weighted.sums import Clusters

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
