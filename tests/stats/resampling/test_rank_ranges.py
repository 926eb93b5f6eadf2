"""Rank ranges and who may be the best: against loops over the definition, and what cannot be told."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.resampling.bootstrap import jackknife
from metaeval.stats.resampling.cluster_sums import Stack, WithAverage, mean_of
from metaeval.stats.resampling.rank_ranges import contributions, range_text, ranges_of, rank_ranges
from metaeval.stats.resampling.weights import Resamples
from metaeval.stats.weighted.statistic import statistic
from metaeval.stats.weighted.sums import Clusters

DRAWS = 400


def study(k, n, seed=0, apart=0.6):
    """Return contributions of n clusters to k means, of which the first is the best."""
    rng = np.random.default_rng(seed)
    x = rng.exponential(size=(k, n)) + rng.normal(size=n) - apart * np.arange(k)[:, None]
    return x.mean(axis=1), x


def looped(theta, psi, alpha, seed):
    """Do what `rank_ranges` does pair by pair and step by step."""
    k, n = psi.shape
    weights = np.concatenate([*Resamples(n, DRAWS, seed).blocks()], axis=1)
    z, t = np.zeros((k, k)), np.zeros((k, k, DRAWS))
    for i in range(k):
        for j in range(k):
            if i == j:
                continue
            d = psi[i] - psi[j]
            d = d - d.mean()
            error = d.std(ddof=1) / np.sqrt(n)
            z[i, j] = (theta[i] - theta[j]) / error
            for b, w in enumerate(weights.T):
                mean = (w * d).sum() / n
                var = (w * (d - mean) ** 2).sum() / n
                t[i, j, b] = mean / max(np.sqrt(var / (n - 1)), 0.4 * error)

    def rejected(family):
        left, out = list(family), []
        while left:
            largest = np.max([t[h] for h in left], axis=0)
            now = [h for h in left if (1 + (largest >= z[h]).sum()) / (1 + DRAWS) <= alpha]
            if not now:
                return out
            out, left = out + now, [h for h in left if h not in now]
        return out

    low, high, best, better = [], [], [], np.zeros((k, k), dtype=bool)
    for i in range(k):
        others = [j for j in range(k) if j != i]
        found = rejected([(i, j) for j in others] + [(j, i) for j in others])
        low.append(1 + sum(h[1] == i for h in found))
        high.append(k - sum(h[0] == i for h in found))
        largest = np.max([t[j, i] for j in others], axis=0)
        best.append((1 + (largest >= max(z[j, i] for j in others)).sum()) / (1 + DRAWS))
        for h in rejected([(j, i) for j in others]):
            better[h] = True
    return low, high, best, better


@pytest.mark.parametrize(("k", "n", "apart"), [(2, 6, 0.5), (4, 12, 0.6), (6, 25, 0.3)])
def test_the_procedure_is_its_definition(k, n, apart):
    theta, psi = study(k, n, seed=k, apart=apart)
    found = rank_ranges(theta, psi, draws=DRAWS, seed=3)
    low, high, best, better = looped(theta, psi, 0.05, 3)
    assert (found.low.tolist(), found.high.tolist()) == (low, high)
    np.testing.assert_allclose(found.p_best, best, atol=1e-12)
    np.testing.assert_array_equal(found.p_better <= 0.05, better)
    assert better.any()


@given(st.integers(0, 10_000), st.integers(2, 7), st.integers(6, 40), st.floats(0, 1))
def test_ranges_are_of_all_and_in_order_of_names_or_not(seed, k, n, apart):
    theta, psi = study(k, n, seed, apart)
    found = rank_ranges(theta, psi, np.ones((k, k)), draws=DRAWS)
    by_rank = np.argsort(np.argsort(-theta)) + 1
    assert ((found.low <= by_rank) & (by_rank <= found.high)).all()
    assert found.p_best[theta.argmax()] > 0.05, "the best of the study may be the best"
    assert (np.nanmin(found.p_better, axis=0) >= found.p_best - 1e-12).all()
    assert (found.low_all == 1).all()
    assert (found.high_all == k).all()
    order = np.random.default_rng(seed).permutation(k)
    moved = rank_ranges(theta[order], psi[order], np.ones((k, k)), draws=DRAWS)
    np.testing.assert_array_equal(moved.low, found.low[order])
    np.testing.assert_allclose(moved.p_best, found.p_best[order], atol=1e-12)
    # Scale and level do not matter; and what is lower is better, turned round, neither.
    other = rank_ranges(5 + 3 * theta, 3 * psi, draws=DRAWS)
    np.testing.assert_array_equal(other.high, found.high)


def test_ranges_count_who_is_shown_better_and_worse():
    better = np.zeros((4, 4), dtype=bool)
    better[0, [1, 2]] = better[1, 2] = True
    low, high = ranges_of(better, np.array([True, True, True, False]))
    assert [*map(range_text, low.tolist(), high.tolist())] == ["1", "2", "3", ""]
    assert [*map(range_text, *(end.tolist() for end in ranges_of(better)))] == ["1–2", "2–3", "3–4", "1–4"]


def test_all_ranges_at_once_come_from_holm_and_of_many_from_all_pairs():
    theta, psi = study(5, 30)
    p = np.full((5, 5), 0.5)
    p[0, 4] = p[4, 0] = 0.01
    found = rank_ranges(theta, psi, p, draws=DRAWS)
    assert found.low_all.tolist() == [1, 1, 1, 1, 2]
    assert found.high_all.tolist() == [4, 5, 5, 5, 5]
    theta, psi = study(31, 30, apart=0.2)
    many = rank_ranges(theta, psi, draws=DRAWS)
    assert (many.low_all <= many.low).all()
    assert (many.high <= many.high_all).all()
    assert (many.low_all > 1).any()
    few = rank_ranges(theta, psi[:, :9], draws=DRAWS)
    assert np.isnan(few.low_all).all()
    assert not np.isnan(few.low).any()


def test_what_cannot_be_tested_and_what_is_not_compared():
    theta, psi = study(4, 30, apart=1.5)
    none = rank_ranges(theta, psi[:, :5], draws=DRAWS)
    assert np.isnan([none.low, none.high, none.p_best]).all()
    # A difference that every cluster adds alike has no error: unequal values, and neither is better.
    theta, psi = np.append(theta, theta[0] + 0.1), np.vstack([psi, psi[0] + 0.1])
    theta[2] = np.nan
    found = rank_ranges(theta, psi, draws=DRAWS)
    assert found.untested == 1
    assert (found.low[0], found.low[4], found.high[0], found.high[4]) == (1, 1, 2, 2)
    assert found.p_best[[0, 4]].min() > 0.05
    assert np.isnan([found.error[0, 4], found.low[2], *found.p_better[2]]).all()
    assert found.high[3] == 4, "of four that are compared"
    same = rank_ranges(np.zeros(2), np.vstack([psi[0], psi[0]]), draws=DRAWS)
    assert (same.untested, same.p_best.tolist()) == (0, [1, 1])


@pytest.mark.parametrize("coefficient", ["pearson", "spearman", "kendall"])
@pytest.mark.parametrize("values", [5, 1000])
@pytest.mark.parametrize("addable", [True, False])
def test_contributions_have_the_sign_of_pseudo_values(coefficient, values, addable):
    """Some evaluators take derivatives and some leave clusters out: their signs have to be the same."""
    rng, n = np.random.default_rng(0), 24
    of_unit = np.repeat(np.arange(n), 20)
    y = rng.integers(1, 6, of_unit.size) + 0.0
    x = y * rng.exponential(size=n)[of_unit] + np.floor(values * rng.random(of_unit.size)) / values * 4
    x = np.rint(x) if values == 5 else x
    group = Grouping(np.zeros(of_unit.size, dtype=np.int64), 1)
    mean = WithAverage(
        Stack(
            [
                statistic(v, y, group, Clusters(of_unit, n), [coefficient], addable=addable)
                for v in (x, np.rint(x))
            ]
        )
    )
    theta = mean.at(np.ones((n, 1)))[-1, 0]
    pseudo = n * theta - (n - 1) * jackknife(mean, n)[-1]
    found = contributions(mean, n)[-1]
    assert np.corrcoef(found, pseudo)[0, 1] > 0.99
    assert found.std() == pytest.approx(pseudo.std(), rel=0.05)
    assert abs(found.mean()) < 1e-9


def test_many_clusters_are_put_together():
    x = np.random.default_rng(0).normal(size=(2, 20_000))
    x[0] += 0.03
    psi = np.stack([contributions(mean_of(row[None], np.ones_like(row)[None]), len(row))[0] for row in x])
    assert psi.shape == (2, 500)
    found = rank_ranges(x.mean(axis=1), psi, draws=2000)
    assert found.error[0, 1] == pytest.approx((x[0] - x[1]).std() / np.sqrt(20_000), rel=0.1)
    assert found.low.tolist() == [1, 2]
