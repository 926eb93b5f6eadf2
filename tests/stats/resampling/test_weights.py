"""Resamples and jackknife by their definition; intervals and p-values against numpy and scipy."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.resampling import weights as resampling
from metaeval.stats.resampling.weights import (
    Resamples,
    Swaps,
    bca_interval,
    expanded,
    held_out,
    left_out,
    percentile_interval,
    permutation_p,
)
from tests.examples import examples


def whole(draws):
    return np.concatenate(list(draws.blocks()), axis=1)


@given(st.integers(1, 50), st.integers(1, 3000), st.integers(0, 2**32), st.sampled_from([None, 1, 7, 90]))
@settings(max_examples=examples(50))
def test_resamples_are_counts_of_drawn_clusters(n_clusters, n, seed, size):
    draws = Resamples(n_clusters, n, seed, size)
    weights = whole(draws)
    assert weights.shape == (n_clusters, n)
    assert (weights.sum(axis=0) == (n_clusters if size is None else size)).all()
    assert (weights >= 0).all()
    assert (weights == np.rint(weights)).all()
    np.testing.assert_array_equal(weights, whole(draws))


def test_seeds_differ_and_zero_is_a_seed():
    zero, one = (whole(Resamples(30, 100, seed)) for seed in (0, 1))
    assert (zero != one).any()
    np.testing.assert_array_equal(zero, whole(Resamples(30, 100)))
    assert (whole(Swaps(30, 100, 0)) != whole(Swaps(30, 100, 1))).any()


@pytest.mark.parametrize("columns", [1, 7, 64, 5000])
def test_resamples_are_the_same_in_blocks_of_any_size(monkeypatch, columns):
    expected = whole(Resamples(13, 2500, 5))
    monkeypatch.setattr(resampling, "_COLUMNS", columns)
    draws = Resamples(13, 2500, 5)
    assert max(b.shape[1] for b in draws.blocks()) <= columns
    np.testing.assert_array_equal(whole(draws), expected)


def test_more_resamples_begin_with_the_same_ones():
    np.testing.assert_array_equal(whole(Resamples(13, 2500, 5))[:, :1100], whole(Resamples(13, 1100, 5)))


def test_swaps_choose_every_cluster_half_of_the_time():
    chosen = whole(Swaps(12, 20_000, seed=2))
    assert chosen.shape == (12, 20_000)
    assert set(np.unique(chosen)) == {0.0, 1.0}
    np.testing.assert_allclose(chosen.mean(axis=1), 0.5, atol=5 * 0.5 / np.sqrt(20_000))
    np.testing.assert_allclose(np.corrcoef(chosen), np.eye(12), atol=0.04)
    # All 4,096 choices come up about equally often.
    counts = np.bincount((chosen.T @ 2 ** np.arange(12)).astype(int), minlength=4096)
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("n_clusters", [1, 2, 9, 1000])
def test_each_cluster_is_left_out_once(n_clusters):
    np.testing.assert_array_equal(np.concatenate(list(left_out(n_clusters)), axis=1), 1 - np.eye(n_clusters))


@pytest.mark.parametrize(("n_clusters", "folds"), [(17, 5), (3, 5), (10, 5)])
def test_each_cluster_is_held_out_once_a_repeat(n_clusters, folds):
    found = held_out(n_clusters, folds=folds, repeats=3, seed=2)
    by_repeat = found.reshape(n_clusters, 3, min(folds, n_clusters))
    assert (by_repeat.sum(axis=2) == 1).all()
    sizes = by_repeat.sum(axis=0)
    assert sizes.max() - sizes.min() <= 1
    np.testing.assert_array_equal(found, held_out(n_clusters, folds=folds, repeats=3, seed=2))
    assert (found != held_out(n_clusters, folds=folds, repeats=3, seed=3)).any()
    # A split does not depend on how many follow.
    np.testing.assert_array_equal(by_repeat[:, 0], held_out(n_clusters, folds=folds, repeats=1, seed=2))


def test_of_many_clusters_several_are_left_out_at_a_time():
    weights = np.concatenate(list(left_out(2345)), axis=1)
    assert weights.shape == (2345, 1000)
    assert (weights.sum(axis=1) == 999).all()
    assert set((1 - weights).sum(axis=0)) == {2, 3}


@given(st.integers(0, 2**32 - 1), st.integers(10, 300), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
@settings(max_examples=examples(60))
def test_percentiles_are_numpys(seed, n, confidence):
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=(3, 2, n)), 1)
    for row in values.reshape(-1, n):
        row[: rng.integers(0, n // 10 + 1)] = np.nan
    low, high = percentile_interval(values, confidence)
    tail = (1 - confidence) / 2
    expected = np.nanquantile(values, [tail, 1 - tail], axis=-1)
    np.testing.assert_allclose([low, high], expected, rtol=0, atol=1e-12)


def test_too_few_defined_resamples_are_no_interval():
    values = np.tile(np.arange(100.0), (4, 1))
    values[1, :10] = np.nan
    values[2, :11] = np.nan
    values[3] = np.nan
    for low, high in (
        percentile_interval(values, 0.9),
        bca_interval(np.full(4, 50.0), values, np.tile(np.arange(40.0, 60), (4, 1)), 0.9),
    ):
        assert (np.isnan(low) == [False, False, True, True]).all()
        assert (np.isnan(high) == [False, False, True, True]).all()


def users(seed, n=15, units=10):
    """Return x and y of users, shape (users, units), and their coefficient as a function of indices."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(n, units))
    x, y = (rng.exponential(size=(n, 1)) + signal + rng.normal(size=(n, units)) for _ in range(2))

    def pearson(drawn, axis=-1):
        moved = np.moveaxis(np.asarray(drawn), axis, -1)
        a, b = (v[moved].reshape(*moved.shape[:-1], -1) for v in (x, y))
        a, b = (v - v.mean(axis=-1, keepdims=True) for v in (a, b))
        return (a * b).sum(axis=-1) / np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))

    return x, y, pearson


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_bca_of_scipys_own_replicates_is_scipys_interval(seed, confidence):
    x, _, pearson = users(seed)
    for n, function, estimate, without in (
        (len(x), pearson, pearson(np.arange(15)), [pearson(np.delete(np.arange(15), i)) for i in range(15)]),
        (
            len(x),
            lambda drawn, axis=-1: x[:, 0][drawn].mean(axis=axis),
            x[:, 0].mean(),
            [np.delete(x[:, 0], i).mean() for i in range(15)],
        ),
    ):
        result = scipy.stats.bootstrap(
            (np.arange(n),),
            function,
            n_resamples=999,
            vectorized=True,
            method="BCa",
            confidence_level=confidence,
            rng=np.random.default_rng(seed),
        )
        found = bca_interval(estimate, result.bootstrap_distribution, np.array(without), confidence)
        np.testing.assert_allclose(found, tuple(result.confidence_interval), rtol=0, atol=1e-9)


def test_bca_is_undefined_where_replicates_are_on_one_side():
    low, high = bca_interval([0.0, 0.5], np.tile(np.linspace(0.1, 1, 50), (2, 1)), np.eye(2), 0.9)
    assert np.isnan([low[0], high[0]]).all()
    assert low[1] < high[1]


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("n", [2, 5, 40, 100_000])
def test_few_clusters_take_percentiles_further_out(n, confidence):
    """As far as makes the interval of a normal mean that of Student's t, with the unbiased variance."""
    half = scipy.stats.t.ppf((1 + confidence) / 2, n - 1) * np.sqrt(n / (n - 1))
    assert expanded(confidence, n) == pytest.approx(2 * scipy.stats.norm.cdf(half) - 1, abs=1e-12)
    assert confidence < expanded(confidence, n) <= 1
    assert np.isnan(expanded(confidence, 1))


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.booleans())
@settings(max_examples=examples(60))
def test_p_is_the_share_of_permutations_as_extreme(seed, n, greater):
    rng = np.random.default_rng(seed)
    observed = np.append(np.round(rng.normal(size=3), 1), np.nan)
    permuted = np.round(rng.normal(size=(4, n)), 1)
    permuted[rng.random((4, n)) < 0.1] = np.nan
    found = permutation_p(observed, permuted, greater=greater)
    for o, row, p in zip(observed, permuted, found, strict=True):
        k = sum(np.isnan(v) or (v >= o - 1e-12 if greater else abs(v) >= abs(o) - 1e-12) for v in row)
        assert p == (k + 1) / (n + 1) or (np.isnan(p) and np.isnan(o))


def test_rounding_does_not_make_equal_statistics_differ():
    assert permutation_p(0.1 + 0.2, [0.3, 0.3, 0.3]) == 1.0
    assert permutation_p(0.3, [0.1 + 0.2, -0.5], greater=True) == 2 / 3
