"""Names as categoricals and times as seconds are what the plain readers would give."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.kinds.exposure.data.columns import category_column, time_column
from metaeval.sources.tables.columns import text_column
from metaeval.sources.tables.table import from_frame

cells = st.lists(st.one_of(st.text(max_size=3), st.none()), max_size=20) | st.lists(
    st.one_of(st.integers(-3, 3), st.sampled_from([1.5, 2.0]), st.none()), max_size=20
)


def table(values):
    return from_frame(pd.DataFrame({"x": pd.Series(values, dtype=object)}), "log.csv")


@given(cells)
def test_a_categorical_has_the_texts_of_its_cells(values) -> None:
    found, problems = category_column(table(values), "x")
    texts, _ = text_column(table(values), "x")
    assert (found.astype("str").tolist(), problems) == (texts.tolist(), [])
    assert len(set(found.cat.categories)) == len(found.cat.categories)


def test_mixed_types_are_named_with_their_row() -> None:
    _, problems = category_column(table(["a", "b", "a", 7, "c"]), "x")
    assert [(p.row, p.column) for p in problems] == [(5, "x")]


@given(st.lists(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)), min_size=1, max_size=9))
def test_dates_are_seconds_in_any_form(moments) -> None:
    expected = [m.replace(tzinfo=dt.UTC).timestamp() for m in moments]
    zoned = [m.replace(tzinfo=dt.UTC).astimezone(dt.timezone(dt.timedelta(hours=5))) for m in moments]
    columns = (
        [m.isoformat() for m in moments],
        [m.isoformat() for m in zoned],
        pd.Series(moments).tolist(),
        expected,
    )
    for column in columns:
        frame = pd.DataFrame({"x": column})
        seconds, problems = time_column(from_frame(frame, "log.csv"), "x")
        assert not problems
        np.testing.assert_allclose(seconds, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    "values",
    [[1.0, 2.0, "x"], ["5", "6", "x"], ["2024-05-31", "2024-06-01", "x"], ["2024-05-31", "2024-06-01", 7.0]],
)
def test_what_is_no_time_is_named(values) -> None:
    _, problems = time_column(table(values), "x")
    assert [p.row for p in problems] == [4]
