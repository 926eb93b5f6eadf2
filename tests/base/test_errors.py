"""Messages show what was given: numbers with all their digits, dates as text, no code of Python."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.errors import DataError, exact, shown
from metaeval.base.records import Scale
from metaeval.data.tables.columns import number_column
from metaeval.data.tables.table import from_frame
from metaeval.llm.replies.fields import Number
from metaeval.llm.replies.reader import read_reply

NEAR = st.floats(1, 5, exclude_min=True, exclude_max=True).filter(lambda x: not x.is_integer())


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_in_a_message_is_the_number(number: float) -> None:
    assert float(exact(number)) == number
    assert not exact(number).endswith(".0")


@given(NEAR)
def test_a_rating_off_the_scale_is_named_as_it_was_given(number: float) -> None:
    units = pd.DataFrame({"item_id": ["a"], "generator": ["g"], "explanation": ["text"]})
    rating = units[["item_id", "generator"]].assign(rater="ann", aspect="clarity", rating=number)
    with pytest.raises(DataError) as caught:
        me.from_frames(units, rating, scale=(1, 5))
    assert f"the rating {exact(number)} is not on the scale" in str(caught.value)


@given(NEAR.map(lambda x: round(x, 10)).filter(lambda x: not x.is_integer()))
def test_a_value_of_a_reply_is_named_as_it_was_given(number: float) -> None:
    parsed = read_reply(f'{{"score": {exact(number)}}}', [Number("score", Scale(1, 5))])
    assert parsed.reason.startswith(f"'score' is {exact(number)}; asked for were")


DATES = (dt.datetime(2024, 4, 5, 6, 7, tzinfo=dt.UTC), dt.date(2024, 4, 5), dt.time(6, 7))


@pytest.mark.parametrize(
    "value", [*DATES, pd.Timestamp(2024, 4, 5), np.datetime64("2024-04-05"), Decimal("1.5")]
)
def test_a_value_of_a_library_is_shown_as_text(value: object) -> None:
    for text in (shown(value), shown([value]), shown({"a": (value,)})):
        assert str(value) in text
        assert "(" not in text.removeprefix("{'a': (")


@pytest.mark.parametrize("value", DATES)
def test_a_date_in_a_column_of_numbers_is_shown_as_text(value: object) -> None:
    table = from_frame(pd.DataFrame({"rating": pd.Series([4, value, None], dtype=object)}), "t.xlsx")
    (problem,) = number_column(table, "rating")[1]
    assert str(value) in str(problem)
    assert "datetime" not in str(problem)
    only = from_frame(pd.DataFrame({"rating": pd.Series([value], dtype=object)}), "t.xlsx")
    assert "datetime" not in str(number_column(only, "rating")[1][0])


def test_a_long_value_is_cut() -> None:
    assert len(shown("x" * 10_000)) < 200
    assert shown("short") == "'short'"
