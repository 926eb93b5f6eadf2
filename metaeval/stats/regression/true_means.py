"""Correlations of true means, those that very many clusters would give, from noisy means.

The means of G generators over a study's users are uncertain, which draws their correlation towards zero;
resampled means are more uncertain still, so that the percentiles of a bootstrap lie too low. Here the means
that very many users would give are unknowns of a two-level normal model (Everson & Morris 2000; Morris 1983):

    z_g ~ N(μ_g, h_g C) given μ_g,    μ_g ~ N(m, T),    z_g = (mean score, mean truth) of generator g

The noise C (2 × 2) and the noise h_g of a generator relative to it come from the users' influences on the
means, so errors that scores and truth share are in it. With the prior det(T + C)^(-1/2), T + C is drawn from
an inverse Wishart distribution, draws that leave no positive T are refused, and given T the true means μ_g
are normal: z_g shrunk towards m, with the uncertainty that is left. Any coefficient of drawn true means is a
draw of the coefficient of the true means. The draws are independent; no Markov chain is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.coefficients.levels import Undefined
from metaeval.stats.coefficients.tables import Floats, Ints, squarable
from metaeval.stats.weighted.statistic import coefficients_of_means
from metaeval.stats.weighted.sums import Clusters, in_blocks

LEAST_GENERATORS = 5
"""The spread of fewer true means is not estimated."""
LEAST_CLUSTERS = 8.0
"""Effective number of clusters per generator below which the noise is not estimated."""

_EXACT = 1e-24  # variance of noise in units of the means' that counts as none
_ROUNDING = 1e-12  # of the largest value: means that differ less are equal
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
    """Means of G generators in the two variables, standardised, and how uncertain they are."""

    means: Floats
    """Shape (2, G): of x and of y."""
    noise: Floats
    """Shape (2, 2): covariance of the noise of a generator's two means, averaged over generators."""
    scale: Floats
    """Shape (G,): noise of each generator over the average."""
    errors: Floats
    """Shape (2, G, K): K parts, such as those of clusters; their products sum to the covariance of noise."""
    reason: NoInterval | None
    """Why there is no interval, if there is none."""

    @classmethod
    def of(cls, x: Floats, y: Floats, group: Ints, n_groups: int, clusters: Clusters) -> NoisyMeans:
        """Sum units by generator and cluster; generators without units are left out.

        Finite values and the generator of each unit, in ``range(n_groups)``, have shape (n,); clusters are
        sampled whole, such as the units of a user.
        """
        cell = group * np.int64(clusters.n) + clusters.of_unit
        size = (n_groups, clusters.n)
        counts = np.bincount(cell, minlength=size[0] * size[1]).reshape(size)
        present = counts.sum(axis=1) > 0
        counts = counts[present]
        n = counts.sum(axis=1, keepdims=True)
        share = counts / n
        # A cluster pulls the mean towards itself by its share; this corrects its residual (HC2).
        pulled = np.sqrt(np.where(share < 1, 1 - share, 1.0))
        means, errors = [], []
        for given in (x, y):
            v = given - given.mean() if len(given) else given
            sums = np.bincount(cell, v, size[0] * size[1]).reshape(size)[present]
            mean = sums.sum(axis=1, keepdims=True) / n
            means.append(np.where(np.abs(mean) > _ROUNDING * np.abs(given).max(initial=0.0), mean, 0.0)[:, 0])
            errors.append((sums - counts * mean) / (n * pulled))
        # Kish's effective number of clusters; the noise of a mean of one cluster is unknown.
        effective = (
            float((1 / (share**2).sum(axis=1)).mean()) if len(share) and not (share == 1).any() else 0.0
        )
        return cls.of_errors(np.stack(means), np.stack(errors), effective)

    @classmethod
    def of_errors(cls, means: Floats, errors: Floats, n_clusters: float) -> NoisyMeans:
        """Standardize means, shape (2, G), and parts of their errors as in the class, and sum these up.

        ``n_clusters`` is the effective number of clusters that a mean rests on.
        """
        g = means.shape[1]
        both = [squarable(np.column_stack(of_one)) for of_one in zip(means, errors, strict=True)]
        means, errors = np.stack([b[:, 0] for b in both]), np.stack([b[:, 1:] for b in both])
        spread = means.std(axis=1) if g else np.zeros(2)
        by = np.where(spread > 0, spread, 1.0)
        means = (means - means.mean(axis=1, keepdims=True)) / by[:, None] if g else means
        # An error that all means share changes no correlation.
        errors = (errors - errors.mean(axis=1, keepdims=True)) / by[:, None, None] if g else errors
        reason = None
        if n_clusters < LEAST_CLUSTERS * (1 - _ROUNDING):
            reason = NoInterval.FEW_CLUSTERS
        elif g < LEAST_GENERATORS:
            reason = NoInterval.FEW_GENERATORS
        elif (spread == 0).any():
            reason = NoInterval.UNDEFINED
        if reason is not None:
            return cls(means, np.zeros((2, 2)), np.ones(g), errors, reason)
        own = np.einsum("igc,jgc->gij", errors, errors)
        noise = own.sum(axis=0) / (g - 1)
        # Centring over generators has removed part of each one's noise.
        own = (own - noise / g) / (1 - 2 / g)
        variance = np.diag(noise) > 0
        ratios = np.diagonal(own, axis1=1, axis2=2)[:, variance] / np.diag(noise)[variance]
        scale = np.maximum(ratios.mean(axis=1), _LEAST_SCALE) if variance.any() else np.ones(g)
        return cls(means, noise, scale / scale.mean(), errors, None)

    @property
    def exact(self) -> bool:
        """Whether the means have no noise."""
        return bool((np.diag(self.noise) <= _EXACT).all())


_NUMBERS, _FEWEST = 2**25, 1000  # normal numbers that are made at most, and draws that are made at least
_KEPT = 0.05  # share of the draws that must leave differences between the true means
_TRACE = 1e-12  # of the variance of means: noise that is added so that nothing is divided by zero
_EQUAL = 1e-5  # of the standard deviation of means: drawn means that are closer tie


@dataclass(frozen=True, slots=True, eq=False)
class Normals:
    """Standard normal numbers, shared by all evaluators."""

    of_spread: Floats
    """Shape (2 aspects, G - 3, draws)."""
    of_centre: Floats
    """Shape (2 aspects, draws)."""
    of_noise: Floats
    """Shape (2 aspects, G, draws)."""

    @property
    def n(self) -> int:
        """How many draws they make."""
        return int(self.of_centre.shape[-1])

    @classmethod
    def of(cls, n_aspects: int, n_groups: int, n: int, seed: int) -> Normals:
        """Draw ``n`` for each of G generators; fewer where they would not fit in memory."""
        rng = np.random.default_rng(seed)
        rows = 2 * n_aspects
        n = min(n, max(_FEWEST, _NUMBERS // max(1, rows * n_groups)))
        return cls(
            rng.standard_normal((rows, max(0, n_groups - 3), n)),
            rng.standard_normal((rows, n)),
            rng.standard_normal((rows, n_groups, n)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class TrueMeans:
    """Draws of the true means, or why there are none."""

    x: Floats
    """Shape (G, draws), standardised by the spread of the means; shape (G, 0) if there are none."""
    y: Floats
    reason: NoInterval | None

    def coefficients(self, coefficients: Sequence[str], n: int, *, undefined: Undefined = "skip") -> Floats:
        """Return the coefficients of each draw, shape (coefficients, n); NaN where there are no draws."""
        if self.reason is not None:
            return np.full((len(coefficients), n), np.nan)
        slack = (_EQUAL * float(self.x.std(axis=0).mean()), _EQUAL * float(self.y.std(axis=0).mean()))

        def of(both: Floats) -> Floats:
            x, y = np.split(both, 2)
            everywhere = np.ones(x.shape, dtype=bool)
            return coefficients_of_means(x, y, everywhere, slack, coefficients, undefined=undefined)

        found = in_blocks(of, np.concatenate([self.x, self.y]), len(self.x) ** 2)
        return np.broadcast_to(found, (len(coefficients), n))


def draw(aspects: Sequence[NoisyMeans], normals: Normals) -> list[TrueMeans]:
    """Draw the true means of one evaluator and of the truth, aspect by aspect.

    Draws of aspects are correlated as the means and their errors are, so that their average is a draw of the
    average over aspects.
    """
    noisy = [a.reason is None and not a.exact for a in aspects]
    whitened = [_Whitened.of(a) for a, there in zip(aspects, noisy, strict=True) if there]
    rows = 2 * len(whitened)
    at_spread, at_centre = normals.of_spread[:rows], normals.of_centre[:rows]
    at_noise = normals.of_noise[:rows]
    if len(whitened) > 1 and len({w.z.shape for w in whitened}) == 1:
        together = _root(np.concatenate([w.directions for w in whitened]))
        at_spread = np.tensordot(together, at_spread, 1)
        at_centre = together @ at_centre
        at_noise = np.tensordot(_root(np.concatenate([w.errors for w in whitened])), at_noise, 1)
    found, row = [], 0
    for means, there in zip(aspects, noisy, strict=True):
        drawn: Floats | None = means.means[:, :, None] if means.reason is None else None
        if there:
            own = slice(row, row + 2)
            drawn = _true_means(
                whitened[row // 2], means.scale, at_spread[own], at_centre[own], at_noise[own]
            )
            row += 2
        if drawn is None:
            nothing = np.zeros((means.means.shape[1], 0))
            found.append(TrueMeans(nothing, nothing, means.reason or NoInterval.NOISE))
        else:
            found.append(TrueMeans(drawn[0], drawn[1], None))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Whitened:
    """Means in units of their noise."""

    root: Floats
    """Shape (2, 2): the lower Cholesky factor of the noise."""
    z: Floats
    """Shape (2, G): means in units of the noise."""
    spread: Floats
    """Shape (2, 2): the lower Cholesky factor of their sums of squares."""
    directions: Floats
    """Shape (2, G): orthonormal rows, the means in units of their own spread."""
    errors: Floats
    """Shape (2, G × K): errors, likewise."""

    @classmethod
    def of(cls, means: NoisyMeans) -> _Whitened:
        """Divide by the noise; a small amount is added to both to avoid division by zero."""
        g = means.means.shape[1]
        root = _lower(means.noise + _TRACE * np.eye(2))
        z = _solved(root, means.means)
        trace = _solved(root, _solved(root, 2 * g * _TRACE * np.eye(2)).T)
        spread = _lower(z @ z.T + trace)
        errors = _solved(root, means.errors.reshape(2, -1)) / np.sqrt(g - 1)
        return cls(root, z, spread, _solved(spread, z), errors)


def _lower(covariance: Floats) -> Floats:
    """Return the lower Cholesky factor."""
    return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)


def _solved(lower: Floats, values: Floats) -> Floats:
    return np.asarray(np.linalg.solve(lower, values), dtype=np.float64)


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
    # Rejected draws are replaced by the accepted ones, in turn.
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
    """Return the low ends of intervals, the medians and the high ends of draws, shape (…, draws).

    A rank coefficient has few values, and many draws may share one. An end is the outermost value whose mid-p
    (Lancaster 1961), the draws beyond it and half of its own, is at least the tail's share. A row with NaN
    gives NaN.
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
