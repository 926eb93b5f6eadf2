from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from metaeval.trust.bias.clustered import Draws, ratio, sums


def mean_of(values: np.ndarray) -> tuple:
    """Return what `Draws.numbers` takes for means of values, shape (A, n_clusters), a unit a cluster."""
    ones = np.ones_like(values)
    return (lambda w: ratio(values @ w, ones @ w)), values


def test_intervals_of_a_mean_are_about_students() -> None:
    values = np.random.default_rng(1).normal(3, 2, (1, 15))
    found = Draws.of(15, resamples=20_000).numbers(*mean_of(values))
    low, high = t.interval(0.95, 14, values.mean(), values.std(ddof=1) / np.sqrt(15))
    assert found.estimate[0] == pytest.approx(values.mean())
    assert found.low[0] == pytest.approx(low, abs=0.08)
    assert found.high[0] == pytest.approx(high, abs=0.08)
    assert found.p[0] < 0.01


def test_large_and_small_numbers_are_treated_alike() -> None:
    values = np.random.default_rng(2).normal(0.3, 1, (1, 12))
    draws = Draws.of(12, resamples=500)
    plain = draws.numbers(*mean_of(values))
    for by in (1e9, 1e-9):
        scaled = draws.numbers(*mean_of(by * values))
        assert scaled.low[0] == pytest.approx(by * plain.low[0])
        assert scaled.high[0] == pytest.approx(by * plain.high[0])
        assert scaled.p[0] == plain.p[0]


def test_signs_of_few_clusters_are_their_permutations() -> None:
    # All of five clusters on one side: 2 of 32 patterns are as extreme.
    found = Draws.of(5, resamples=40_000).test(np.array([[1.0, 2, 3, 1, 2]]))
    assert found[0] == pytest.approx(2 / 32, abs=0.005)


def test_the_average_is_of_all_aspects() -> None:
    values = np.random.default_rng(3).normal(0, 1, (3, 10))
    found = Draws.of(10, resamples=200).numbers(*mean_of(values))
    assert len(found) == 4
    assert found.estimate[-1] == pytest.approx(values.mean())


def test_a_share_of_nothing_has_an_interval() -> None:
    nothing = np.zeros((1, 20))
    found = Draws.of(20, resamples=200).numbers(mean_of(nothing)[0], bounds=(0.0, 1.0))
    assert found.low[0] == 0
    assert found.high[0] == pytest.approx(1 - 0.025 ** (1 / 20))
    all_of_them = Draws.of(20, resamples=200).numbers(mean_of(nothing + 1)[0], bounds=(0.0, 1.0))
    assert (all_of_them.low[0], all_of_them.high[0]) == (pytest.approx(0.025 ** (1 / 20)), 1)


def test_one_cluster_tells_an_estimate_alone() -> None:
    found = Draws.of(1, resamples=50).numbers(*mean_of(np.array([[2.0]])), bounds=(0.0, 1e9))
    assert found.estimate[0] == 2
    assert np.isnan([found.low[0], found.high[0], found.p[0]]).all()


def test_what_is_undefined_stays_so() -> None:
    values = np.array([[np.nan, 1.0, 2.0]])
    found = Draws.of(3, resamples=50).numbers(*mean_of(values))
    assert np.isnan([found.estimate[0], found.low[0], found.p[0]]).all()


def test_no_difference_anywhere_is_no_finding() -> None:
    assert Draws.of(9, resamples=99).test(np.zeros((1, 9)))[0] == 1
    assert Draws.of(9, resamples=99).test_largest(np.zeros((3, 9))) == 1


def test_kept_and_drawn_again_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(4).normal(0, 1, (1, 10))
    kept = Draws.of(10, resamples=100)
    monkeypatch.setattr("metaeval.trust.bias.clustered._KEPT", 0)
    drawn = Draws.of(10, resamples=100)
    assert drawn.weights is None
    assert kept.numbers(*mean_of(values)).low == drawn.numbers(*mean_of(values)).low


def test_sums_are_of_the_units_in_use() -> None:
    found = sums(np.array([[1.0, 2.0, 4.0]]), np.array([[True, False, True]]), np.array([0, 0, 1]), 3)
    assert found.tolist() == [[1, 4, 0]]
