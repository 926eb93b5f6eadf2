"""Maps from scores to ratings: isotonic regression over all users, and a shift and slope per user.

Both are cross-fitted: a user's units are predicted by a map that was fitted on other users, and the user's
own shift and slope are estimated without the predicted unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.weighted.sums import Clusters

N_FOLDS = 10
"""Folds of clusters, each predicted by a map of the others."""


@dataclass(frozen=True, slots=True, eq=False)
class Isotonic:
    """A non-decreasing map: linear between its points, constant beyond them."""

    x: Floats
    """Shape (points,), increasing."""
    y: Floats
    """Shape (points,), non-decreasing."""

    def __call__(self, x: ArrayLike) -> Floats:
        """Map scores to ratings, in the same shape."""
        return np.interp(np.asarray(x, dtype=np.float64), self.x, self.y)


def isotonic(x: ArrayLike, y: ArrayLike) -> Isotonic:
    """Fit isotonic regression by pool-adjacent-violators (Barlow et al. 1972).

    Scores and ratings are finite, shape (n,); units with equal scores are pooled first.
    """
    from scipy.optimize import isotonic_regression

    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    points, where = np.unique(a, return_inverse=True)
    counts = np.bincount(where).astype(np.float64)
    fitted = isotonic_regression(np.bincount(where, b) / counts, weights=counts).x
    # Of a constant stretch, the ends suffice.
    kept = np.ones(len(points), dtype=bool)
    kept[1:-1] = (fitted[1:-1] != fitted[:-2]) | (fitted[1:-1] != fitted[2:])
    return Isotonic(points[kept], np.asarray(fitted[kept], dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Spread:
    """Variances of users' shifts and slopes, and of units within users."""

    shift: float
    slope: float
    noise: float

    @classmethod
    def of(cls, z: Floats, r: Floats, user: Ints, n_users: int) -> Spread:
        """Estimate the variances by the method of moments.

        ``z`` are predictions of the common map less a constant, ``r`` ratings less predictions, of shape
        (n,).
        """

        def total(values: Floats) -> Floats:
            return np.bincount(user, values, n_users).astype(np.float64)

        n = total(np.ones(len(z)))
        size = np.maximum(n, 1.0)
        mean_z, mean_r = total(z) / size, total(r) / size
        u, v = z - mean_z[user], r - mean_r[user]
        zz, zr, rr = total(u * u), total(u * v), total(v * v)
        steep = (n > 2) & (zz > 1e-12 * max(1.0, float(np.square(z).max(initial=0.0))))
        explained = np.divide(zr * zr, zz, out=np.zeros_like(zz), where=steep)
        freedom = np.maximum(n - 1 - steep, 0.0).sum()
        if not freedom:
            return cls(0.0, 0.0, 0.0)
        noise = float(np.maximum(rr - explained, 0.0).sum() / freedom)
        slope = max(0.0, float((explained - noise)[steep].sum() / zz[steep].sum())) if steep.any() else 0.0
        between = n * (np.square(mean_r) - slope * np.square(mean_z)) - noise
        return cls(max(0.0, float(between[n > 0].sum() / n.sum())), slope, noise)


def shifts(z: Floats, r: Floats, user: Ints, block: Ints, spread: Spread) -> Floats:
    """Predict a user's deviation from the common map at each unit, from the user's units of other blocks.

    Users have a random shift and slope; their best linear unbiased predictors (Laird & Ware 1982, Biometrics
    38, 963; Robinson 1991, Statistical Science 6, 15) are ``(D Z'Z + s² I)⁻¹ D Z'r`` with ``Z = [1, z]``,
    ``D`` the variances of shift and slope and ``s²`` that of units, ``spread``, estimated from other users.
    With few other units the prediction is near zero, without any it is zero. ``z``, ``r`` and ``user`` are
    those of `Spread.of`; units of one user and one ``block`` are left out together.
    """
    _, of_user = np.unique(user, return_inverse=True)
    _, of_block = np.unique(np.stack([of_user, block]), axis=1, return_inverse=True)

    def others(values: Floats) -> Floats:
        of_users, of_blocks = np.bincount(of_user, values), np.bincount(of_block, values)
        return np.asarray(of_users[of_user] - of_blocks[of_block], dtype=np.float64)

    n, sum_z, sum_zz = others(np.ones(len(z))), others(z), others(z * z)
    sum_r, sum_zr = others(r), others(z * r)
    a, b = spread.shift * n + spread.noise, spread.shift * sum_z
    c, d = spread.slope * sum_z, spread.slope * sum_zz + spread.noise
    t, s = spread.shift * sum_r, spread.slope * sum_zr
    determinant = a * d - b * c
    known = (n > 0) & (determinant > 0)
    safe = np.where(known, determinant, 1.0)
    return np.where(known, ((d * t - b * s) + (a * s - c * t) * z) / safe, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class CrossFitted:
    """Predictions of each unit by maps that were fitted without it; arrays have shape (n,)."""

    mean: Floats
    """The mean rating of the other folds, a prediction without the score."""
    common: Floats
    """Prediction of the isotonic map of the other folds."""
    own_mean: Floats
    """``mean`` plus the user's own shift; equal to ``mean`` if users are not known."""
    own: Floats
    """``common`` plus the user's own shift and slope; equal to ``common`` if users are not known."""
    fold: Ints


def cross_fitted(
    x: ArrayLike,
    y: ArrayLike,
    clusters: Clusters,
    *,
    block: ArrayLike | None = None,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    n_folds: int = N_FOLDS,
    seed: int = 0,
) -> CrossFitted:
    """Predict ratings from scores by cross-fitted maps.

    Parameters
    ----------
    x, y
        Scores and ratings, finite, shape (n,).
    clusters
        Of users, or of items where there are no users; at least two of them.
    block
        Shape (n,): parts of a user's units, such as items, that are left out together when the user's own map
        is fitted. None if clusters are not users: then there are no own maps.
    bounds
        Of the ratings; own maps do not leave them.
    n_folds, seed
        Folds of clusters and their draw.
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    user = np.asarray(clusters.of_unit)
    folds = min(n_folds, clusters.n)
    fold = (np.random.default_rng(seed).permutation(clusters.n) % folds)[user]
    mean, common, own_mean, own = np.empty((4, len(a)))
    for f in range(folds):
        held = fold == f
        if not held.any() or held.all():
            mean[held] = common[held] = own_mean[held] = own[held] = np.nan
            continue
        fitted, level = isotonic(a[~held], b[~held]), float(b[~held].mean())
        every = fitted(a)
        mean[held], common[held] = level, every[held]
        own_mean[held], own[held] = mean[held], common[held]
        if block is None:
            continue
        blocks = np.asarray(block)
        for target, said in ((own_mean, np.full_like(a, level)), (own, every)):
            z, r = said - said[~held].mean(), b - said
            spread = Spread.of(z[~held], r[~held], user[~held], clusters.n)
            added = shifts(z[held], r[held], user[held], blocks[held], spread)
            target[held] = np.clip(said[held] + added, *bounds)
    return CrossFitted(mean, common, own_mean, own, fold)


_INSIDE = 3  # predictions from which R² is given


def left_out(x: Floats, y: Floats) -> Floats:
    """Predict each ``y`` by the isotonic map from ``x`` of the other points.

    NaN for an ``x`` out of their range; all of shape (points, columns), each column on its own.
    """
    there = ~np.isnan(x + y)
    x, y = np.where(there, x, np.inf), np.where(there, y, 0.0)
    predicted = np.full(x.shape, np.nan)
    for s in range(len(x)):
        order = np.delete(x, s, axis=0).argsort(axis=0)
        a, b = (np.take_along_axis(np.delete(of, s, axis=0), order, axis=0) for of in (x, y))
        fitted = _isotonic(a, b)
        # The points on either side, which are one where ``x`` is one of the others'.
        ends = np.stack([(a <= x[s]).sum(axis=0) - 1, (a < x[s]).sum(axis=0)])
        inside = there[s] & (ends[0] >= 0) & (ends[1] < np.isfinite(a).sum(axis=0))
        ends = np.where(inside, ends, 0)
        (low, high), (under, over) = (np.take_along_axis(of, ends, axis=0) for of in (a, fitted))
        with np.errstate(invalid="ignore", divide="ignore"):
            predicted[s] = np.where(high > low, under + (over - under) * (x[s] - low) / (high - low), under)
        predicted[s, ~inside] = np.nan
    return predicted


def _isotonic(x: Floats, y: Floats) -> Floats:
    """Fit isotonic regression to each column, by the max-min formula (Barlow et al. 1972, section 1.4).

    ``x`` rises in each column and is infinite where there is no point; shape (n, columns), as the result.
    """
    n = len(x)
    total = np.concatenate([np.zeros_like(y[:1]), y.cumsum(axis=0)])
    first, last = np.arange(n)[:, None, None], np.arange(n)[:, None]
    apart = x[1:] != x[:-1]  # points of one ``x`` are pooled
    alone = np.ones_like(apart[:1])
    starts = np.concatenate([alone, apart])
    ends = np.concatenate([apart, alone]) & np.isfinite(x)
    means = (total[1:] - total[:-1, None]) / np.maximum(last - first + 1, 1)
    least = np.where((first <= last) & ends, means, np.inf)
    least = np.minimum.accumulate(least[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(np.where((first <= last) & starts[:, None], least, -np.inf).max(axis=0))


def r_squared(y: Floats, predicted: Floats) -> Floats:
    """Return 1 - Σ(y - ŷ)² / Σ(y - ȳ)², where ȳ is the mean of the others, as ŷ is of a map of the others.

    Only what was predicted counts; NaN of fewer than three predictions. Sums run over the first axis.
    """
    there = ~np.isnan(y)
    inside = there & ~np.isnan(predicted)
    others = (np.nansum(y, axis=0) - y) / np.maximum(there.sum(axis=0) - 1, 1)
    error, spread = (np.where(inside, np.square(y - of), 0.0).sum(axis=0) for of in (predicted, others))
    known = (inside.sum(axis=0) >= _INSIDE) & (spread > 0)
    return np.asarray(np.where(known, 1 - error / np.where(known, spread, 1.0), np.nan))
