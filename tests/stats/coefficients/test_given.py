"""Correlations given a group: against statsmodels, scipy, plain loops, and printed examples."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from metaeval.stats.coefficients.given import GIVEN, given_group, given_group_estimates
from metaeval.stats.weighted.sums import Clusters


def found_of(x, y, group, threshold=0.0):
    found = given_group(np.asarray(x, float), np.asarray(y, float), np.asarray(group), threshold)
    return dict(zip(GIVEN, found, strict=True))


def drawn(seed=0, n=120, groups=6):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n)
    y = rng.integers(1, 6, n).astype(float)
    return y + group + rng.normal(size=n), y, group


# Tables of counts, with tau-c as printed: Job satisfaction by income (Agresti 2002, as DescTools prints it).
TAU_C = {((26, 26, 23, 18, 9), (6, 7, 9, 14, 23)): 0.4110953}


@pytest.mark.parametrize("table", TAU_C)
def test_tau_c_as_printed(table) -> None:
    row, column = (np.repeat(at.ravel(), np.ravel(table)) for at in np.indices(np.shape(table)))
    assert found_of(row, column, np.zeros(len(row), int))["tau_c"] == pytest.approx(TAU_C[table], abs=5e-8)


def test_the_mean_of_fishers_z_as_printed() -> None:
    # Averages of .2, .4 and .9 by z: tanh of the mean of .2027, .4236 and 1.4722.
    x, y, group = [], [], []
    for g, r in enumerate((0.2, 0.4, 0.9)):
        one, other = np.array([1.0, -1.0, 1.0, -1.0]), np.array([1.0, 1.0, -1.0, -1.0])
        x += [*one]
        y += [*(r * one + np.sqrt(1 - r * r) * other)]
        group += [g] * 4
    assert found_of(x, y, group)["fisher_pearson"] == pytest.approx(
        np.tanh(np.mean([0.2027, 0.4236, 1.4722])), abs=1e-4
    )


@pytest.mark.parametrize("seed", range(5))
def test_partial_correlations_are_those_of_residuals(seed) -> None:
    x, y, group = drawn(seed)
    dummies = (group[:, None] == np.unique(group)).astype(float)
    found = found_of(x, y, group)
    for name, (one, other) in {
        "partial_pearson": (x, y),
        "partial_spearman": (stats.rankdata(x), stats.rankdata(y)),
    }.items():
        left = [sm.OLS(v, dummies).fit().resid for v in (one, other)]
        assert found[name] == pytest.approx(stats.pearsonr(*left).statistic)
    of_groups = [stats.pearsonr(x[group == g], y[group == g]).statistic for g in np.unique(group)]
    assert found["fisher_pearson"] == pytest.approx(np.tanh(np.arctanh(of_groups).mean()))
    assert found["tau_c"] == pytest.approx(stats.kendalltau(x, y, variant="c").statistic)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5), st.integers(0, 2)), min_size=2, max_size=15),
    st.sampled_from([0.0, 1.0, 2.0]),
)
def test_pairs_and_differences_are_those_of_a_loop(rows, threshold) -> None:
    x, y, group = (np.array(v, dtype=float) for v in zip(*rows, strict=True))
    found = found_of(x, y, group.astype(int), threshold)
    pairs = [(i, j) for i, j in combinations(range(len(x)), 2) if group[i] == group[j]]
    clear = [(i, j) for i, j in pairs if abs(y[i] - y[j]) >= threshold and y[i] != y[j]]
    alike = [(x[i] - x[j]) * (y[i] - y[j]) > 0 for i, j in clear]
    expected = (2 * sum(alike) - len(clear)) / len(clear) if clear else np.nan
    assert found["clear_pairs"] == pytest.approx(expected, nan_ok=True)
    both = np.array([(x[i] - x[j], y[i] - y[j]) for i, j in [*pairs, *((j, i) for i, j in pairs)]])
    varies = len(both) and both.any(axis=0).all()
    r = np.corrcoef(both.T)[0, 1] if varies else np.nan
    assert found["differences"] == pytest.approx(r, nan_ok=True)


@pytest.mark.slow
def test_the_jackknife_covers_the_partial_correlation() -> None:
    inside = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        user = np.repeat(np.arange(30), 8)
        group = np.tile(np.arange(8), 30)
        shared = rng.normal(size=240)
        x, y = shared + rng.normal(size=240) + group, shared + rng.normal(size=240) + 2 * group
        found = given_group_estimates(x, y, group, Clusters(user, 30))
        inside += found.low[0] <= 0.5 <= found.high[0]
    assert 183 <= inside <= 198
