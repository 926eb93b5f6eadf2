from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from metaeval.stats.ranking import orders as ranking
from metaeval.stats.ranking.orders import (
    label_pairs,
    rank_biased_overlap,
    soft_pairwise_accuracy,
    tau_ap,
    tau_ap_b,
    tau_of_means,
    tie_calibrated_accuracy,
    tied_share,
    top_tau,
    weighted_kendall,
)
from metaeval.stats.resampling.cluster_sums import mean_of
from metaeval.stats.resampling.weights import Resamples
from tests.examples import examples
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
    return x, y, group, fold, n_folds


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
@settings(max_examples=examples(300))
def test_calibration_equals_the_naive_path(study, block):
    x, y, group, fold, n_folds = study
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "BLOCK", block)
        found = tie_calibrated_accuracy(x, y, group, fold, n_folds=n_folds)
    accuracy, thresholds, n_pairs = naive_calibrated(x, y, group, fold, n_folds)
    assert naive.same(found.accuracy, accuracy)
    assert found.threshold.tolist() == thresholds
    assert found.n_pairs == n_pairs
    pairs = [(i, j) for i in range(len(x)) for j in range(i) if group[i] == group[j]]
    apart = [abs(x[i] - x[j]) for i, j in pairs]
    best = [
        sum(
            y[i] == y[j] if d <= limit else (x[i] - x[j]) * (y[i] - y[j]) > 0
            for (i, j), d in zip(pairs, apart, strict=True)
        )
        for limit in {0.0, *apart}
    ]
    assert naive.same(found.same, max(best) / len(pairs) if pairs else np.nan)


@given(studies())
@settings(max_examples=examples(100))
def test_the_share_of_ties_is_that_of_all_pairs(study):
    _, y, group, *_ = study
    tied = [dy == 0 for _, dy, *_ in naive_pairs(y, y, group, group)]
    assert naive.same(tied_share(y, group), np.mean(tied) if tied else np.nan)


@given(studies(), st.sampled_from([1e-300, 1e-9, 3.0, 1e300]))
@settings(max_examples=examples(100))
def test_the_unit_of_the_score_changes_nothing(study, unit):
    x, y, group, fold, n_folds = study
    found = tie_calibrated_accuracy(x, y, group, fold, n_folds=n_folds)
    scaled = tie_calibrated_accuracy(x * unit, y, group, fold, n_folds=n_folds)
    assert naive.same(scaled.accuracy, found.accuracy)
    grid = 1e-12 * unit * np.abs(x).max(initial=0.0)
    np.testing.assert_allclose(scaled.threshold, found.threshold * unit, rtol=1e-12, atol=grid)


def test_differences_that_only_rounding_tells_apart_are_one():
    thirds = np.array([1.0, 4 / 3, 5 / 3, 2.0, 7 / 3, 8 / 3])
    x = np.concatenate([thirds, thirds])  # 4/3 - 1 and 5/3 - 4/3 are different floats
    y = np.tile([1.0, 1.0, 2.0, 2.0, 3.0, 3.0], 2)
    user, pair = np.repeat([0, 1], 6), np.arange(12) // 2
    found = tie_calibrated_accuracy(x, y, pair, user, n_folds=2)
    assert found.accuracy == 1.0


def test_too_many_pairs_are_sampled_evenly(monkeypatch):
    rng = np.random.default_rng(5)
    n = 3000
    group, fold = rng.integers(0, 3, n), rng.integers(0, 4, n)
    y = rng.integers(1, 6, n).astype(float)
    x = y + rng.normal(size=n)
    every = tie_calibrated_accuracy(x, y, group, fold, n_folds=4)
    monkeypatch.setattr(ranking, "MAX_PAIRS", 100_000)
    few = tie_calibrated_accuracy(x, y, group, fold, n_folds=4, seed=1)
    assert few.accuracy == pytest.approx(every.accuracy, abs=0.03)
    assert few.n_pairs < every.n_pairs / 10
    again = tie_calibrated_accuracy(x, y, group, fold, n_folds=4, seed=1)
    assert (again.accuracy, again.n_pairs) == (few.accuracy, few.n_pairs)


def test_soft_pairwise_accuracy():
    truth = np.array([[0.5, 0.01, 0.20], [0.99, 0.5, 0.6], [0.8, 0.4, 0.5]])
    score = np.array([[0.5, 0.05, 0.90], [0.95, 0.5, 0.6], [0.1, 0.4, 0.5]])
    assert soft_pairwise_accuracy(truth, score) == pytest.approx(1 - (0.04 + 0.7 + 0.0) / 3)
    assert soft_pairwise_accuracy(truth, truth) == 1.0
    assert np.isnan(soft_pairwise_accuracy([[0.5]], [[0.5]]))


def test_weighted_kendall_leaves_nan_out():
    x, y = [12.0, 2.0, np.nan, 1.0, 12.0, 2.0], [1.0, 4.0, 9.0, 7.0, 1.0, 0.0]
    assert weighted_kendall(x, y) == pytest.approx(-0.56694968153682723)  # the example in scipy's manual
    assert weighted_kendall([1, 2, 3], [2, 4, 9]) == 1.0
    assert np.isnan(weighted_kendall([np.nan, 1.0], [1.0, 2.0]))
    assert np.isnan(weighted_kendall([1.0, 1.0], [1.0, 2.0]))


@given(
    units=st.lists(
        st.tuples(st.sampled_from([-1.5, 0.0, 1.0, 1e9]), st.integers(0, 3), st.integers(0, 2)), max_size=30
    )
)
def test_pairs_of_labels_are_those_of_a_loop(units):
    expected = {(high, low): np.zeros((3, 3)) for high in range(4) for low in range(high)}
    for one, other in itertools.permutations(units, 2):
        (score, label, group), (other_score, other_label, other_group) = one, other
        if group == other_group and label > other_label:
            counts = expected[label, other_label]
            counts[:, group] += [score > other_score, score == other_score, 1]
    scores, labels, group = (np.array([u[i] for u in units]) for i in range(3))
    found = label_pairs(scores.astype(float), labels.astype(int), 4, group.astype(int), 3)
    counted = {(p.high, p.low): np.stack([p.agree, p.tie, p.pairs]) for p in found}
    assert counted.keys() == expected.keys()
    for pair, counts in expected.items():
        np.testing.assert_array_equal(counted[pair], counts)


VALUES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=5)


def naive_ap(x, y):
    """Return τ_AP loop by loop (Yilmaz et al. 2008, eq. 7), the mean over all orders of what x ties."""
    means = []
    for order in itertools.permutations(range(len(x))):
        if all(x[i] >= x[j] for i, j in itertools.pairwise(order)):
            shares = [np.mean([np.sign(y[j] - y[i]) for j in order[:at]]) for at, i in enumerate(order) if at]
            means.append(np.mean(shares))
    return np.mean(means)


@given(pairs=VALUES)
def test_tau_ap_is_that_of_naive_loops(pairs):
    x, y = zip(*pairs, strict=True)
    assert tau_ap(x, y) == pytest.approx(naive_ap(x, y))


RAW = {
    "x": [
        [0.897, 0.372, 0.908, 0.898, 0.661, 0.062, 0.177, 0.384, 0.498, 0.992],
        [0.266, 0.573, 0.202, 0.945, 0.629, 0.206, 0.687, 0.77, 0.718, 0.38],
        [0.185, 0.573, 0.944, 0.129, 0.468, 0.553, 0.761, 0.405, 0.976, 0.445],
    ],
    "y": [
        [0.82, 0.406, 0.817, 0.953, 0.673, 0.073, 0.364, 0.547, 0.589, 0.988],
        [0.263, 0.843, 0.728, 0.928, 0.08, 0.114, 0.467, 0.641, 0.973, 0.644],
        [0.845, 0.272, 0.275, 0.924, 0.605, 0.334, 0.162, 0.872, 0.018, 0.25],
    ],
}


def test_both_tau_ap_are_those_of_their_authors():
    """The vectors and the values of the tests of pyircor; ties by rounding to tenths."""
    for x, y, a, b, tied_a, tied_b in zip(
        *RAW.values(),
        (0.8519, 0.2504, -0.6971),
        (0.8333, 0.2880, -0.668),
        (0.7454, 0.2692, -0.5558),
        (0.7321, 0.297, -0.7047),
        strict=True,
    ):
        tied = np.round([x, y], 1)
        found = tau_ap(y, x), tau_ap_b(x, y), tau_ap(tied[1], x), tau_ap_b(*tied), tau_ap_b(*tied[::-1])
        assert found == pytest.approx((a, b, tied_a, tied_b, tied_b), abs=5e-5)
    assert np.isnan(tau_ap_b([1, 2], [0, 0]))


def test_rank_biased_overlap_by_hand_and_over_all_orders_of_ties():
    # Two systems in reverse share nothing at rank 1 and both at rank 2.
    assert rank_biased_overlap([2, 1], [1, 2], 0.5) == pytest.approx(0.5 * 0.5 * 1 + 0.25 * 1)
    assert rank_biased_overlap([3, 2, 1], [30, 20, 10]) == pytest.approx(1)
    orders = [rank_biased_overlap([1, *two], [1, 2, 3]) for two in ((3, 2), (2, 3))]
    assert rank_biased_overlap([1, 2, 2], [1, 2, 3]) == pytest.approx(np.mean(orders))


@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(1, 6))
def test_tau_of_means_is_that_of_scipy_in_every_resample(seed, systems, users):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 4, (2, systems, users)).astype(float)
    counted = np.ones(x.shape)
    statistic = tau_of_means(mean_of(x, counted), mean_of(y, counted))
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
