"""The jackknife, against the bootstrap, the definition and formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.ranking.orders import tau_of_means
from metaeval.stats.resampling import bootstrap as bootstrap_module
from metaeval.stats.resampling import cluster_sums as many_clusters
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap
from metaeval.stats.resampling.cluster_sums import (
    LIMIT,
    ClusterSums,
    Stack,
    WithAverage,
    is_smooth,
    jackknife_deviations,
    mean_of,
)
from metaeval.stats.resampling.weights import left_out, percentile_interval
from metaeval.stats.weighted.statistic import statistic
from metaeval.stats.weighted.sums import Clusters

COEFFICIENTS = ("pearson", "spearman", "kendall")


def means(values) -> ClusterSums:
    """Return means of values, shape (means, n_clusters)."""
    return mean_of(np.asarray(values, dtype=float), np.ones(np.shape(values)))


class Opaque:
    """A statistic of which only its values are known."""

    def __init__(self, of) -> None:
        self.at = of.at


def orders(n: int, seed: int = 0, apart: float = 0.0) -> ClusterSums:
    """Return τ of twelve systems by two noisy means each."""
    rng = np.random.default_rng(seed)
    quality = np.arange(12.0)[:, None] * apart
    sums = [np.concatenate([quality + rng.normal(size=(12, n)), np.ones((1, n))]) for _ in range(2)]
    return tau_of_means(*(ClusterSums(s, lambda of: of[:-1] / of[-1:]) for s in sums))


def studied(seed: int, users: int, items: int = 6, *, likert: bool = True):
    """Return scores, ratings, groupings by level, and users with levels of their own."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), items)
    signal = rng.normal(size=len(user))
    y = 3 + 0.5 * rng.normal(size=users)[user] + signal + rng.normal(size=len(user))
    x = 3 + signal + rng.normal(size=len(user))
    y = np.clip(np.rint(y), 1, 5)
    groupings = {
        "dataset": Grouping(np.zeros(len(user), dtype=np.int64), 1),
        "user": Grouping(user, users),
        "item": Grouping(np.tile(np.arange(items), users), items),
        "generator": Grouping(np.tile(np.arange(items), users), items, between=True),
    }
    return np.clip(np.rint(x), 1, 5) if likert else x, y, groupings, Clusters(user, users)


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=30))
def test_deviations_of_a_mean_have_the_variance_that_textbooks_give(values) -> None:
    found = jackknife_deviations(means([values]), len(values))
    assert (found**2).sum() == pytest.approx(np.var(values, ddof=1) / len(values), abs=1e-12)


@given(st.integers(0, 2**32), st.sampled_from(["dataset", "user", "item"]), st.booleans())
def test_deviations_are_those_of_the_studies_without_a_cluster(seed, level, likert) -> None:
    x, y, groupings, by = studied(seed, 12, likert=likert)
    s = statistic(x, y, groupings[level], by, ("pearson",) if level == "dataset" else COEFFICIENTS)
    found = jackknife_deviations(s, 12)
    without = np.concatenate([s.at(w) for w in left_out(12)], axis=1)
    # With the sign of derivatives: a cluster that pulls a value up has a deviation above zero.
    expected = np.sqrt(11 / 12) * (np.nanmean(without, axis=1, keepdims=True) - without)
    np.testing.assert_allclose(found, np.nan_to_num(expected), atol=1e-9)


@given(st.integers(0, 2**32), st.booleans())
def test_derivatives_of_coefficients_are_those_of_small_changes(seed, likert) -> None:
    x, y, groupings, by = studied(seed, 9, likert=likert)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metaeval.stats.weighted.ranks._WORTH", 0)  # as with very many clusters
        s = statistic(x, y, groupings["dataset"], by, COEFFICIENTS)
    step = 1e-5 * np.eye(9)
    change = (s.at(1 + step) - s.at(1 - step)) / 2e-5
    np.testing.assert_allclose(s.influence(), change, atol=1e-8)


def test_derivatives_are_not_known_of_many_small_groups_nor_defined_of_constants() -> None:
    x, y, groupings, by = studied(1, 30)
    assert statistic(x, y, groupings["item"], by, COEFFICIENTS).influence() is None
    ones = np.ones_like(x)
    whole = groupings["dataset"]
    for policy, expected in (("skip", np.nan), ("zero", 0.0)):
        s = statistic(ones, y, whole, Clusters(np.arange(len(x)), len(x)), COEFFICIENTS, undefined=policy)
        with np.errstate(invalid="ignore", divide="ignore"):
            np.testing.assert_array_equal(s.influence(), np.full((3, len(x)), expected))


def test_groups_of_clusters_are_left_out_where_nothing_is_known_of_a_statistic() -> None:
    values = np.random.default_rng(3).normal(size=(2, 5_000))
    exact, rough = (
        jackknife_deviations(s, 5_000) for s in (Stack([means(values)]), Stack([Opaque(means(values))]))
    )
    assert exact.shape == (2, 5_000)
    assert rough.shape == (2, 1_000)
    np.testing.assert_allclose(rough @ rough.T, exact @ exact.T, rtol=0.15, atol=2e-5)
    # Parts that are known and parts that are not share the groups, so that their covariance is right.
    both = jackknife_deviations(Stack([means(values[:1]), Opaque(means(values[:1]))]), 5_000)
    np.testing.assert_allclose(both[0], both[1], atol=1e-12)


def test_sums_that_do_not_fit_are_taken_by_group(monkeypatch) -> None:
    values = np.random.default_rng(4).normal(size=(1, 6_000))
    monkeypatch.setattr(many_clusters, "_ROOM", 8_000)
    found = jackknife_deviations(means(values), 6_000)
    assert found.shape == (1, 4_000)
    assert (found**2).sum() == pytest.approx(values.var() / 6_000, rel=0.08)


def test_orders_of_systems_are_not_smooth_and_are_resampled(monkeypatch) -> None:
    tau = orders(3_000, apart=0.02)
    x, y, groupings, by = studied(2, 20)
    between = [statistic(x, y, groupings["generator"], by, [c]) for c in ("pearson", "kendall")]
    assert [is_smooth(WithAverage(Stack([means([[1.0, 2.0]]), s]))) for s in (*between, tau)] == [
        True,
        False,
        False,
    ]
    below = bootstrap(tau, Resampler(3_000, 500), stretch=False)
    monkeypatch.setattr(bootstrap_module, "LIMIT", 2_000)
    for method in ("percentile", "bca"):
        above = bootstrap(tau, Resampler(3_000, 500, method=method))
        assert (above.low, above.high) == (below.low, below.high)


@pytest.mark.parametrize("method", ["percentile", "bca", "jackknife"])
def test_the_rule(method) -> None:
    assert Resampler(LIMIT, method=method).made_by == method
    assert Resampler(LIMIT + 1, method=method).made_by == "jackknife"


def test_the_jackknife_may_be_asked_for_at_any_number_of_clusters() -> None:
    values = np.random.default_rng(7).normal(3, 2, 400)
    found = bootstrap(means([values]), Resampler(400, method="jackknife"))
    low, high = stats.t.interval(0.95, 399, values.mean(), values.std(ddof=1) / 20)
    assert (found.low[0], found.high[0]) == pytest.approx((low, high), abs=1e-9)
    one = bootstrap(means([[2.0]]), Resampler(1, method="jackknife"))
    assert np.isnan([one.low, one.high]).all()
    none = bootstrap(means([[np.nan] * 9]), Resampler(9, method="jackknife"))
    assert np.isnan([none.low, none.high]).all()


def test_fishers_z_and_log_odds() -> None:
    """Textbooks give the ends of a bounded value on a scale without bounds."""
    n, hits = 400, 6
    clicked = (np.arange(n) < hits).astype(float)
    found = bootstrap(means([clicked]), Resampler(n, method="jackknife"), bounds=(0.0, 1.0))
    p, t = hits / n, stats.t.ppf(0.975, n - 1)
    half = t * np.sqrt(1 / ((n - 1) * p * (1 - p)))
    odds = np.log(p / (1 - p))
    assert found.low[0] == pytest.approx(1 / (1 + np.exp(half - odds)))
    assert found.high[0] == pytest.approx(1 / (1 + np.exp(-half - odds)))
    both = np.array([[0.99] * 50 + [0.8] * 5])
    found = bootstrap(means(both), Resampler(55, method="jackknife"), bounds=(-1.0, 1.0))
    r, error = both.mean(), both.std(ddof=1) / np.sqrt(55)
    z = np.arctanh(r) + np.array([-1, 1]) * stats.t.ppf(0.975, 54) * error / (1 - r * r)
    assert [found.low[0], found.high[0]] == pytest.approx(np.tanh(z).tolist())


def test_a_share_of_nothing_has_an_interval() -> None:
    for share in (0.0, 1.0):
        found = bootstrap(
            means(np.full((1, 50), share)), Resampler(50, method="jackknife"), bounds=(0.0, 1.0)
        )
        ends = sorted(abs(share - end) for end in (found.low[0], found.high[0]))
        assert ends == pytest.approx([0, 1 - 0.025 ** (1 / 50)])


@pytest.mark.slow
def test_above_the_limit_widths_are_those_of_a_thousand_resamples() -> None:
    """Of a mean, a ratio and a correlation over all units, 150,000 clusters."""
    n = 150_000
    rng = np.random.default_rng(8)
    x, y, groupings, by = studied(9, n, items=2)
    shown = rng.poisson(3, n) + 1.0
    values = rng.exponential(size=n) + shown
    whole = statistic(x, y, groupings["dataset"], by, ("pearson", "kendall"))
    every = Stack([means([values]), mean_of(values[None], shown[None]), whole])
    found = bootstrap(every, Resampler(n))
    low, high = percentile_interval(Resampler(n, 1_000).replicates(every), 0.95)
    np.testing.assert_allclose(found.high - found.low, high - low, rtol=0.1)
    np.testing.assert_allclose(found.low, low, atol=0.1 * (high - low).max())
