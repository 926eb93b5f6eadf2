import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats.coefficients.tables import ContingencyTables, encode


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
