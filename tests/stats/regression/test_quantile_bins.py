"""Bins at quantiles: equal values together, and none empty."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats.regression.quantile_bins import quantile_bins


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
