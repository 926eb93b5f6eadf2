"""The map from scores to targets: out of fold, with typed reasons where it says nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.isotonic import IsotonicRegression

from metaeval.kinds.exposure.calibration.link import NoLink, left_out, link, r_squared
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.cluster_sums import mean_of

USERS = 300
RESAMPLER = Resampler(USERS, resamples=300)


def means(of_systems, noise=0.05, seed=0):
    """Return a value of each system that is a mean over users, as a statistic."""
    draw = np.random.default_rng(seed)
    values = np.asarray(of_systems)[:, None] + noise * draw.normal(size=(len(of_systems), USERS))
    return mean_of(values, np.ones_like(values))


def test_a_rising_target_is_found_and_its_ends_are_outside() -> None:
    x = np.linspace(-0.4, 0.6, 9)
    found = link(means(x), means(x**2 / 2 + x / 2 + 0.3, seed=1), USERS, RESAMPLER)
    assert found.why is None
    assert found.spearman.value == pytest.approx(1)
    assert found.kendall.value == pytest.approx(1)
    assert found.spearman.low > 0.9
    assert found.outside == 2
    assert np.isnan(found.predicted[[0, -1]]).all()
    assert 0.7 < found.r2.low <= found.r2.value <= found.r2.high <= 1
    assert (np.diff(found.fitted) >= 0).all()


def test_a_score_that_says_nothing_of_the_target_has_no_r2_above_zero() -> None:
    # Targets differ, but not with the score.
    y = np.array([0.3, 0.1, 0.5, 0.2, 0.4, 0.1, 0.3])
    found = link(means(np.linspace(0, 1, 7)), means(y, seed=1), USERS, RESAMPLER)
    assert found.why is None
    assert found.r2.value < 0
    assert found.kendall.low < 0.1


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([0, 0.1, 0.2, 0.3], [0.1, 0.2, 0.3, 0.4], NoLink.FEW),
        ([0, 0.1, 0.2, 0.3, np.nan], [0.1, 0.2, 0.3, 0.4, 0.5], NoLink.FEW),
        ([0, 0.1, 0.2, 0.3, 0.4, 0.5], [0.6, 0.8, 0.9, 1.0, 1.0, 1.0], NoLink.SATURATED),
        ([0, 0.1, 0.2, 0.3, 0.4], [0.3] * 5, NoLink.FLAT),
    ],
)
def test_what_says_nothing_has_a_reason_and_no_numbers(x, y, reason) -> None:
    noise = 0.0 if reason is NoLink.SATURATED else 0.05
    found = link(means(x), means(y, noise, seed=1), USERS, RESAMPLER)
    assert found.why is not None
    assert found.why.reason is reason
    assert np.isnan([found.spearman.value, found.kendall.value, found.r2.value]).all()
    assert np.isnan(found.fitted).all()


def test_a_judge_that_tells_no_recommender_from_another_is_said() -> None:
    found = link(means([0.2] * 5, noise=0), means([0.1, 0.2, 0.3, 0.4, 0.5], seed=1), USERS, None)
    assert found.why is not None
    assert found.why.reason is NoLink.FLAT_SCORE


def test_a_judge_whose_scores_are_noise_has_no_map() -> None:
    noise = means([0.0] * 6, noise=0.3)
    found = link(noise, means(np.linspace(0.1, 0.6, 6), seed=1), USERS, RESAMPLER)
    assert found.why is not None
    assert found.why.reason is NoLink.FLAT_SCORE
    assert np.isnan(found.fitted).all()


def test_flat_targets_are_said_to_be_flat_and_others_are_not() -> None:
    x = means(np.linspace(0, 1, 6))
    # A true difference of five standard errors; and none, in 15 draws each.
    apart = [link(x, means([0.3] * 5 + [0.32], seed=s), USERS, RESAMPLER).why for s in range(15)]
    alike = [link(x, means([0.3] * 6, seed=s), USERS, RESAMPLER).why for s in range(15)]
    assert sum(why is None for why in apart) > 11
    assert sum(why is not None and why.reason is NoLink.FLAT for why in alike) > 12


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, 8, elements=st.floats(-1, 1)), arrays(np.float64, 8, elements=st.floats(0, 1)))
def test_predictions_are_those_of_another_implementation(x, y) -> None:
    x = np.round(x, 2)
    expected = np.full(8, np.nan)
    for s in range(8):
        others = np.arange(8) != s
        if x[others].min() <= x[s] <= x[others].max():
            expected[s] = IsotonicRegression().fit(x[others], y[others]).predict(x[s : s + 1])[0]
    assert left_out(x, y) == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(arrays(np.float64, 8, elements=st.floats(0, 1)))
def test_r2_is_one_of_right_predictions_and_zero_of_the_mean_of_the_others(y) -> None:
    others = (y.sum() - y) / 7
    if np.square(y - others).sum() > 1e-6:
        assert r_squared(y, y) == 1
        assert r_squared(y, others) == pytest.approx(0, abs=1e-9)
    assert np.isnan(r_squared(y, np.where(np.arange(8) < 2, y, np.nan)))
