"""Estimates with bootstrap intervals of any statistic."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.resampling import bootstrap as module
from metaeval.stats.resampling import cluster_sums, paired
from metaeval.stats.resampling.bootstrap import Estimate, Resampler, bootstrap, each, jackknife
from metaeval.stats.resampling.cluster_sums import ClusterSums, Stack, WithAverage, mean_of
from metaeval.stats.resampling.significance import freedom
from metaeval.stats.resampling.weights import Resamples, expanded
from metaeval.stats.weighted.statistic import statistic
from metaeval.stats.weighted.sums import Clusters


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
    for made, wider in ((spread, True), (means([values]), False)):
        plain, stretched = (bootstrap(made, Resampler(10, 4000), stretch=s) for s in (False, True))
        ratio = (stretched.high - stretched.low) / (plain.high - plain.low)
        assert (ratio[0] > 1.05) == wider


def test_values_stay_within_their_bounds() -> None:
    values = [[0.9, 1.0, 0.8, 1.0, 0.2, 1.0]]
    assert bootstrap(means(values), Resampler(6, 500)).high[0] > 0.95
    assert bootstrap(means(values), Resampler(6, 500), bounds=(-1.0, 0.95)).high[0] == 0.95


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


@st.composite
def sparse(draw):
    """Return numerators and denominators of a mean by cluster, of which few or many have units."""
    n = draw(st.integers(1, 60))
    having = draw(st.sets(st.integers(0, n - 1), max_size=9))
    units = np.array([float(i in having) for i in range(n)])
    values = np.array(draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=n, max_size=n)))
    return values * units, units


@given(sparse(), st.sampled_from(["percentile", "bca", "jackknife"]), st.booleans(), st.booleans())
def test_no_interval_where_fewer_than_six_clusters_bear_on_a_value(given, method, expand, share) -> None:
    above, below = given
    n, bounds = len(above), (0.0, 1.0) if share else (-np.inf, np.inf)
    resampler = Resampler(n, 60, method=method, expand=expand)
    both = mean_of(np.stack([above, np.ones(n)]), np.stack([below, np.ones(n)]))
    found = bootstrap(both, resampler, bounds=bounds)
    enough = np.count_nonzero(below) >= 6
    assert np.isfinite(found.value[0]) == below.any()
    if not enough:
        assert np.isnan([found.low[0], found.high[0]]).all()
    elif share and np.unique(above[below > 0]).tolist() in ([0.0], [1.0]):
        assert found.low[0] <= found.value[0] <= found.high[0]  # all alike: the exact interval
    assert np.isnan(found.low[1]) == (n < 6)
    averaged = bootstrap(WithAverage(both), resampler, bounds=bounds)
    assert enough or np.isnan(averaged.low[-1])  # an average is no surer than its parts


def test_values_that_no_cluster_moves_have_an_interval() -> None:
    """Each of ten users has one unit, so that only several together have r = 1."""
    x = np.arange(10.0)
    found = bootstrap(statistic(x, x, *together(10), ["pearson"]), Resampler(10, 200), bounds=(-1.0, 1.0))
    assert (found.value[0], found.low[0], found.high[0]) == pytest.approx((1, 1, 1))
    few = np.arange(10.0) % 5  # ten units of five users
    found = bootstrap(statistic(few, few, *together(5, 10), ["pearson"]), Resampler(5, 200))
    assert np.isnan(found.low[0])


def together(users: int, units: int = 0) -> tuple[Grouping, Clusters]:
    """Return one group of units, and their users in turn."""
    n = units or users
    return Grouping(np.zeros(n, dtype=np.int64), 1), Clusters(np.arange(n) % users, users)


def test_whoever_makes_an_estimate_of_few_clusters_makes_no_interval() -> None:
    values = np.array([0.5, 0.6])
    few, enough = (Estimate(values, values - 1, values + 1, n) for n in (5, 6))
    assert np.isnan([few.low, few.high]).all()
    assert (enough.low < enough.high).all()
    assert math.isnan(Estimate(0.5, 0.1, 0.9, 5).low)
    assert math.isnan(Resampler(5, 10, expand=False).level)
    assert np.isnan(freedom([0, 5, 6])).tolist() == [True, True, False]


@pytest.mark.slow
def test_intervals_that_are_given_cover() -> None:
    """Units of a user go together, as in the reports of intervals from two users that cover in 52 %."""
    rng, hits = np.random.default_rng(6), 0
    for seed in range(400):
        user = np.repeat(np.arange(6), 12)
        truth = (rng.normal(size=6) * 0.7)[user] + rng.normal(size=72)
        score = 0.5 * truth + np.sqrt(0.75 * 1.49) * rng.normal(size=72)
        group, users = Grouping(np.zeros(72, dtype=np.int64), 1), Clusters(user, 6)
        pearson = statistic(score, truth, group, users, ["pearson"])
        found = bootstrap(pearson, Resampler(6, 400, seed), bounds=(-1.0, 1.0))
        hits += int(found.low[0] <= 0.5 <= found.high[0])
    assert hits >= 0.91 * 400


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
