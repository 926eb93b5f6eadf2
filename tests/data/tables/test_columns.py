"""Cells that a spreadsheet made dates are told from numbers and labels, and named with their rows."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.data.tables.columns import DATE, date_problems, number_column
from metaeval.data.tables.table import from_frame

MONTHS = {
    "en": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "de": "Jan Feb Mrz Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "fr": "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
    "es": "ene feb mar abr may jun jul ago sep oct nov dic",
    "it": "gen feb mar apr mag giu lug ago set ott nov dic",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez",
    "nl": "jan feb mrt apr mei jun jul aug sep okt nov dec",
}
FORMS = ["{d}-{m}", "{d:02}. {m}", "{d}-{m}-24", "{m}-{d:02}", "{d} {m} 2024", "{m}-24"]
NUMERIC = ["{y}-{mo:02}-{d:02}", "{mo}/{d}/{y}", "{d:02}.{mo:02}.{y}", "{y}-{mo:02}-{d:02} 00:00:00"]


@given(
    st.dates(dt.date(1990, 1, 1), dt.date(2040, 12, 31)),
    st.sampled_from([*MONTHS]),
    st.sampled_from([*FORMS, *NUMERIC, "{mo}月{d}日"]),
)
def test_a_date_of_a_spreadsheet_is_no_number(day: dt.date, language: str, form: str) -> None:
    month = MONTHS[language].split()[day.month - 1]
    text = form.format(d=day.day, m=month, mo=day.month, y=day.year)
    for cells in (["4", text, "2"], ["4", f" {text.upper()} ", "2"]):
        problems = number_column(from_frame(pd.DataFrame({"mark": cells}), "t.csv"), "mark")[1]
        assert [(p.row, p.column) for p in problems] == [(3, "mark")]
        assert "a date, which spreadsheets make of such as 4/5" in problems[0].message


@given(
    st.integers(0, 100), st.integers(1, 100), st.sampled_from(["{}/{}", "{} of {}", "{}.{}", "{}-{}", "{}"])
)
def test_numbers_and_fractions_are_no_dates(one: int, other: int, form: str) -> None:
    assert not DATE.fullmatch(form.format(one, other))


@pytest.mark.parametrize("label", ["4 - Agree", "5 - maybe", "1. never", "3: marvellous", "2 = decent", "A5"])
def test_labels_are_no_dates(label: str) -> None:
    assert not DATE.fullmatch(label)


@pytest.mark.parametrize("cell", [dt.datetime(2024, 4, 5), dt.date(2024, 4, 5), pd.Timestamp("2024-04-05")])
def test_a_cell_that_is_a_date_is_named_as_one(cell: dt.date) -> None:
    for cells in ([4, cell, 2], ["4", cell, "2"]):
        table = from_frame(pd.DataFrame({"mark": pd.Series(cells, dtype=object)}), "t.xlsx")
        (problem,) = number_column(table, "mark")[1]
        assert (problem.row, problem.column) == (3, "mark")
        assert problem.message.startswith("is '2024-04-05")


def test_the_number_of_a_day_is_a_date_only_where_it_is_asked_for() -> None:
    table = from_frame(pd.DataFrame({"mark": [4.0, 45387.0, 2.0]}), "t.xlsx")
    assert number_column(table, "mark")[1] == date_problems(table, "mark") == []
    assert [p.row for p in date_problems(table, "mark", serials=True)] == [3]
