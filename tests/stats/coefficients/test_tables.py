from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.coefficients.tables import ContingencyTables, GroupSums, common_denominator, encode
from tests.examples import examples


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_codes_keep_the_order_and_give_the_values_back(values):
    coded = encode(values)
    assert (coded.values[coded.codes[0]] == np.array(values)).all()
    order = np.argsort(values, kind="stable")
    assert (np.diff(coded.codes[0][order].astype(int)) >= 0).all()


def test_rows_are_coded_one_by_one():
    coded = encode([[1.5, 0.5], [0.5, 0.25]])
    assert (coded.values[coded.codes] == [[1.5, 0.5], [0.5, 0.25]]).all()
    assert (coded.codes[:, 0] > coded.codes[:, 1]).all()


def test_cells_are_counts():
    tables = ContingencyTables.of(encode([1, 1, 2, 2, 2.0]), encode([3, 3, 4, 5, 4.0]), [0, 0, 1, 1, 1], 3)
    cells = list(
        zip(tables.group, tables.x_values[tables.x], tables.y_values[tables.y], tables.count, strict=True)
    )
    assert cells == [(0, 1.0, 3.0, 2.0), (1, 2.0, 4.0, 2.0), (1, 2.0, 5.0, 1.0)]
    assert tables.n.tolist() == [2, 3, 0]


def test_counting_sorting_and_wide_keys_agree():
    rng = np.random.default_rng(1)
    x, y = encode(rng.normal(size=500).round(1)), encode(rng.normal(size=500).round(1))
    group = rng.integers(0, 3, 500)
    counted = ContingencyTables.of(x, y, group, 3)
    far = ContingencyTables.of(x, y, group, 10**6)  # too sparse to count: sorted
    wide = ContingencyTables.of(x, y, group, 2**60)  # too wide for one key
    for other in (far, wide):
        for field in ("group", "x", "y", "count"):
            assert (getattr(counted, field) == getattr(other, field)).all()


finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 5], 1),
        ([8 / 3, 11 / 3, 4], 3),
        ([0.1, 0.25, 3.07], 100),
        ([1 / 3, 0.5, 1 / 7], 42),
        ([np.pi], None),
        ([1.0, np.nextafter(1.0, 2)], None),  # neighbours are not the same fraction
        ([3.3333333333333326], None),  # a rounded sum divided by three is not 10/3
    ],
)
def test_common_denominator(values, expected):
    assert common_denominator(np.array(values, dtype=float)) == expected


@given(st.lists(st.tuples(st.integers(0, 3), finite), min_size=1, max_size=30))
@settings(max_examples=examples(300))
def test_sums_are_exact_whatever_the_values(pairs):
    group = np.array([g for g, _ in pairs])
    values = np.array([v for _, v in pairs])
    denominator = common_denominator(values)
    sums = GroupSums.of(values, group, 4)
    for g in range(4):
        inside = [Fraction(float(v)) for v in values[group == g]]
        if denominator is not None:
            inside = [Fraction(round(v * denominator), denominator) for v in inside]
        assert sums.sums[g] == sum(inside)
        assert sums.counts[g] == len(inside)


@given(
    st.lists(st.sampled_from([4 / 3, 5 / 3, 2.0, 7 / 3, 8 / 3, 10 / 3, 0.1, 0.7]), min_size=2, max_size=40)
)
def test_equal_means_tie_in_any_order(values):
    forwards = np.array(values)
    both = np.concatenate([forwards, forwards[::-1], np.sort(forwards), forwards])
    group = np.repeat([0, 1, 2, 3], [len(values), len(values), len(values), len(values)])
    means = GroupSums.of(both, group, 4).means()
    assert len(set(means)) == 1


def test_thirds_tie_where_a_running_sum_does_not():
    a, b = np.array([4 / 3, 5 / 3, 8 / 3, 4 / 3]), np.array([7 / 3, 4 / 3, 5 / 3, 5 / 3])
    means = GroupSums.of(np.concatenate([a, b]), np.repeat([0, 1], 4), 2).means()
    assert means[0] == means[1]
    assert sum(a.tolist()) != sum(b.tolist())  # what the exact sum is needed for


def test_an_empty_group_has_no_mean():
    assert np.isnan(GroupSums.of(np.array([1.0]), np.array([0]), 2).means()[1])
