"""Tests of clustered means, held against dense matrix algebra and against simulated studies."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from metaeval.trust.gate.rules import cluster_mean

ENDS = {"least": 1.0, "most": 5.0}


def dense(values: np.ndarray, cluster: np.ndarray) -> tuple[float, float]:
    """Return the CR2 standard error and Bell-McCaffrey's degrees of freedom by the textbook's matrices."""
    n = len(values)
    x = np.ones((n, 1))
    inverse = np.linalg.inv(x.T @ x)
    hat = np.eye(n) - x @ inverse @ x.T
    parts = []
    for c in np.unique(cluster):
        here = np.flatnonzero(cluster == c)
        own = np.eye(len(here)) - x[here] @ inverse @ x[here].T
        roots, vectors = np.linalg.eigh(own)
        adjusted = vectors @ np.diag(roots**-0.5) @ vectors.T
        parts.append(hat[here].T @ adjusted @ x[here] @ inverse)  # (n, 1)
    g = np.concatenate(parts, axis=1)
    variance = sum(float((p.T @ values)[0]) ** 2 for p in parts)
    inner = g.T @ g
    return math.sqrt(variance), float(np.trace(inner) ** 2 / (inner**2).sum())


@pytest.mark.parametrize("seed", range(5))
def test_error_and_degrees_of_freedom_are_those_of_the_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, 7, 40)
    values = rng.integers(1, 6, 40) + rng.normal(size=7)[cluster]
    found = cluster_mean(values, cluster, **ENDS)
    se, df = dense(values, cluster)
    assert found.value == pytest.approx(values.mean())
    assert found.se == pytest.approx(se)
    assert found.df == pytest.approx(df)
    assert (found.n_units, found.n_clusters) == (40, len(np.unique(cluster)))


def test_units_that_are_their_own_clusters_have_student_s_t() -> None:
    values = np.array([3.0, 4.0, 5.0, 2.0, 4.0, 4.0])
    found = cluster_mean(values, range(6), **ENDS)
    expected = stats.ttest_1samp(values, 3.0, alternative="greater")
    assert found.p_above(3.0) == pytest.approx(expected.pvalue)
    assert found.df == pytest.approx(5)
    both_sides = stats.ttest_1samp(values, 3.0).confidence_interval(0.9)
    assert found.ends(0.05) == pytest.approx((both_sides.low, min(5.0, both_sides.high)))
    assert all(map(math.isnan, cluster_mean(values[:5], range(5), **ENDS).ends(0.05)))


def test_where_all_are_alike_few_clusters_prove_little() -> None:
    few = cluster_mean([5.0] * 3, range(3), **ENDS)
    assert few.se == 0
    assert few.p_above(4.2) == pytest.approx((1 - 0.8 / 4) ** 3)  # of 5 with a share of 0.2 at 1
    assert few.p_above(4.2) > 0.05
    many = cluster_mean([5.0] * 100, range(100), **ENDS)
    assert many.p_above(4.2) < 0.001
    low, high = many.ends(0.05)
    assert (low, high) == (pytest.approx(5 - (1 - 0.05**0.01) * 4), 5.0)
    assert many.p_above(low) == pytest.approx(0.05)
    assert many.p_below(5.0) == 1.0


def test_one_cluster_or_none_says_nothing() -> None:
    one = cluster_mean([3.0, 4.0], ["u", "u"], **ENDS)
    assert one.value == 3.5
    assert math.isnan(one.p_above(1.0))
    assert all(map(math.isnan, one.ends(0.05)))
    assert math.isnan(one.smallest_effect(0.05))
    assert math.isnan(cluster_mean([], [], **ENDS).value)
    with pytest.raises(ValueError, match="finite"):
        cluster_mean([math.nan], [1], **ENDS)
