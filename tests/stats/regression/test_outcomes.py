from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from metaeval.stats.regression.propensity import OutcomeCells, fit_outcomes


def cells(fold, context, action, outcome):
    """Cells of rounds, one situation per fold and context."""
    keys, situation = np.unique(np.stack([fold, context]), axis=1, return_inverse=True)
    pairs, cell = np.unique(np.stack([situation, action]), axis=1, return_inverse=True)
    counts = np.bincount(cell).astype(float), np.bincount(cell, outcome)
    return OutcomeCells(keys[1][:, None], keys[0], *pairs, *counts), situation


def rounds(seed, n=3_000):
    rng = np.random.default_rng(seed)
    fold, context, action = (rng.integers(0, k, n) for k in (2, 3, 4))
    return rng, fold, context, action


def one_hot(context, action):
    return np.hstack([np.eye(3)[context], np.eye(4)[action]])


@pytest.mark.parametrize("logistic", [True, False])
def test_cells_give_the_fit_of_the_rounds_of_the_other_folds(logistic):
    rng, fold, context, action = rounds(0)
    chance = 1 / (1 + np.exp(-(0.5 * context - 0.4 * action)))
    outcome = (rng.random(3_000) < chance).astype(float) if logistic else chance + rng.normal(size=3_000)
    data, situation = cells(fold, context, action, outcome)
    model = fit_outcomes(data, 4, logistic=logistic)
    kind = LogisticRegression(max_iter=1_000, tol=1e-8) if logistic else Ridge()
    for held in (0, 1):
        kind.fit(one_hot(context, action)[fold != held], outcome[fold != held])
        here = one_hot(context, action)[fold == held]
        expected = kind.predict_proba(here)[:, 1] if logistic else kind.predict(here)
        found = model.at(situation[fold == held], action[fold == held])
        np.testing.assert_allclose(found, expected, atol=1e-3)


@pytest.mark.parametrize("logistic", [True, False])
def test_means_under_a_policy_are_means_of_predictions(logistic):
    rng, fold, context, action = rounds(1, 300)
    data, _ = cells(fold, context, action, rng.integers(0, 2, 300).astype(float))
    model = fit_outcomes(data, 4, logistic=logistic)
    policy = rng.dirichlet(np.ones(4), size=5)
    situation, row = np.arange(6).repeat(5), np.tile(np.arange(5), 6)
    each = np.array([[model.at(np.array([s]), np.array([a]))[0] for a in range(4)] for s in range(6)])
    expected = (each[situation] * policy[row]).sum(axis=1)
    np.testing.assert_allclose(model.expected_under(situation, policy, row), expected, atol=1e-12)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_outcomes_that_do_not_differ_are_predicted_as_one_rate(value):
    _, fold, context, action = rounds(2, 200)
    data, situation = cells(fold, context, action, np.full(200, value))
    found = fit_outcomes(data, 4, logistic=True).at(situation, action)
    others = np.bincount(1 - fold)[fold]  # rounds that a fold's rate is made of
    half = 0.5 / (others + 1)
    np.testing.assert_allclose(found, half if value == 0 else 1 - half)


def test_a_single_fold_is_predicted_by_its_own_rounds():
    rng, _, context, action = rounds(3, 400)
    outcome = 2.0 * action + rng.normal(size=400)
    data, situation = cells(np.zeros(400, int), context, action, outcome)
    found = fit_outcomes(data, 4, logistic=False).at(situation, action)
    assert np.corrcoef(found, action)[0, 1] > 0.99
