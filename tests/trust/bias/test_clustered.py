"""Numbers of a judge by aspect and their mean, with intervals and tests."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.cluster_sums import mean_of
from metaeval.trust.bias.clustered import Measured, measured


def of_means(values: np.ndarray, resamples: int = 200) -> Measured:
    """Measure means of values, shape (A, n_clusters), a unit a cluster."""
    return measured(mean_of(values, np.ones_like(values)), Resampler(values.shape[1], resamples), values)


def test_the_average_is_of_all_aspects() -> None:
    values = np.random.default_rng(3).normal(0, 1, (3, 10))
    values[0] += 2
    found = of_means(values)
    assert len(found.value) == len(found.low) == len(found.p) == 4
    assert found.value[-1] == pytest.approx(values.mean())
    assert found.p[0] < 0.05 < found.p[1]


def test_what_is_not_tested_has_no_p() -> None:
    values = np.random.default_rng(1).normal(3, 1, (1, 9))
    found = measured(mean_of(values, np.ones_like(values)), Resampler(9, 50))
    assert found.low[0] < found.value[0] < found.high[0]
    assert np.isnan(found.p).all()


def test_what_is_undefined_stays_so() -> None:
    found = of_means(np.array([[np.nan, 1.0, 2.0]]))
    assert np.isnan([found.value[0], found.low[0], found.p[0]]).all()
    one = of_means(np.array([[2.0]]))
    assert one.value[0] == 2
    assert np.isnan([one.low[0], one.high[0], one.p[0]]).all()
