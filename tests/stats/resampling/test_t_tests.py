"""Paired tests above the limit, against textbooks, and against permutations where both can be made."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from metaeval.stats.resampling import paired
from metaeval.stats.resampling.cluster_sums import mean_of
from metaeval.stats.resampling.paired import paired_permutation, paired_statistics, paired_test, sign_test
from metaeval.stats.resampling.weights import Swaps
from tests.stats.resampling.test_paired import LEVELS, scored, study


def means(values):
    """Return a statistic per row: its mean over clusters."""
    return [mean_of(v[None], np.ones((1, len(v)))) for v in values]


@pytest.fixture
def above(monkeypatch):
    """Set the limit to a few clusters."""
    monkeypatch.setattr(paired, "LIMIT", 7)


def test_tests_of_means_are_students(above) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=40) + rng.normal(size=(3, 40)) + np.array([[0.0], [0.2], [0.6]])
    found = paired_test([means(values)], Swaps(40, 10))
    assert found.made_by == "jackknife"
    for i, j in ((0, 1), (0, 2), (1, 2)):
        expected = scipy.stats.ttest_rel(values[i], values[j])
        assert found.p[i, j] == found.p[j, i] == pytest.approx(expected.pvalue)
        assert found.difference[i, j] == pytest.approx(values[i].mean() - values[j].mean())
        greater = scipy.stats.ttest_rel(values[i], values[j], alternative="greater").pvalue
        assert (found.p_greater[i, j], found.p_greater[j, i]) == pytest.approx((greater, 1 - greater))
    assert np.isnan(np.diag(found.p)).all()


@pytest.mark.slow
@pytest.mark.parametrize("coefficient", ["pearson", "spearman", "kendall"])
@pytest.mark.parametrize("level", LEVELS[:4])
def test_p_is_about_that_of_permutations(monkeypatch, level, coefficient) -> None:
    x, y, groupings, clusters = study(3, users=150, items=3, evaluators=3, kinds=("likert", "continuous"))
    aspects = [scored(x, y, groupings[level], clusters["user"])]
    swapped = paired_permutation(aspects, coefficient, Swaps(150, 2_000))
    monkeypatch.setattr(paired, "LIMIT", 100)
    found = paired_permutation(aspects, coefficient, Swaps(150, 2_000))
    np.testing.assert_allclose(found.difference, swapped.difference, atol=1e-9)
    np.testing.assert_allclose(found.p, swapped.p, atol=0.08)
    np.testing.assert_allclose(found.p_greater, swapped.p_greater, atol=0.05)


def test_the_mean_over_aspects_is_tested(above) -> None:
    values = np.random.default_rng(1).normal(size=(2, 2, 30))
    both = paired_test([means(v) for v in values], Swaps(30, 10))
    one = paired_test([means(values.mean(axis=0))], Swaps(30, 10))
    assert both.p[0, 1] == pytest.approx(one.p[0, 1])


def test_what_is_the_same_does_not_differ_and_what_is_undefined_has_no_p(above) -> None:
    values = np.random.default_rng(2).normal(size=20)
    found = paired_test([means(np.stack([values, values, values + 1, values * np.nan]))], Swaps(20, 10))
    assert found.p[0, 1] == 1
    assert found.p_greater[0, 1] == 0.5
    assert found.p[0, 2] < 1e-99  # by the same in every cluster
    assert np.isnan(found.p[3]).all()
    assert np.isnan(found.p[:, 3]).all()
    assert paired_test([means(values[None])], Swaps(20, 10)).p.shape == (1, 1)


def test_orders_of_means_are_swapped(above) -> None:
    """One evaluator ranks the generators as the truth does, one at random, and one as the first does."""
    x, y, groupings, clusters = study(5, users=400, generators=8, evaluators=2)
    quality = np.arange(8.0)[groupings["generator"].group]
    rng = np.random.default_rng(5)
    x = np.stack([quality, quality + 0.1, rng.permutation(8)[groupings["generator"].group]])
    x += rng.normal(size=x.shape)
    aspects = [scored(x, y + quality, groupings["generator"], clusters["user"])]
    found = paired_permutation(aspects, "kendall", Swaps(400, 200))
    assert found.made_by == "permutations"
    assert found.p[0, 1] == 1
    assert found.p[0, 2] < 0.01
    apart = paired_statistics([[s.comparable("kendall", "skip") for s in aspects[0]]], Swaps(400, 200))
    np.testing.assert_array_equal(apart.p, found.p)
    pearson = paired_permutation(aspects, "pearson", Swaps(400, 100))
    assert pearson.made_by == "jackknife"
    assert pearson.p[0, 2] < 0.01


def test_sums_of_signs_are_normal(monkeypatch) -> None:
    contributions = np.random.default_rng(7).normal(0.1, 1, size=(3, 200))
    swaps = Swaps(200, 20_000)
    plain, largest = sign_test(contributions, swaps), sign_test(contributions, swaps, largest=True)
    monkeypatch.setattr(paired, "LIMIT", 100)
    np.testing.assert_allclose(sign_test(contributions, swaps), plain, atol=0.02)
    np.testing.assert_allclose(sign_test(contributions, swaps, largest=True), largest, atol=0.02)
    contributions[1] = np.nan
    found = sign_test(contributions, swaps)
    assert np.isnan(found).tolist() == [False, True, False]
    np.testing.assert_allclose(found[[0, 2]], plain[[0, 2]], atol=0.02)
