"""Orders of systems against scipy and naive loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from metaeval.stats.ranking.taus import TauOfMeans, tau_ap, top_tau
from metaeval.stats.resampling.cluster_sums import mean_of
from metaeval.stats.resampling.weights import Resamples

VALUES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=6)


def naive_ap(x, y):
    """Return τ_AP loop by loop: Yilmaz et al. 2008, eq. 7, without the pairs that x ties."""
    shares = []
    for i in range(len(x)):
        signs = [np.sign(y[j] - y[i]) for j in range(len(x)) if x[j] > x[i]]
        if signs:
            shares.append(sum(signs) / len(signs))
    return np.mean(shares) if shares else np.nan


@given(pairs=VALUES)
def test_tau_ap_is_that_of_naive_loops(pairs):
    x, y = zip(*pairs, strict=True)
    assert tau_ap(x, y) == pytest.approx(naive_ap(x, y), nan_ok=True)
    if len(set(x)) > 1:
        assert tau_ap(x, x) == 1


def test_errors_at_the_top_weigh_more():
    truth = [5, 4, 3, 2, 1]
    assert tau_ap(truth, truth) == 1
    assert tau_ap(truth[::-1], truth) == -1
    assert tau_ap([4, 5, 3, 2, 1], truth) < tau_ap([5, 4, 3, 1, 2], truth)
    assert np.isnan(tau_ap([1], [1]))


@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(1, 6))
def test_tau_of_means_is_that_of_scipy_in_every_resample(seed, systems, users):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 4, (2, systems, users)).astype(float)
    counted = np.ones(x.shape)
    statistic = TauOfMeans.of(mean_of(x, counted), mean_of(y, counted))
    weights = np.concatenate(list(Resamples(users, 20, seed).blocks()), axis=1)
    found = statistic.at(weights)[0]
    for column, tau in zip(weights.T, found, strict=True):
        expected = kendalltau((x @ column).round(9), (y @ column).round(9)).statistic
        assert tau == pytest.approx(expected, nan_ok=True)


def test_tau_among_the_top():
    truth = [9, 8, 7, 3, 2]
    assert top_tau([1, 2, 3, 0, 5], truth, 3) == -1
    assert top_tau([1, 2, 3], [1, 1, 1], 2) != top_tau([1, 2, 3], [1, 2, 3], 2) == 1
    assert top_tau([1, 2], [3, 4], 50) == 1
