"""Alpha by sums of clusters against the plain one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats.agreement.raters import alpha_sums, krippendorff_alpha


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_all_clusters_once_are_the_plain_alpha(seed: int, nominal: bool) -> None:
    rng = np.random.default_rng(seed)
    ratings = rng.integers(0, 4, (3, 30)).astype(float)
    ratings[rng.random(ratings.shape) < 0.2] = np.nan
    of_unit = np.arange(30) // 5
    drawn = np.array([0, 2, 2, 5, 1, 1])  # a resample, as weights and as units
    units = np.concatenate([np.flatnonzero(of_unit == cluster) for cluster in drawn])
    weights = np.stack([np.ones(6), np.bincount(drawn, minlength=6)], axis=1).astype(float)
    found = alpha_sums(ratings, of_unit, 6, 4 if nominal else 0).at(weights)[0]
    level = "nominal" if nominal else "interval"
    wanted = [krippendorff_alpha(table, level) for table in (ratings, ratings[:, units])]
    assert found == pytest.approx(wanted, abs=1e-9, nan_ok=True)
