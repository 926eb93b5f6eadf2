"""Correlation matrices against scipy, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metaeval.stats.coefficients import matrix
from metaeval.stats.coefficients.matrix import correlation_matrix

SCIPY = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall": stats.kendalltau,
}


def table(rng: np.random.Generator) -> np.ndarray:
    x = rng.integers(1, 6, size=(7, 60)).astype(float)
    x[1] = 1e9 + x[0] + rng.normal(size=60)  # a large offset
    x[2, :20] = np.nan
    x[3, 10:30] = np.nan
    x[4] = 3.0  # a constant
    x[5] = np.nan  # nothing at all
    x[6] *= 1e-170
    return x


@pytest.mark.parametrize("coefficient", SCIPY)
@pytest.mark.parametrize("most_compared", [100, 0], ids=["comparing", "sorting"])
def test_each_pair_is_what_scipy_says_of_what_both_have(
    coefficient: str, most_compared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "_MOST_COMPARED", most_compared)
    x = table(np.random.default_rng(3))
    r, n = correlation_matrix(x, coefficient)
    for i, a in enumerate(x):
        for j, b in enumerate(x):
            both = ~np.isnan(a) & ~np.isnan(b)
            assert n[i, j] == both.sum()
            if {i, j} & {4, 5}:
                assert np.isnan(r[i, j])
            else:
                # scipy's own sums lose digits to the offset, and underflow.
                plain = [v[both] - v[both][0] for v in (a, b)]
                expected = SCIPY[coefficient](*(v / np.abs(v).max() for v in plain)).statistic
                assert r[i, j] == pytest.approx(expected, abs=1e-9), (i, j)


def test_blocks_of_signs_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(1).normal(size=(3, 50))
    whole, _ = correlation_matrix(x, "kendall")
    monkeypatch.setattr(matrix, "_BLOCK", 400)
    assert np.array_equal(correlation_matrix(x, "kendall")[0], whole)


def test_a_single_column_has_no_correlation() -> None:
    r, n = correlation_matrix(np.array([[1.0, np.nan], [2.0, np.nan]]), "pearson")
    assert np.isnan(r).all()
    assert (n == 1).all()
