"""Estimates with bootstrap intervals of any statistic."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from metaeval.stats.resampling import bootstrap as module
from metaeval.stats.resampling import cluster_sums, paired
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap, each, jackknife
from metaeval.stats.resampling.cluster_sums import ClusterSums, Stack, WithAverage, mean_of
from metaeval.stats.resampling.weights import Resamples, expanded


def means(values) -> ClusterSums:
    """Return the means of values, shape (means, n_clusters), one unit a cluster."""
    return mean_of(np.asarray(values, dtype=float), np.ones(np.shape(values)))


@pytest.mark.parametrize("documented", [module, cluster_sums, paired])
def test_the_worked_examples_are_true(documented) -> None:
    found = doctest.testmod(documented)
    assert found.attempted > 5
    assert found.failed == 0


def test_percentiles_of_the_resamples() -> None:
    values = 7 + np.random.default_rng(0).normal(0, 3, 30)
    (found,) = each(bootstrap(means([values]), Resampler(30, 500, 3), stretch=False))
    weights = np.concatenate(list(Resamples(30, 500, 3).blocks()), axis=1)
    tail = (1 - expanded(0.95, 30)) / 2
    low, high = np.quantile(values @ weights / 30, [tail, 1 - tail])
    assert (found.value, found.low, found.high) == pytest.approx((values.mean(), low, high))
    assert found.n == 30
    assert found.row("clicks") == {"clicks": found.value, "clicks_low": found.low, "clicks_high": found.high}


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_intervals_of_a_mean_are_about_students(method) -> None:
    values = np.random.default_rng(1).normal(3, 2, 15)
    found = bootstrap(means([values]), Resampler(15, 20_000, method=method))
    low, high = stats.t.interval(0.95, 14, values.mean(), values.std(ddof=1) / np.sqrt(15))
    assert found.value[0] == pytest.approx(values.mean())
    assert found.low[0] == pytest.approx(low, abs=0.15 if method == "bca" else 0.08)
    assert found.high[0] == pytest.approx(high, abs=0.15 if method == "bca" else 0.08)


def test_a_standard_deviation_is_stretched_and_a_mean_is_not() -> None:
    values = np.random.default_rng(2).normal(0, 1, 10)
    sums = np.stack([np.ones(10), values, values**2])
    spread = ClusterSums(sums, lambda s: np.sqrt(s[2:] / s[0] - (s[1:2] / s[0]) ** 2))
    for statistic, wider in ((spread, True), (means([values]), False)):
        plain, stretched = (bootstrap(statistic, Resampler(10, 4000), stretch=s) for s in (False, True))
        ratio = (stretched.high - stretched.low) / (plain.high - plain.low)
        assert (ratio[0] > 1.05) == wider


def test_values_stay_within_their_bounds() -> None:
    values = [[0.9, 1.0, 0.8, 1.0, 0.2]]
    assert bootstrap(means(values), Resampler(5, 500)).high[0] > 0.95
    assert bootstrap(means(values), Resampler(5, 500), bounds=(-1.0, 0.95)).high[0] == 0.95


def test_a_share_of_nothing_has_an_interval() -> None:
    for share in (0.0, 1.0):
        found = bootstrap(means(np.full((1, 20), share)), Resampler(20, 200), bounds=(0.0, 1.0))
        ends = sorted(abs(share - end) for end in (found.low[0], found.high[0]))
        assert ends == pytest.approx([0, 1 - 0.025 ** (1 / 20)])


def test_one_cluster_has_an_estimate_and_no_interval() -> None:
    for stretch in (True, False):
        (found,) = each(bootstrap(means([[2.0]]), Resampler(1, 20), stretch=stretch, bounds=(0.0, 9.0)))
        assert found.value == 2
        assert np.isnan([found.low, found.high]).all()


def test_fewer_resamples_are_no_more_after_many_were_drawn() -> None:
    mean = mean_of(np.arange(6.0)[None], np.ones((1, 6)))
    many = Resampler(6, resamples=500)
    assert many.replicates(mean).shape == (1, 500)
    assert many.at_most(20).replicates(mean).shape == (1, 20)
    assert many.at_most(1_000).replicates(mean).shape == (1, 500)
    assert many.replicates(mean).shape == (1, 500)


def test_weights_that_are_kept_and_drawn_again_are_the_same(monkeypatch) -> None:
    statistic = means(np.random.default_rng(4).normal(0, 1, (1, 40)))
    kept = Resampler(40, 300)
    first = kept.replicates(statistic)
    assert kept.weights() is kept.of(40).weights()
    np.testing.assert_array_equal(kept.replicates(statistic), first)
    monkeypatch.setattr(module, "_KEPT", 300 * 60)
    both = Resampler(40, 300)
    assert both.weights() is both.weights()
    assert both.of(41).weights() is not both.of(41).weights()  # no room left for floats
    monkeypatch.setattr(module, "_KEPT", 0)
    as_bytes = Resampler(40, 300)
    for _ in range(2):  # drawn, and kept
        np.testing.assert_array_equal(as_bytes.replicates(statistic), first)
    assert {block.dtype for block in as_bytes._kept[40]} == {np.dtype(np.uint8)}
    monkeypatch.setattr(module, "_BYTES", 0)
    np.testing.assert_array_equal(Resampler(40, 300).replicates(statistic), first)


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=9))
def test_the_jackknife_leaves_out_each_cluster(values) -> None:
    found = jackknife(means([values]), len(values))
    expected = [np.mean(np.delete(values, i)) for i in range(len(values))]
    np.testing.assert_allclose(found[0], expected, atol=1e-12)


def test_statistics_are_made_of_statistics() -> None:
    rng = np.random.default_rng(5)
    values, weights = rng.normal(size=(3, 2, 7)), rng.integers(1, 4, (7, 4)).astype(float)
    aspects = [means(v) for v in values]
    found = WithAverage(Stack(aspects), values=2).at(weights)
    own = np.stack([a.at(weights) for a in aspects])
    np.testing.assert_array_equal(found, [*own.reshape(6, 4), *own.mean(axis=0)])
    np.testing.assert_array_equal(WithAverage(aspects[0], values=2).at(weights), own[0])
    np.testing.assert_array_equal(WithAverage(aspects[0]).at(weights), [*own[0], own[0].mean(axis=0)])
