"""A model of outcomes by context and action, fitted on other clusters than it predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metaeval.base.errors import needed
from metaeval.stats.coefficients.tables import Floats, Ints

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

    def under(self, situation: Ints, policy: Floats, row: Ints) -> Floats:
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
        slope, intercept = _fit(features[others], cells.n[others], cells.total[others], logistic=logistic)
        here = cells.fold == fold
        base[here] = intercept + of_situation[here] @ slope[:-n_actions]
        effect[fold] = slope[-n_actions:]
    return OutcomeModel(base, effect, cells.fold, logistic)


def _one_hot(code: Ints, n: int | None = None) -> Any:  # noqa: ANN401 - scipy's sparse matrices
    from scipy import sparse

    width = n or int(code.max(initial=0)) + 1
    return sparse.csr_matrix((np.ones(len(code)), (np.arange(len(code)), code)), (len(code), width))


def _fit(features: Any, n: Floats, total: Floats, *, logistic: bool) -> tuple[Floats, float]:  # noqa: ANN401
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
