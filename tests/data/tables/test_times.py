"""The unit of times is stated, or their range shows it; else they are refused."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from metaeval.base.errors import DataError
from metaeval.data.tables.columns import time_column, timed
from metaeval.data.tables.table import Table, from_frame

EPOCH, EXCEL = dt.datetime(1970, 1, 1), dt.datetime(1899, 12, 30)
UNITS = {
    "seconds": lambda day: (day - EPOCH).total_seconds(),
    "milliseconds": lambda day: (day - EPOCH).total_seconds() * 1e3,
    "microseconds": lambda day: (day - EPOCH).total_seconds() * 1e6,
    "nanoseconds": lambda day: (day - EPOCH).total_seconds() * 1e9,
    "excel": lambda day: (day - EXCEL).days,
    "yyyymmdd": lambda day: int(f"{day:%Y%m%d}"),
    "years": lambda day: day.year,
}
DAYS = st.lists(st.datetimes(dt.datetime(1980, 1, 1), dt.datetime(2099, 12, 31)), min_size=1, max_size=5)


def column(values: list[object]) -> Table:
    return from_frame(pd.DataFrame({"t": values}), "t.csv")


@given(DAYS, st.sampled_from([*UNITS]), st.booleans(), st.booleans())
def test_the_range_shows_the_unit(days: list[dt.datetime], unit: str, stated: bool, as_text: bool) -> None:
    numbers = [UNITS[unit](day) for day in days]
    table = column([f"{n:.6f}" if as_text else n for n in numbers])
    found, notes = timed(table, "t", unit if stated else None)
    whole = [day.replace(month=1, day=1) if unit == "years" else day for day in days]
    exact = unit not in ("years", "yyyymmdd", "excel")
    expected = [(d if exact else d.replace(hour=0, minute=0, second=0, microsecond=0)) - EPOCH for d in whole]
    np.testing.assert_allclose(found.frame["t"], [e.total_seconds() for e in expected], rtol=0, atol=1e-3)
    assert (
        notes == [] if unit == "seconds" else notes[0].startswith(f"t in {unit}: {min(whole):%Y-%m-%d} to ")
    )
    seconds, problems = time_column(table, "t")  # of a data set, which has seconds or dates
    assert [p.row for p in problems] == ([] if unit == "seconds" else [2])
    assert unit != "seconds" or seconds.tolist() == found.frame["t"].tolist()


@given(DAYS, st.permutations([*UNITS]))
def test_times_of_two_units_and_another_unit_than_is_stated_are_refused(days, units) -> None:
    one, other, *_ = units
    numbers = [UNITS[one](day) for day in days]
    with pytest.raises(
        DataError, match=r"t\.csv, row 2, column 't': is .*, as .* are; write seconds since 1970 or"
    ):
        timed(column(numbers), "t", other)
    mixed = column([*numbers, *numbers, UNITS[other](days[0])])
    with pytest.raises(DataError, match=rf"row {2 * len(days) + 2}, column 't': is .*, as {other} are"):
        timed(mixed, "t", None)
    assert bool(time_column(mixed, "t")[1]) == (
        {one, other} & {"milliseconds", "microseconds", "nanoseconds"} != set()
    )


@given(st.lists(st.floats(-1e9, 1e8), min_size=1, max_size=5))
def test_numbers_that_show_no_unit_need_one(numbers: list[float]) -> None:
    assume(not 1800 <= min(numbers) <= max(numbers) <= 21_001_231)
    with pytest.raises(DataError, match="or say `time_unit` in a map: years, excel, yyyymmdd, seconds, mill"):
        timed(column(numbers), "t", None)
    table, notes = timed(column(numbers), "t", "milliseconds")
    np.testing.assert_allclose(table.frame["t"], np.array(numbers) / 1e3)
    assert notes[0].startswith("t in milliseconds: 19")
    assert timed(column(numbers), "t", "seconds")[0].frame["t"].tolist() == numbers
    assert time_column(column(numbers), "t")[0].tolist() == numbers  # seconds, in a data set


@pytest.mark.parametrize("value", [20241340, 2024.5])
def test_what_is_no_time_in_the_stated_unit_is_named(value: float) -> None:
    unit = "years" if value < 2100 else "yyyymmdd"
    valid = {"years": 2024, "yyyymmdd": 20240501}[unit]
    with pytest.raises(DataError, match=f"row 3, column 't': is {value}"):
        timed(column([valid, value]), "t", unit)


def test_dates_need_no_unit_and_no_time_is_none() -> None:
    table, notes = timed(column(["2024-05-01", None]), "t", "milliseconds")
    assert (table.frame["t"].tolist()[0], notes) == (1714521600, [])
    assert np.isnan(timed(column([None, None]), "t", None)[0].frame["t"]).all()
