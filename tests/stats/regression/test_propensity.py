"""Planted propensities are found again, whatever the share of negatives that was sampled."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from metaeval.stats.regression.propensity import calibration_of, cross_fitted, quantile_bins


def drawn(seed, slopes, intercept, n=20_000, clusters=80):
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(n, len(slopes)))
    p = expit(x @ slopes + intercept)
    return x, p, (draw.random(n) < p).astype(int), np.arange(n) % clusters, draw


@settings(max_examples=4)
@given(st.integers(0, 2**32), st.tuples(st.floats(-1, 1), st.floats(-1, 1)), st.floats(-4, 0))
def test_planted_propensities_are_found_from_a_sample_of_the_negatives(seed, slopes, intercept) -> None:
    x, p, y, cluster, draw = drawn(seed, slopes, intercept)
    kept = (y == 1) | (draw.random(len(y)) < 0.2)
    weight = np.where(y == 1, 1.0, 5.0)
    model = cross_fitted(
        x[kept], y[kept], weight[kept], cluster[kept], n_clusters=80, folds=5, seed=seed % 1000
    )
    found = model.probability(x, cluster)
    assert np.abs(np.log(found / p)).mean() < 0.25
    assert abs(found.mean() / y.mean() - 1) < 0.1


def test_a_cluster_is_predicted_without_it() -> None:
    x, _, y, cluster, _ = drawn(1, (1.0,), -1.0, n=2000, clusters=6)
    fitted = [
        cross_fitted(x, labels, np.ones(2000), cluster, n_clusters=6, folds=6, seed=0).probability(x, cluster)
        for labels in (y, np.where(cluster == 3, 1 - y, y))
    ]
    same = np.isclose(*fitted, rtol=1e-3)
    # Only the models of the others' folds have seen the labels of cluster 3.
    assert same[cluster == 3].all()
    assert same[cluster != 3].mean() < 0.1


def test_a_feature_that_does_not_vary_changes_nothing() -> None:
    x, _, y, cluster, _ = drawn(2, (1.0,), -1.0, n=2000)
    how = {"n_clusters": 80, "folds": 4, "seed": 0}
    plain = cross_fitted(x, y, np.ones(2000), cluster, **how).probability(x, cluster)
    wide = np.column_stack([x, np.ones(2000)])
    np.testing.assert_allclose(
        cross_fitted(wide, y, np.ones(2000), cluster, **how).probability(wide, cluster), plain
    )


def test_calibration_and_auc() -> None:
    _, p, y, _, _ = drawn(3, (1.5,), -2.0)
    found = calibration_of(p, y, np.ones(len(p)))
    assert len(found.predicted) == 10
    np.testing.assert_allclose(found.predicted, found.happened, atol=0.04)
    assert found.weight.sum() == len(p)
    assert calibration_of(-p, y, np.ones(len(p))).auc == pytest.approx(1 - found.auc)


def test_one_outcome_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="one outcome"):
        cross_fitted(
            np.ones((4, 1)), np.ones(4, int), np.ones(4), np.arange(4), n_clusters=4, folds=2, seed=0
        )


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(1, 6))
def test_bins_rise_with_the_value_and_none_is_empty(values, n) -> None:
    bins = quantile_bins(values, n)
    of = bins.of(values)
    order = np.argsort(values, kind="stable")
    assert (np.diff(of[order]) >= 0).all()
    assert sorted(set(of)) == list(range(bins.n))
    assert bins.n <= n
    for value in set(values):
        assert len(set(of[np.array(values) == value])) == 1


def test_distinct_values_are_split_evenly_and_nan_is_left_out() -> None:
    assert np.bincount(quantile_bins([*range(10), np.nan], 5).of(range(10))).tolist() == [2] * 5
    assert quantile_bins([np.nan], 3).n == 1
