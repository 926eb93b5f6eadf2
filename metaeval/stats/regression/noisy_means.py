"""Means of generators with their sampling errors, and when these are too uncertain for an interval."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.coefficients.exact import squarable

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.weighted.sums import Clusters

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

        Parameters
        ----------
        x, y
            Finite values, shape (n,).
        group
            The generator of each unit, in ``range(n_groups)``.
        clusters
            The units that are sampled together, such as those of a user.
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
        """Standardize means and parts of their errors, and sum these up.

        Parameters
        ----------
        means
            Shape (2, G).
        errors
            Shape (2, G, K): as in the class.
        n_clusters
            The effective number of clusters that a mean rests on.
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
