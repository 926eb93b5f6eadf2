"""Logistic propensities: calibrated, and of each cluster by a model that was fitted without it.

Clusters are split into folds at random. The model of a fold is a logistic regression on the other folds'
standardised features. Its log odds are then calibrated (Platt 2000): a second logistic regression, of two
parameters, on log odds of the other folds' rows, each by a model that was fitted without their fold either.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

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
    cut = quantile_bins(probability[happened == 1], bins)
    of = cut.of(probability)
    total = np.bincount(of, weight, cut.n).astype(np.float64)
    predicted, observed = (np.bincount(of, weight * v, cut.n) / total for v in (probability, happened))
    auc = float(metrics.roc_auc_score(happened, probability, sample_weight=weight))
    return BinnedCalibration(predicted, observed, total, auc)


_CELLS = 2**22  # predictions made at a time


@dataclass(frozen=True, slots=True, eq=False)
class OutcomeCells:
    """A log without its rows: how often each action was shown in each situation, and what came of it.

    A situation is a context within a fold of clusters, so that a fold's rounds are in situations of its own.
    Each has its fold and a column of codes per field of the context, shape (situations, fields). A cell has
    its situation and action, its rounds, of which there may be 0 in a resample, and the sum of their
    outcomes.
    """

    context: Ints
    fold: Ints
    situation: Ints
    action: Ints
    n: Floats
    total: Floats


@dataclass(frozen=True, slots=True, eq=False)
class OutcomeModel:
    """Predictions: ``base`` of the situation and ``effect`` of the action, added."""

    base: Floats
    """Shape (situations,)."""
    effect: Floats
    """Shape (folds, actions)."""
    fold: Ints
    logistic: bool

    def at(self, situation: Ints, action: Ints) -> Floats:
        """Predict the outcomes of actions in situations."""
        return self._linked(self.base[situation] + self.effect[self.fold[situation], action])

    def expected_under(self, situation: Ints, policy: Floats, row: Ints) -> Floats:
        """Return mean predictions under a policy in situations, shape (n,).

        ``policy`` has probabilities of actions, shape (rows, actions), ``row`` the row for each of the
        situations.
        """
        if not self.logistic:
            mean = policy @ self.effect.T
            return np.asarray(
                self.base[situation] * policy.sum(axis=1)[row] + mean[row, self.fold[situation]]
            )
        found = np.empty(len(situation))
        step = max(1, _CELLS // policy.shape[1])
        for first in range(0, len(situation), step):
            s, r = situation[first : first + step], row[first : first + step]
            each = self._linked(self.base[s][:, None] + self.effect[self.fold[s]])
            found[first : first + step] = np.einsum("ij,ij->i", each, policy[r])
        return found

    def _linked(self, values: Floats) -> Floats:
        from scipy.special import expit

        return np.asarray(expit(values)) if self.logistic else values


def fit_outcomes(cells: OutcomeCells, n_actions: int, *, logistic: bool) -> OutcomeModel:
    """Fit outcomes on fields of the context and on the action, each category with an effect of its own.

    The regression is logistic for outcomes of 0 and 1, else linear, both with a ridge penalty of 1
    (scikit-learn's). A fold is predicted by the fit to the other folds; a single fold by its own.
    """
    from scipy import sparse

    columns = [_one_hot(code) for code in cells.context.T]
    of_situation = sparse.hstack([sparse.csr_matrix((len(cells.fold), 0)), *columns], format="csr")
    features = sparse.hstack([of_situation[cells.situation], _one_hot(cells.action, n_actions)], format="csr")
    folds = int(cells.fold.max()) + 1
    base, effect = np.empty(len(cells.fold)), np.zeros((folds, n_actions))
    fold_of_cell = cells.fold[cells.situation]
    for fold in range(folds):
        others = (cells.n > 0) & ((fold_of_cell != fold) | (folds == 1))
        slope, intercept = _fit_cells(
            features[others], cells.n[others], cells.total[others], logistic=logistic
        )
        here = cells.fold == fold
        base[here] = intercept + of_situation[here] @ slope[:-n_actions]
        effect[fold] = slope[-n_actions:]
    return OutcomeModel(base, effect, cells.fold, logistic)


def _one_hot(code: Ints, n: int | None = None) -> Any:  # noqa: ANN401 - scipy's sparse matrices
    from scipy import sparse

    width = n or int(code.max(initial=0)) + 1
    return sparse.csr_matrix((np.ones(len(code)), (np.arange(len(code)), code)), (len(code), width))


def _fit_cells(features: Any, n: Floats, total: Floats, *, logistic: bool) -> tuple[Floats, float]:  # noqa: ANN401
    """Return slopes and intercept; none but that of the mean where outcomes do not differ."""
    from scipy.special import logit

    models = needed("sklearn.linear_model", "a model of outcomes", "exposure")

    if logistic:
        won = total.sum()
        if not 0 < won < n.sum():  # a half of a success, as if it had been seen
            return np.zeros(features.shape[1]), float(logit((won + 0.5) / (n.sum() + 1)))
        from scipy import sparse

        outcome, weight = np.repeat([1, 0], len(n)), np.concatenate([total, n - total])
        used = weight > 0
        model: Any = models.LogisticRegression(max_iter=1_000)
        model.fit(sparse.vstack([features, features], format="csr")[used], outcome[used], weight[used])
        return model.coef_[0], float(model.intercept_[0])
    model = models.Ridge(solver="sparse_cg", tol=1e-8)
    model.fit(features, total / n, sample_weight=n)
    return model.coef_, float(model.intercept_)
