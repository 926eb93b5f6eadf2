"""Logistic propensities: calibrated, and of each cluster by a model that was fitted without it.

Clusters are split into folds at random. The model of a fold is a logistic regression on the other folds'
standardised features. Its log odds are then calibrated (Platt 2000): a second logistic regression, of two
parameters, on log odds of the other folds' rows, each by a model that was fitted without their fold either.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from metaeval.base.errors import needed
from metaeval.stats.coefficients.tables import Floats, Ints


class QuantileBins(NamedTuple):
    """Where a number is cut."""

    cuts: Floats
    """Rising; a value that equals a cut lies below it."""

    @property
    def n(self) -> int:
        """How many bins there are."""
        return len(self.cuts) + 1

    def of(self, values: ArrayLike) -> Ints:
        """Return the bin of each value, from 0, the lowest."""
        return np.searchsorted(self.cuts, values, side="left")


def quantile_bins(values: ArrayLike, n: int) -> QuantileBins:
    """Cut a number at its quantiles 1/n, 2/n, and so on, into n bins of about equal size.

    A cut is a value that occurs (the inverted distribution function). Equal values are never split, so that
    bins differ in size where values are tied, and there are fewer where a value has more than its share.
    NaN is left out.
    """
    given = np.asarray(values, dtype=np.float64)
    given = given[~np.isnan(given)]
    if not len(given):
        return QuantileBins(np.empty(0))
    cuts = np.quantile(given, np.arange(1, n) / n, method="inverted_cdf")
    cuts = np.unique(cuts)
    return QuantileBins(cuts[cuts < given.max()])


_C = 1e6  # next to no shrinkage: features are few and rows many
_TINY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class LogisticModel:
    """Log odds of each fold, a linear function of the features."""

    slopes: Floats
    """Shape (folds, features)."""
    intercepts: Floats
    fold_of: Ints
    """The fold of each cluster."""

    def probability(self, features: Floats, cluster: Ints) -> Floats:
        """Return the probability of each row, by the model that was fitted without its cluster."""
        fold = self.fold_of[cluster]
        odds = self.intercepts[fold]
        for at in range(features.shape[1]):  # column by column: no copy of the features' size
            odds = odds + features[:, at] * self.slopes[fold, at]
        return np.clip(1 / (1 + np.exp(-odds)), _TINY, 1.0)


def cross_fitted(
    features: Floats, happened: Ints, weight: Floats, cluster: Ints, *, n_clusters: int, folds: int, seed: int
) -> LogisticModel:
    """Fit the probability that something happens.

    Parameters
    ----------
    features
        Shape (n, features).
    happened, weight
        0 or 1, and how many rows each row stands for; 0 leaves it out.
    cluster, folds
        The cluster of each row; those of one are in one of the folds, three or more.

    Raises
    ------
    ValueError
        If a fold leaves only rows of one outcome.
    """
    fold_of = np.random.default_rng([seed, 3]).permutation(n_clusters) % min(folds, n_clusters)
    fold, kept = fold_of[cluster], weight > 0
    count = int(fold_of.max()) + 1
    odds = np.zeros((count, len(happened)))
    for f, other in combinations(range(count), 2):
        # Without either fold: so each is predicted as the calibration of the other one needs it.
        slopes, intercept = _fit(features, happened, weight, kept & (fold != f) & (fold != other))
        for left_out, of in ((f, other), (other, f)):
            odds[left_out, fold == of] = features[fold == of] @ slopes + intercept
    models = []
    for f in range(count):
        others = kept & (fold != f)
        slopes, intercept = _fit(features, happened, weight, others)
        (scale,), shift = _fit(odds[f][:, None], happened, weight, others)
        models.append((slopes * scale, intercept * scale + shift))
    return LogisticModel(np.array([m[0] for m in models]), np.array([m[1] for m in models]), fold_of)


def _fit(features: Floats, happened: Ints, weight: Floats, rows: Ints) -> tuple[Floats, float]:
    """Return slopes, of features as they are, and the intercept."""
    models = needed("sklearn.linear_model", "fitting propensities", "exposure")
    x, y, w = features[rows], happened[rows], weight[rows]
    if len(np.unique(y)) < 2:
        raise ValueError("the rows of a fold have one outcome")
    mean = np.average(x, axis=0, weights=w)
    spread = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=w))
    spread[spread < _TINY] = np.inf  # a feature that does not vary has no slope
    model = models.LogisticRegression(C=_C, solver="newton-cholesky", tol=1e-8, max_iter=200)
    model.fit((x - mean) / spread, y, sample_weight=w)
    slopes = model.coef_[0] / spread
    return slopes, float(model.intercept_[0] - slopes @ mean)


@dataclass(frozen=True, slots=True, eq=False)
class BinnedCalibration:
    """What was predicted and what happened, in bins of the prediction, lowest first."""

    predicted: Floats
    happened: Floats
    weight: Floats
    auc: float


def calibration_of(probability: Floats, happened: Ints, weight: Floats, bins: int = 10) -> BinnedCalibration:
    """Hold predictions against what happened: means in bins of equal weight of what happened, and the AUC.

    The bins are cut where equal numbers of what happened lie, for most of what did not has the least
    probabilities.
    """
    metrics = needed("sklearn.metrics", "the area under a curve", "exposure")

    from metaeval.stats.regression.propensity import quantile_bins

    cut = quantile_bins(probability[happened == 1], bins)
    of = cut.of(probability)
    total = np.bincount(of, weight, cut.n).astype(np.float64)
    predicted, observed = (np.bincount(of, weight * v, cut.n) / total for v in (probability, happened))
    auc = float(metrics.roc_auc_score(happened, probability, sample_weight=weight))
    return BinnedCalibration(predicted, observed, total, auc)
