"""Moments of K judges and the truth, and Pearson's r of every subset's mean from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metaeval.stats.coefficients.tables import Floats, Ints

MOST_JUDGES = 16
"""Judges whose subsets, 65,535, can be enumerated."""

BLOCK = 2**20  # numbers worked with at a time, so that they stay in the cache
ROUNDING = 1e-13  # a variance below this share of its terms is a rounding error


def every_subset(n_judges: int) -> NDArray[np.bool_]:
    """Return who is in each subset of one judge or more, shape (2^n − 1, n).

    Row i holds the bits of i + 1: judge j alone is row 2^j − 1, all judges are the last row.

    Raises `ValueError` if there are no judges, or more than `MOST_JUDGES`.
    """
    if not 1 <= n_judges <= MOST_JUDGES:
        raise ValueError(f"subsets of {n_judges} judges cannot be enumerated: give 1 to {MOST_JUDGES}")
    bits: NDArray[np.bool_] = (np.arange(1, 2**n_judges)[:, None] >> np.arange(n_judges) & 1) == 1
    return bits


@dataclass(frozen=True, slots=True)
class Covariances:
    """Sums of products about the mean, a column per group or resample."""

    judges: Floats
    """Shape (K (K + 1) / 2, columns): the upper triangle, row by row."""
    with_truth: Floats
    """Shape (K, columns)."""
    truth: Floats
    """Shape (columns,): 0 where the truth is constant."""
    spread: Floats
    """Shape (K, columns): the root of what a judge's variance was added up from."""


def pearson_of_subsets(c: Covariances, subsets: Ints | None) -> Floats:
    """Return r of each subset in each column, shape (subsets, columns); NaN where it is undefined."""
    chosen = _chosen(len(c.with_truth), subsets)
    found = np.empty((len(chosen), len(c.truth)))
    step = max(1, BLOCK // max(1, len(c.truth)))
    for at in range(0, len(chosen), step):
        part = chosen[at : at + step]
        variance = _products(part) @ c.judges
        least = part @ c.spread
        least *= least
        least *= ROUNDING
        with np.errstate(divide="ignore", invalid="ignore"):
            r = part @ c.with_truth
            defined = (variance > least) & (c.truth > 0)
            r /= np.sqrt(np.where(defined, variance * c.truth, np.nan))
        np.clip(r, -1.0, 1.0, out=found[at : at + step])
    return found


def _chosen(k: int, subsets: Ints | None) -> Floats:
    members = every_subset(k)
    return (members if subsets is None else members[subsets]).astype(np.float64)


def _products(chosen: Floats) -> Floats:
    """Return how often each product of two judges is in the square of each subset's sum."""
    i, j = np.triu_indices(chosen.shape[1])
    products = chosen[:, i] * chosen[:, j]
    products[:, i != j] *= 2.0
    return products


def moments_of(x: Floats, y: Floats, group: Ints, row: Ints, n_rows: int) -> Floats:
    """Sum powers of values about the mean of their group, by row: a part of a group.

    Shape (features, n_rows): n, the judges, the truth, products of judges, judges × truth, truth².
    """
    example = np.unique(group, return_index=True)[1]
    n = np.bincount(group)

    def centred(v: Floats) -> Floats:
        d = v - v[example][group]  # exact for values of like size; a constant is exactly zero
        return d - (np.bincount(group, d) / n)[group]

    def scaled(v: Floats) -> Floats:  # by a power of two, which is exact; one scale for all judges
        return np.asarray(np.ldexp(v, -int(np.frexp(np.abs(v).max(initial=0.0))[1])))

    dx = scaled(np.stack([centred(v) for v in scaled(x)]))
    dy = scaled(centred(scaled(y)))
    i, j = np.triu_indices(len(x))
    features = np.empty((2 * len(x) + len(i) + 3, n_rows))
    values = [np.ones(len(y)), *dx, dy]
    for at, v in enumerate(values):
        features[at] = np.bincount(row, v, n_rows)
    at = len(values)
    for a, b in [*((dx[p], dx[q]) for p, q in zip(i, j, strict=True)), *((d, dy) for d in dx), (dy, dy)]:
        features[at] = np.bincount(row, a * b, n_rows)
        at += 1
    return features


def about_mean(moments: Floats, k: int) -> Covariances:
    """Turn moments, shape (features, columns), into covariances of each column."""
    i, j = np.triu_indices(k)
    n, x, y, xx, xy, yy = np.split(moments, np.cumsum([1, k, 1, len(i), k]))
    n = np.where(n > 0, n, 1.0)
    truth = (yy - y * y / n)[0]
    truth = np.where(truth > ROUNDING * yy[0], truth, 0.0)
    return Covariances(xx - x[i] * x[j] / n, xy - x * y / n, truth, np.sqrt(np.maximum(xx[i == j], 0.0)))


@dataclass(frozen=True, slots=True)
class SubsetMoments:
    """Moments of the sums of scores of a few subsets, a column per part of a group that may have weights."""

    n: Floats
    """Shape (parts,); so have ``y`` and ``yy``."""
    y: Floats
    yy: Floats
    x: Floats
    """Shape (subsets, parts); so have the others."""
    xx: Floats
    xy: Floats
    scale: Floats
    """To which the rounding of ``xx`` is relative."""

    @classmethod
    def of(cls, moments: Floats, k: int, subsets: Ints | None) -> SubsetMoments:
        """Add up the moments of judges, shape (features, parts), over the members of each subset."""
        chosen = _chosen(k, subsets)
        i, j = np.triu_indices(k)
        n, x, y, xx, xy, yy = np.split(moments, np.cumsum([1, k, 1, len(i), k]))
        scale = np.square(chosen @ np.sqrt(np.maximum(xx[i == j], 0.0)))
        return cls(n[0], y[0], yy[0], chosen @ x, _products(chosen) @ xx, chosen @ xy, scale)

    def pearson(self, part: slice, weights: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return r of each subset in a group, whose parts carry weights, and where the group has units.

        Shapes (subsets, columns) and (columns,), for weights of shape (parts of the group, columns).
        """
        n, y, yy = (v[part] @ weights for v in (self.n, self.y, self.yy))
        there = n > 0
        safe = np.where(there, n, 1.0)
        x = self.x[:, part] @ weights
        variance = self.xx[:, part] @ weights - x * x / safe
        truth = yy - y * y / safe
        defined = variance > ROUNDING * (self.scale[:, part] @ weights)
        defined &= truth > ROUNDING * yy
        variance *= truth
        r = self.xy[:, part] @ weights
        r -= x * (y / safe)
        with np.errstate(divide="ignore", invalid="ignore"):
            r /= np.sqrt(np.where(defined, variance, np.nan))
        return np.clip(r, -1.0, 1.0, out=r), there
