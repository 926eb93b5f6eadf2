import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.ranking import orders as ranking
from metaeval.stats.ranking.orders import (
    pairwise_accuracy,
    rank_clusters,
    soft_pairwise_accuracy,
    tie_calibrated_accuracy,
    weighted_kendall,
)
from tests.stats import naive

likert = st.integers(1, 5).map(float)
halves = st.integers(-8, 8).map(lambda v: v / 2)
plain = st.integers(-(10**6), 10**6).map(lambda v: v / 1024)


@st.composite
def studies(draw, max_size=24):
    n = draw(st.integers(0, max_size))
    column = st.sampled_from([likert, halves, plain])
    x, y = (np.array(draw(st.lists(draw(column), min_size=n, max_size=n))) for _ in range(2))
    n_groups, n_folds = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    group = np.array(draw(st.lists(st.integers(0, n_groups - 1), min_size=n, max_size=n)), dtype=int)
    fold = np.array(draw(st.lists(st.integers(0, n_folds - 1), min_size=n, max_size=n)), dtype=int)
    return x, y, group, n_groups, fold, n_folds


def is_right(dx, dy, eps):
    if dy == 0:
        return abs(dx) <= eps
    return dx * dy > 0 and abs(dx) > eps


def naive_pairs(x, y, group, fold):
    """All pairs within groups: differences of x and of y, and both folds."""
    return [
        (x[i] - x[j], y[i] - y[j], fold[i], fold[j])
        for i, j in itertools.combinations(range(len(x)), 2)
        if group[i] == group[j]
    ]


def naive_calibrated(x, y, group, fold, n_folds):
    pairs = naive_pairs(x, y, group, fold)
    thresholds, right = [], []
    for k in range(n_folds):
        training = [(dx, dy) for dx, dy, f, g in pairs if k not in {f, g}]
        candidates = sorted({0.0} | {abs(dx) for dx, _ in training})
        thresholds.append(max(candidates, key=lambda e: sum(is_right(*p, e) for p in training)))
        right += [is_right(dx, dy, thresholds[k]) for dx, dy, f, g in pairs if f == k == g]
    return np.mean(right) if right else np.nan, thresholds, len(right)


@given(studies(), st.sampled_from([2, 5, 2**19]))
@settings(max_examples=300)
def test_calibration_equals_the_naive_path(study, block):
    x, y, group, n_groups, fold, n_folds = study
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "BLOCK", block)
        found = tie_calibrated_accuracy(x, y, group, n_groups, fold, n_folds=n_folds)
    accuracy, thresholds, n_pairs = naive_calibrated(x, y, group, fold, n_folds)
    assert naive.same(found.accuracy, accuracy)
    assert found.threshold.tolist() == thresholds
    assert found.n_pairs == n_pairs


@given(studies(), st.sampled_from([0.0, 0.5, 1.0, 3.25, np.inf]))
@settings(max_examples=200)
def test_accuracy_at_a_threshold_equals_the_naive_path(study, eps):
    x, y, group, n_groups, fold, _ = study
    right = [is_right(dx, dy, eps) for dx, dy, *_ in naive_pairs(x, y, group, fold)]
    found = pairwise_accuracy(x, y, group, n_groups, eps)
    assert naive.same(found.accuracy, np.mean(right) if right else np.nan)
    assert found.n_pairs == len(right)


@given(studies(), st.sampled_from([1e-300, 1e-9, 3.0, 1e300]))
@settings(max_examples=100)
def test_the_unit_of_the_score_changes_nothing(study, unit):
    x, y, group, n_groups, fold, n_folds = study
    found = tie_calibrated_accuracy(x, y, group, n_groups, fold, n_folds=n_folds)
    scaled = tie_calibrated_accuracy(x * unit, y, group, n_groups, fold, n_folds=n_folds)
    assert naive.same(scaled.accuracy, found.accuracy)
    grid = 1e-12 * unit * np.abs(x).max(initial=0.0)
    np.testing.assert_allclose(scaled.threshold, found.threshold * unit, rtol=1e-12, atol=grid)


def test_without_ties_it_is_kendalls_tau():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 300))
    found = pairwise_accuracy(x, y, np.zeros(300, dtype=int), 1)
    assert 2 * found.accuracy - 1 == pytest.approx(scipy.stats.kendalltau(x, y).statistic, abs=1e-12)


def test_thresholds_come_from_the_other_folds():
    """Users of fold 0 need a threshold of 0.3, those of fold 1 none: each gets the other's."""
    x = np.array([0.0, 0.3, 1.0, 0.0, 0.3, 1.0])
    y = np.array([1.0, 1.0, 2.0, 1.0, 2.0, 3.0])
    user = np.array([0, 0, 0, 1, 1, 1])
    found = tie_calibrated_accuracy(x, y, user, 2, user, n_folds=2)
    assert found.threshold == pytest.approx([0.0, 0.3], abs=1e-12)
    assert found.accuracy == pytest.approx(4 / 6)


def test_differences_that_only_rounding_tells_apart_are_one():
    thirds = np.array([1.0, 4 / 3, 5 / 3, 2.0, 7 / 3, 8 / 3])
    x = np.concatenate([thirds, thirds])  # 4/3 - 1 and 5/3 - 4/3 are different floats
    y = np.tile([1.0, 1.0, 2.0, 2.0, 3.0, 3.0], 2)
    user, pair = np.repeat([0, 1], 6), np.arange(12) // 2
    found = tie_calibrated_accuracy(x, y, pair, 6, user, n_folds=2)
    assert found.accuracy == 1.0
    for eps in found.threshold:
        assert pairwise_accuracy(x, y, pair, 6, eps).accuracy == 1.0


def test_too_many_pairs_are_sampled_evenly(monkeypatch):
    rng = np.random.default_rng(5)
    n = 3000
    group, fold = rng.integers(0, 3, n), rng.integers(0, 4, n)
    y = rng.integers(1, 6, n).astype(float)
    x = y + rng.normal(size=n)
    every = tie_calibrated_accuracy(x, y, group, 3, fold, n_folds=4)
    every_in_sample = pairwise_accuracy(x, y, group, 3, 0.5)
    monkeypatch.setattr(ranking, "MAX_PAIRS", 100_000)
    few = tie_calibrated_accuracy(x, y, group, 3, fold, n_folds=4, seed=1)
    in_sample = pairwise_accuracy(x, y, group, 3, 0.5, seed=1)
    assert 80_000 < in_sample.n_pairs < 120_000
    assert in_sample.accuracy == pytest.approx(every_in_sample.accuracy, abs=0.03)
    assert few.accuracy == pytest.approx(every.accuracy, abs=0.03)
    assert few.n_pairs < every.n_pairs / 10
    again = tie_calibrated_accuracy(x, y, group, 3, fold, n_folds=4, seed=1)
    assert (again.accuracy, again.n_pairs) == (few.accuracy, few.n_pairs)


def test_refuses_what_cannot_be_paired():
    x, zeros = [1.0, 2.0], [0, 0]
    with pytest.raises(ValueError, match="one length"):
        pairwise_accuracy(x, [1.0], zeros, 1)
    with pytest.raises(ValueError, match="finite"):
        pairwise_accuracy(x, [1.0, np.nan], zeros, 1)
    with pytest.raises(ValueError, match="group from 0 to 0"):
        pairwise_accuracy(x, x, [0, 1], 1)
    with pytest.raises(ValueError, match="eps"):
        pairwise_accuracy(x, x, zeros, 1, np.nan)
    with pytest.raises(ValueError, match="fold from 0 to 1"):
        tie_calibrated_accuracy(x, x, zeros, 1, [-1, 0], n_folds=2)
    with pytest.raises(ValueError, match="folds"):
        tie_calibrated_accuracy(x, x, zeros, 1, zeros, n_folds=1)


def test_soft_pairwise_accuracy():
    truth = np.array([[0.5, 0.01, 0.20], [0.99, 0.5, 0.6], [0.8, 0.4, 0.5]])
    score = np.array([[0.5, 0.05, 0.90], [0.95, 0.5, 0.6], [0.1, 0.4, 0.5]])
    assert soft_pairwise_accuracy(truth, score) == pytest.approx(1 - (0.04 + 0.7 + 0.0) / 3)
    assert soft_pairwise_accuracy(truth, truth) == 1.0
    assert np.isnan(soft_pairwise_accuracy([[0.5]], [[0.5]]))
    with pytest.raises(ValueError, match="square"):
        soft_pairwise_accuracy(truth, score[:2])
    with pytest.raises(ValueError, match="between 0 and 1"):
        soft_pairwise_accuracy(truth, score * np.nan)


def test_certain_p_values_make_pairwise_accuracy():
    """With p-values of 0 and 1 only, it is the share of pairs ordered alike (Thompson et al. 2024)."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 9))
    p, q = (np.where(v[:, None] > v, 0.0, 1.0) for v in (a, b))
    expected = pairwise_accuracy(a, b, np.zeros(9, dtype=int), 1).accuracy
    assert soft_pairwise_accuracy(p, q) == pytest.approx(expected)


def test_clusters_compare_with_the_leader():
    estimates = [0.2, np.nan, 0.9, 0.7, 0.8, 0.1]
    p = np.ones((6, 6))
    p[2, [3, 0]] = 0.01  # the best beats these two, but not the last
    p[4, 3] = 0.01  # of no concern: 4 leads nothing
    p[3, 0] = 0.05
    p[3, 5] = np.nan
    assert rank_clusters(estimates, p, 0.05).tolist() == [3, 0, 1, 2, 1, 1]
    assert rank_clusters(estimates, p, 0.04).tolist() == [2, 0, 1, 2, 1, 1]
    assert rank_clusters([], np.zeros((0, 0)), 0.05).tolist() == []
    with pytest.raises(ValueError, match="p-values"):
        rank_clusters(estimates, p[:3], 0.05)


@given(st.data(), st.integers(1, 8))
@settings(max_examples=100)
def test_who_is_not_worse_than_a_leader_shares_its_cluster(data, n):
    estimates = np.array(data.draw(st.lists(likert, min_size=n, max_size=n)))
    p = np.array(data.draw(st.lists(st.floats(0, 1), min_size=n * n, max_size=n * n))).reshape(n, n)
    clusters = rank_clusters(estimates, p, 0.3)
    assert set(clusters) == set(range(1, clusters.max() + 1))
    order = list(np.argsort(-estimates, kind="stable"))
    leaders = [next(e for e in order if clusters[e] == c) for c in range(1, clusters.max() + 1)]
    assert leaders == sorted(leaders, key=order.index)
    for number, leader in enumerate(leaders, 1):
        for e in range(n):
            if e != leader and clusters[e] >= number:
                assert (p[leader, e] > 0.3) == (clusters[e] == number)


def test_weighted_kendall_leaves_nan_out():
    x, y = [12.0, 2.0, np.nan, 1.0, 12.0, 2.0], [1.0, 4.0, 9.0, 7.0, 1.0, 0.0]
    assert weighted_kendall(x, y) == pytest.approx(-0.56694968153682723)  # the example in scipy's manual
    assert weighted_kendall([1, 2, 3], [2, 4, 9]) == 1.0
    assert np.isnan(weighted_kendall([np.nan, 1.0], [1.0, 2.0]))
    assert np.isnan(weighted_kendall([1.0, 1.0], [1.0, 2.0]))
