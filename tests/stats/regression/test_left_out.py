"""Predictions by the other points against another implementation, and R²."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.isotonic import IsotonicRegression

from metaeval.stats.regression.isotonic import left_out, r_squared
from tests.examples import examples


@settings(max_examples=examples(50), deadline=None)
@given(arrays(np.float64, 8, elements=st.floats(-1, 1)), arrays(np.float64, 8, elements=st.floats(0, 1)))
def test_predictions_are_those_of_another_implementation(x, y):
    x = np.round(x, 2)
    expected = np.full(8, np.nan)
    for s in range(8):
        others = np.arange(8) != s
        if x[others].min() <= x[s] <= x[others].max():
            expected[s] = IsotonicRegression().fit(x[others], y[others]).predict(x[s : s + 1])[0]
    found = left_out(np.stack([x, -x], axis=1), np.stack([y, y], axis=1))
    assert found[:, 0] == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(arrays(np.float64, 8, elements=st.floats(0, 1)))
def test_r2_is_one_of_right_predictions_and_zero_of_the_mean_of_the_others(y):
    others = (y.sum() - y) / 7
    if np.square(y - others).sum() > 1e-6:
        assert r_squared(y, y) == 1
        assert r_squared(y, others) == pytest.approx(0, abs=1e-9)
    assert np.isnan(r_squared(y, np.where(np.arange(8) < 2, y, np.nan)))
