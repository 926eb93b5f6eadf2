"""Correlations of the means that very many clusters would give, from means that are noisy.

The means of G generators over a study's users are uncertain, which draws their correlation towards zero;
resampled means are more uncertain still, so that the percentiles of a bootstrap lie too low. Here the means
that very many users would give are unknowns of a two-level normal model (Everson & Morris 2000; Morris 1983):

    z_g | μ_g ~ N(μ_g, h_g C),    μ_g ~ N(m, T),    z_g = (mean score, mean truth) of generator g

The noise C (2 × 2) and the noise h_g of a generator relative to it come from the users' influences on the
means, so errors that scores and truth share are in it. With the prior |T + C|^(-1/2), T + C is drawn from an
inverse Wishart distribution, draws that leave no positive T are refused, and given T the true means μ_g are
normal: z_g shrunk towards m, with the uncertainty that is left. Any coefficient of drawn true means is a draw
of the coefficient of the true means. No chain has to settle, and the draws are independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.weighted import coefficients_of_means
from metaeval.stats.weighted_sums import in_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from metaeval.stats.levels import Undefined
    from metaeval.stats.tables import Floats, Ints
    from metaeval.stats.weighted_sums import Clusters

LEAST_GENERATORS = 5
"""With fewer means, T is not estimated."""
LEAST_CLUSTERS = 10.0
"""With fewer (the effective number of a generator's clusters), the noise is not known well enough."""

_NUMBERS, _FEWEST = 2**25, 1000  # normal numbers that are made at most, and draws that are made at least
_KEPT = 0.05  # share of the draws that must leave differences between the true means
_EXACT = 1e-12  # of the variance of means: noise that is added so that nothing is divided by zero
_ROUNDING = 1e-12  # of the largest value: means that differ less are equal
_EQUAL = 1e-5  # of the standard deviation of means: drawn means that are closer tie
_LEAST_SCALE = 0.25  # of the mean noise: a generator's own is not taken to be smaller


class NoInterval(StrEnum):
    """Why a correlation of means has no interval."""

    FEW_GENERATORS = "few_generators"
    FEW_CLUSTERS = "few_clusters"
    NOISE = "noise"
    UNDEFINED = "undefined"

    @property
    def words(self) -> str:
        """The reason in a sentence."""
        return _WORDS[self]


_WORDS = {
    NoInterval.FEW_GENERATORS: f"there are fewer than {LEAST_GENERATORS} generators",
    NoInterval.FEW_CLUSTERS: f"the means rest on fewer than {LEAST_CLUSTERS:g} of what is resampled",
    NoInterval.NOISE: "the means of the generators differ by no more than their noise",
    NoInterval.UNDEFINED: "the coefficient is undefined",
}


@dataclass(frozen=True, slots=True, eq=False)
class NoisyMeans:
    """Means of G generators in the two variables, standardized, and how uncertain they are."""

    means: Floats
    """Shape (2, G): of x and of y."""
    noise: Floats
    """Shape (2, 2): covariance of the noise of a generator's two means, averaged over generators."""
    scale: Floats
    """Shape (G,): noise of each generator over the average."""
    influence: Floats
    """Shape (2, G, n_clusters): what each cluster adds to the errors of the means."""
    reason: NoInterval | None
    """Why they tell too little of the true means, if they do."""

    @classmethod
    def of(cls, x: Floats, y: Floats, group: Ints, n_groups: int, clusters: Clusters) -> NoisyMeans:
        """Sum units by generator and cluster; generators without units are left out.

        Parameters
        ----------
        x, y
            Finite values, shape (n,).
        group
            The generator of each unit, in ``range(n_groups)``.
        clusters
            The units that are sampled together, such as those of a user.
        """
        present, group = np.unique(group, return_inverse=True)
        size = (len(present), clusters.n)
        cell = group * np.int64(clusters.n) + clusters.of_unit
        counts = np.bincount(cell, minlength=size[0] * size[1]).reshape(size)
        n = counts.sum(axis=1, keepdims=True)
        share = counts / n
        means, influence = np.empty((2, size[0])), np.empty((2, *size))
        constant = False
        # An error of a cluster shows in what it has less the mean, which it pulls along by its share (HC2).
        pulled = np.sqrt(np.where(share < 1, 1 - share, 1.0))
        for row, given in enumerate((x, y)):
            v = given - given.mean() if len(given) else given
            sums = np.bincount(cell, v, size[0] * size[1]).reshape(size)
            mean = sums.sum(axis=1, keepdims=True) / n
            spread = float(mean.std()) if size[0] else 0.0
            if spread <= _ROUNDING * np.abs(given).max(initial=0.0):
                constant, spread = True, 1.0
            means[row] = (mean[:, 0] - mean.mean()) / spread
            error = (sums - counts * mean) / (n * pulled * spread)
            # What a cluster adds to all means alike changes no correlation.
            influence[row] = error - error.mean(axis=0)
        # Kish's effective number of clusters, and whether some mean is that of a single cluster.
        effective = float((1 / (share**2).sum(axis=1)).mean()) if len(present) else 0.0
        if effective < LEAST_CLUSTERS * (1 - _ROUNDING) or (share == 1).any():
            return cls(means, np.zeros((2, 2)), np.ones(size[0]), influence, NoInterval.FEW_CLUSTERS)
        if size[0] < LEAST_GENERATORS:
            return cls(means, np.zeros((2, 2)), np.ones(size[0]), influence, NoInterval.FEW_GENERATORS)
        if constant:
            return cls(means, np.zeros((2, 2)), np.ones(size[0]), influence, NoInterval.UNDEFINED)
        own = np.einsum("igc,jgc->gij", influence, influence)
        noise = own.sum(axis=0) / (size[0] - 1)
        # The mean over generators that was taken off holds part of each one's noise.
        own = (own - noise / size[0]) / (1 - 2 / size[0])
        variance = np.diag(noise) > 0
        ratios = np.diagonal(own, axis1=1, axis2=2)[:, variance] / np.diag(noise)[variance]
        scale = np.maximum(ratios.mean(axis=1), _LEAST_SCALE) if variance.any() else np.ones(size[0])
        return cls(means, noise, scale / scale.mean(), influence, None)

    @property
    def exact(self) -> bool:
        """Whether the means have no noise."""
        return bool((np.diag(self.noise) <= _EXACT**2).all())

    def whitened(self) -> _Whitened:
        """Return means and influences in units of the noise; a trace of noise is added to both."""
        g = self.means.shape[1]
        root = _lower(self.noise + _EXACT * np.eye(2))
        z = np.linalg.solve(root, self.means)
        trace = np.linalg.solve(root, np.linalg.solve(root, 2 * g * _EXACT * np.eye(2)).T)
        spread = _lower(z @ z.T + trace)
        of_noise = np.linalg.solve(root, self.influence.reshape(2, -1)) / np.sqrt(g - 1)
        return _Whitened(root, z, spread, np.linalg.solve(spread, z), of_noise)


def _lower(covariance: Floats) -> Floats:
    """Return the lower Cholesky factor."""
    return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _Whitened:
    root: Floats
    """Shape (2, 2): the lower Cholesky factor of the noise."""
    z: Floats
    """Shape (2, G): means in units of the noise."""
    spread: Floats
    """Shape (2, 2): the lower Cholesky factor of their sums of squares."""
    directions: Floats
    """Shape (2, G): orthonormal rows, the means in units of their own spread."""
    of_noise: Floats
    """Shape (2, G × n_clusters): influences, likewise."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Draws of the coefficients of true means, or why there are none."""

    draws: Floats
    """Shape (coefficients, draws); NaN where there are none."""
    reason: NoInterval | None


@dataclass(frozen=True, slots=True, eq=False)
class Normals:
    """Standard normal numbers, the same for everything that is drawn with them."""

    of_spread: Floats
    """Shape (2 aspects, G - 3, draws)."""
    of_centre: Floats
    """Shape (2 aspects, draws)."""
    of_noise: Floats
    """Shape (2 aspects, G, draws)."""

    @classmethod
    def of(cls, n_aspects: int, n_groups: int, n: int, seed: int) -> Normals:
        """Draw ``n`` for each of G generators; fewer where these are so many that memory would not do."""
        rng = np.random.default_rng(seed)
        rows = 2 * n_aspects
        n = min(n, max(_FEWEST, _NUMBERS // max(1, rows * n_groups)))
        return cls(
            rng.standard_normal((rows, max(0, n_groups - 3), n)),
            rng.standard_normal((rows, n)),
            rng.standard_normal((rows, n_groups, n)),
        )


def draw(
    aspects: Sequence[NoisyMeans],
    normals: Normals,
    coefficients: Sequence[str],
    *,
    undefined: Undefined = "skip",
) -> list[Found]:
    """Draw the coefficients of the true means of one evaluator, aspect by aspect.

    The draws of aspects go together as far as the means and their errors do, so that the average of their
    draws is a draw of the average.
    """
    noisy = [a.reason is None and not a.exact for a in aspects]
    whitened = [a.whitened() for a, there in zip(aspects, noisy, strict=True) if there]
    rows = 2 * len(whitened)
    at_spread, at_centre = normals.of_spread[:rows], normals.of_centre[:rows]
    at_noise = normals.of_noise[:rows]
    if len(whitened) > 1 and len({w.z.shape for w in whitened}) == 1:
        together = _root(np.concatenate([w.directions for w in whitened]))
        at_spread = np.tensordot(together, at_spread, 1)
        at_centre = together @ at_centre
        at_noise = np.tensordot(_root(np.concatenate([w.of_noise for w in whitened])), at_noise, 1)
    none = np.full((len(coefficients), normals.of_noise.shape[-1]), np.nan)
    found, row = [], 0
    for means, there in zip(aspects, noisy, strict=True):
        if means.reason is not None:
            found.append(Found(none, means.reason))
            continue
        drawn: Floats | None = means.means[:, :, None]
        if there:
            own = slice(row, row + 2)
            drawn = _true_means(
                whitened[row // 2], means.scale, at_spread[own], at_centre[own], at_noise[own]
            )
            row += 2
        if drawn is None:
            found.append(Found(none, NoInterval.NOISE))
            continue
        x, y = drawn
        slack = (_EQUAL * float(x.std(axis=0).mean()), _EQUAL * float(y.std(axis=0).mean()))
        r = _coefficients(x, y, slack, coefficients, undefined)
        reason = NoInterval.UNDEFINED if np.isnan(r).any() else None
        found.append(Found(np.broadcast_to(r, none.shape), reason))
    return found


def _coefficients(
    x: Floats, y: Floats, slack: tuple[float, float], coefficients: Sequence[str], undefined: Undefined
) -> Floats:
    def of(both: Floats) -> Floats:
        a, b = np.split(both, 2)
        everywhere = np.ones(a.shape, dtype=bool)
        return coefficients_of_means(a, b, everywhere, slack, coefficients, undefined=undefined)

    return in_blocks(of, np.concatenate([x, y]), len(x) ** 2)


def _root(rows: Floats) -> Floats:
    """Return the symmetric root of the correlations of rows, whose pairs are orthonormal."""
    values, vectors = np.linalg.eigh(rows @ rows.T)
    root: Floats = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root


def _true_means(
    given: _Whitened, scale: Floats, at_spread: Floats, at_centre: Floats, at_noise: Floats
) -> Floats | None:
    """Draw true means, shape (2, G, draws); None if few draws leave any difference between them."""
    g = given.z.shape[1]
    # V = T + C in units of C: inverse Wishart with G - 3 degrees of freedom, R W⁻¹ R'.
    w = at_spread[:, : g - 3]
    xx, yy, xy = (w[0] ** 2).sum(axis=0), (w[1] ** 2).sum(axis=0), (w[0] * w[1]).sum(axis=0)
    determinant = xx * yy - xy * xy
    (a, _), (b, d) = given.spread
    v_xx = a * a * yy / determinant
    v_xy = a * (b * yy - d * xy) / determinant
    v_yy = (b * b * yy - 2 * b * d * xy + d * d * xx) / determinant
    middle, apart = (v_xx + v_yy) / 2, np.hypot((v_xx - v_yy) / 2, v_xy)
    largest = middle + apart
    smallest = (a * d) ** 2 / determinant / largest  # exact where the difference of the two would not be
    kept = np.flatnonzero(smallest > 1)
    if len(kept) < max(1, _KEPT * len(smallest)):
        return None
    # Refused draws are drawn again: as those that were kept, in turn.
    chosen = np.arange(len(smallest))
    refused = np.flatnonzero(~(smallest > 1))
    chosen[refused] = np.resize(kept, len(refused))
    angle = 0.5 * np.arctan2(2 * v_xy, v_xx - v_yy)[chosen]
    cos, sin = np.cos(angle), np.sin(angle)
    v = np.stack([largest, smallest])[:, None, chosen]
    z = given.z - given.z.mean(axis=1, keepdims=True)
    turned = np.stack([cos * z[0][:, None] + sin * z[1][:, None], cos * z[1][:, None] - sin * z[0][:, None]])
    centre = np.sqrt(v / g) * at_centre[:, None, :]
    kept_share = (v - 1) / (v - 1 + scale[:, None])
    mu = centre + kept_share * (turned - centre) + np.sqrt(kept_share * scale[:, None]) * at_noise[:, :g]
    back = np.stack([cos * mu[0] - sin * mu[1], sin * mu[0] + cos * mu[1]])
    (p, _), (q, r) = given.root
    return np.stack([p * back[0], q * back[0] + r * back[1]])


def interval_of_draws(draws: ArrayLike, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Return the ends of intervals and the medians of draws.

    A rank coefficient has few values, of which one may hold much of the draws. An end is the outermost value
    that has, with half of its own draws, at least the share of a tail beyond it (mid-p; Lancaster 1961).

    Parameters
    ----------
    draws
        Shape (…, draws); a row with NaN gives NaN.
    confidence
        Such as 0.95.

    Returns
    -------
    low, median, high
        Shape (…).
    """
    values: Floats = np.sort(np.round(np.asarray(draws, dtype=np.float64), 9), axis=-1)
    tail = (1 - confidence) / 2
    rows = values.reshape(-1, values.shape[-1])
    low = np.array([_outermost(row, tail) for row in rows]).reshape(values.shape[:-1])
    high = np.array([-_outermost(-row[::-1], tail) for row in rows]).reshape(values.shape[:-1])
    return low, np.median(values, axis=-1), high


def _outermost(ordered: Floats, tail: float) -> float:
    """Return the smallest value of which the mid-p is at least the tail."""
    n = len(ordered)
    value = ordered[int(tail * n)]
    before, after = np.searchsorted(ordered, value, "left"), np.searchsorted(ordered, value, "right")
    reached = (before + after) / 2 >= tail * n
    return float(value if reached or after == n else ordered[after])
