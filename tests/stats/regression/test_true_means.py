"""Correlations of the means that very many users would give, from means that are noisy."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.base.records import COEFFICIENTS
from metaeval.stats.coefficients.grouped import kendall, pearson, spearman
from metaeval.stats.regression.true_means import NoInterval, NoisyMeans, Normals, draw, interval_of_draws
from metaeval.stats.resampling.weights import one_thread
from metaeval.stats.weighted.sums import Clusters
from tests.examples import examples

SLOW = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


def study(seed, generators=8, users=30, noise=1.0, shared=0.5, rho=0.7, each=2):
    """Return scores, ratings, generators and users of units, and the true means; users have levels."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(2, generators))
    true[0] = rho * true[1] + np.sqrt(1 - rho**2) * true[0]
    g, u = (a.ravel() for a in np.indices((generators, users * each)))
    u = u // each
    errors = rng.normal(size=(2, len(g)))
    errors[0] = shared * errors[1] + np.sqrt(1 - shared**2) * errors[0]
    x, y = true[:, g] + noise * (errors + rng.normal(size=(2, users))[:, u])
    return x, y, g, u, true


def noisy(x, y, g, u):
    return NoisyMeans.of(x, y, g, int(g.max()) + 1, Clusters(u, int(u.max()) + 1))


class Drawn(NamedTuple):
    draws: np.ndarray
    reason: NoInterval | None


def found(x, y, g, u, draws=500, seed=0):
    true = draw([noisy(x, y, g, u)], Normals.of(1, int(g.max()) + 1, draws, seed))[0]
    return Drawn(true.coefficients(COEFFICIENTS, draws), true.reason)


def of_true(true):
    return [float(SLOW[c](*true)) for c in COEFFICIENTS]


@given(st.integers(0, 10**6), st.integers(5, 14), st.sampled_from([8, 17]))
@settings(max_examples=examples(30), deadline=None)
def test_without_noise_every_draw_is_the_plain_correlation(seed, generators, users):
    x, y, g, u, true = study(seed, generators, users, noise=0.0)
    result = found(x, y, g, u, draws=20)
    assert result.reason is None
    np.testing.assert_allclose(result.draws, np.tile(np.array(of_true(true))[:, None], 20), atol=1e-9)


@given(st.integers(0, 10**6), st.integers(5, 14))
@settings(max_examples=examples(30), deadline=None)
def test_as_noise_vanishes_the_interval_closes_on_the_true_correlation(seed, generators):
    x, y, g, u, true = study(seed, generators, noise=1e-7)
    low, median, high = interval_of_draws(found(x, y, g, u).draws, 0.95)
    if np.diff(np.sort(true, axis=1), axis=1).min() > 1e-4:  # closer means tie
        for ends in (low, median, high):
            np.testing.assert_allclose(ends, of_true(true), atol=1e-5)


def test_an_evaluator_without_noise_is_no_problem():
    _, y, g, u, true = study(1)
    low, median, high = interval_of_draws(found(true[0][g], y, g, u).draws, 0.95)
    assert (low < median).all()
    assert (median < high).all()


@given(st.integers(0, 10**6), st.floats(0.01, 100), st.floats(-1000, 1000))
@settings(max_examples=examples(30), deadline=None)
def test_an_evaluator_that_is_the_truth_on_another_scale_has_one(seed, by, less):
    _, y, g, u, _ = study(seed)
    draws = found(by * y - less, y, g, u).draws
    np.testing.assert_allclose(draws[0], 1.0, atol=1e-6)
    # Of ranks, a draw in 50,000 has two means that tie on one side alone.
    np.testing.assert_allclose(interval_of_draws(draws, 0.95), 1.0, atol=1e-6)


@given(st.integers(0, 10**6), st.floats(0.1, 100), st.floats(-100, 100))
@settings(max_examples=examples(30), deadline=None)
def test_scales_and_signs_do_not_matter(seed, by, less):
    x, y, g, u, _ = study(seed)
    plain = interval_of_draws(found(x, y, g, u).draws, 0.95)
    scaled = interval_of_draws(found(by * x + less, y, g, u).draws, 0.95)
    np.testing.assert_allclose(scaled, plain, atol=1e-6)


def test_what_users_add_to_all_generators_alike_changes_nothing():
    x, y, g, u, _ = study(5)
    levels = 10 * np.random.default_rng(1).normal(size=(2, u.max() + 1))[:, u]
    np.testing.assert_allclose(
        found(x + levels[0], y + levels[1], g, u).draws, found(x, y, g, u).draws, atol=1e-8
    )


def test_noise_is_that_of_the_means():
    """Two-way analysis of variance: of equal sizes, the noise is the interaction's mean square over users."""
    x, y, g, u, _ = study(6, each=1)
    means = noisy(x, y, g, u)
    tables = [v.reshape(8, 30) for v in (x, y)]
    rest = [t - t.mean(0) - t.mean(1, keepdims=True) + t.mean() for t in tables]
    spread = [t.mean(1).std() for t in tables]
    expected = [
        [(a * b).sum() / (7 * 29) / 30 / s / t for b, t in zip(rest, spread, strict=True)]
        for a, s in zip(rest, spread, strict=True)
    ]
    np.testing.assert_allclose(means.noise, expected, rtol=1e-9)
    assert means.scale.mean() == pytest.approx(1)


def test_a_generator_with_few_units_is_noisier():
    x, y, g, u, _ = study(7, users=60, each=4)
    kept = (g != 0) | (np.arange(len(g)) % 4 == 0)
    scale = noisy(x[kept], y[kept], g[kept], u[kept]).scale
    assert scale[0] > 2 * scale[1:].mean()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"generators": 4}, NoInterval.FEW_GENERATORS),
        ({"users": 7}, NoInterval.FEW_CLUSTERS),
        ({"noise": 1e4, "seed": 2}, NoInterval.NOISE),
    ],
)
def test_too_little_has_no_draws_but_a_reason(change, reason):
    x, y, g, u, _ = study(**{"seed": 0, **change})
    result = found(x, y, g, u)
    assert result.reason is reason
    assert np.isnan(result.draws).all()
    assert np.isnan(interval_of_draws(result.draws, 0.95)).all()


def test_generators_that_lie_in_one_cluster_each_have_a_reason():
    x, y, g, _, _ = study(0)
    assert found(x, y, g, g).reason is NoInterval.FEW_CLUSTERS


def test_constant_scores_have_a_reason():
    x, y, g, u, _ = study(0)
    assert found(np.ones_like(x), y, g, u).reason is NoInterval.UNDEFINED


def test_aspects_that_are_alike_are_drawn_alike_and_others_are_not():
    x, y, g, u, _ = study(8)
    a, b, _, _, _ = study(9)
    normals = Normals.of(2, 8, 2000, 0)
    one, same = draw([noisy(x, y, g, u), noisy(x, y, g, u)], normals)
    np.testing.assert_allclose(one.x, same.x, atol=1e-5)
    np.testing.assert_allclose(one.y, same.y, atol=1e-5)
    pair = draw([noisy(x, y, g, u), noisy(a, b, g, u)], normals)
    one, other = (d.coefficients(("pearson",), 2000)[0] for d in pair)
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.6


@given(st.lists(st.integers(-5, 5), min_size=40, max_size=80))
def test_an_end_has_the_share_of_a_tail_beyond_it(values):
    """Mid-p: half of the draws that equal the end count as beyond it."""
    v = np.array(values, dtype=float)
    low, median, high = interval_of_draws(v, 0.9)
    for sign, end in ((1, low), (-1, -high)):
        w = sign * v
        share = {value: (w < value).mean() + (w == value).mean() / 2 for value in np.unique(w)}
        assert end == min(value for value, s in share.items() if s >= 0.05)
    assert low <= median <= high


@pytest.mark.slow
@one_thread()
@pytest.mark.parametrize(("rho", "users", "generators"), [(0.9, 40, 8), (0.3, 20, 6)])
def test_intervals_cover_the_correlation_of_the_true_means(rho, users, generators):
    """The small version of ``python -m benchmarks --coverage``."""
    studies, normals = 300, Normals.of(1, generators, 400, 0)
    missed = np.zeros((3, studies))
    for i in range(studies):
        x, y, g, u, true = study(i, generators, users, noise=2.5, rho=rho)
        low, _, high = interval_of_draws(
            draw([noisy(x, y, g, u)], normals)[0].coefficients(COEFFICIENTS, 400), 0.95
        )
        exact = np.round(of_true(true), 9)
        missed[:, i] = (exact < low) | (exact > high)
    assert (missed.mean(axis=1) <= 0.08).all()
    assert (missed.mean(axis=1) >= 0.01).all()
