"""Statistics that are sums by cluster and a finishing function."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats.coefficients.grouped import pearson
from metaeval.stats.resampling.cluster_sums import ClusterSums, mean_of, summed
from metaeval.stats.resampling.weights import Resamples


def test_sums_are_of_the_units_in_use() -> None:
    found = summed(np.array([[1.0, 2.0, 4.0]]), np.array([[True, False, True]]), np.array([0, 0, 1]), 3)
    assert found.tolist() == [[1, 4, 0]]


@given(st.integers(0, 2**32 - 1))
def test_a_correlation_is_six_sums(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_clusters, n = 4, 30
    cluster = rng.integers(0, n_clusters, n)
    x, y = rng.integers(1, 6, (2, n)).astype(float)
    powers = np.stack([np.ones(n), x, y, x * x, y * y, x * y])
    sums = summed(powers, np.ones(powers.shape, dtype=bool), cluster, n_clusters)

    def r(s):
        m = s[1:] / s[0]
        with np.errstate(all="ignore"):
            return ((m[4] - m[0] * m[1]) / np.sqrt((m[2] - m[0] ** 2) * (m[3] - m[1] ** 2)))[None]

    weights = np.concatenate(list(Resamples(n_clusters, 5, seed).blocks()), axis=1)
    for column, found in zip(weights.T, ClusterSums(sums, r).at(weights)[0], strict=True):
        drawn = np.repeat(np.arange(n), column[cluster].astype(int))
        if len(drawn) and np.ptp(x[drawn]) and np.ptp(y[drawn]):
            np.testing.assert_allclose(found, pearson(x[drawn], y[drawn]), atol=1e-9)


def test_a_mean_of_nothing_is_not_defined() -> None:
    share = mean_of(np.array([[1.0, 0.0]]), np.array([[2.0, 0.0]]))
    np.testing.assert_array_equal(share.at(np.array([[1.0, 0.0], [1.0, 1.0]])), [[0.5, np.nan]])
