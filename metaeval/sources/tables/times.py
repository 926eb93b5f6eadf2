"""Read times: dates, or numbers in a unit that is stated or that their range shows."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.errors import Problem, sound
from metaeval.sources.tables.columns import NUMBER, number_column
from metaeval.sources.tables.table import Table

TimeUnit: TypeAlias = Literal[
    "years", "excel", "yyyymmdd", "seconds", "milliseconds", "microseconds", "nanoseconds"
]
"""What numbers are: counted from 1970, or, as ``excel``, days as spreadsheets count them."""
_RANGES: dict[TimeUnit, tuple[float, float]] = {
    "years": (1800, 2100),
    "excel": (18_264, 73_415),  # 1950 to 2100
    "yyyymmdd": (18_000_101, 21_001_231),
    "seconds": (3e8, 4.2e9),  # 1979 to 2103
    "milliseconds": (3e11, 4.2e12),
    "microseconds": (3e14, 4.2e15),
    "nanoseconds": (3e17, 4.2e18),
}
"""Unit → which numbers show it; no two overlap."""
_HEAD = re.compile("; |, a date")
_MAY = "it may be seconds since 1970, or a date such as 2024-05-31 or 2024-05-31T12:30:00+00:00"
_WRITTEN: dict[TimeUnit, str] = {"years": "%Y", "yyyymmdd": "%Y%m%d"}


def time_column(table: Table, column: str) -> tuple[NDArray[np.float64], list[Problem]]:
    """Return a column of a data set as seconds since 1970, NaN where there is none.

    A cell is a number of seconds, or a date with or without a time and a zone; without one it is UTC. Numbers
    whose range shows another unit are a problem.
    """
    seconds, _, problems = _times(table, column, "seconds")
    return seconds, problems


def timed(table: Table, column: str, unit: TimeUnit | None) -> tuple[Table, list[str]]:
    """Return a table with a column in seconds since 1970, and a note if the numbers were in another unit.

    ``unit``, if left out, is the one that the range of all numbers shows, or `DataError` is raised.
    """
    seconds, found, problems = _times(table, column, unit)
    table = replace(table, frame=table.frame.assign(**{column: sound((seconds, problems))}))
    if found in (None, "seconds"):
        return table, []
    days = np.array([np.nanmin(seconds), np.nanmax(seconds)]).astype("M8[s]").astype("M8[D]")
    return table, [f"{column} in {found}: {days[0]} to {days[1]}"]


def _times(
    table: Table, column: str, unit: TimeUnit | None
) -> tuple[NDArray[np.float64], TimeUnit | None, list[Problem]]:
    """Return seconds since 1970, the unit of the numbers, and what is no time."""
    values = table.frame[column]
    texts = None if pd.api.types.is_numeric_dtype(values) else values.astype("str").str.strip()
    if texts is not None and not any(map(NUMBER.fullmatch, texts.dropna())):
        given = values.where(values.notna() & (texts != ""))
        seconds = _since_1970(given, "ISO8601")
        no_dates = np.flatnonzero(np.isnan(seconds) & given.notna()).tolist()
        return seconds, None, [table.problem(i, column, f"is {values.iloc[i]!r}; {_MAY}") for i in no_dates]
    numbers, problems = number_column(table, column)
    if problems or np.isnan(numbers).all():
        return numbers, None, [p._replace(message=f"{_HEAD.split(p.message)[0]}; {_MAY}") for p in problems]
    seen = _unit_of(numbers)
    found = unit or seen or _unit_of(np.array([np.nanmedian(numbers)])) or "seconds"
    low, high = _RANGES[found]
    if seen is None and unit is not None:  # old times, or times since another day
        low, high = -np.inf, _RANGES["milliseconds"][0] if unit == "seconds" else np.inf
    seconds = _to_seconds(numbers, found)
    wrong = (np.isnan(seconds) & ~np.isnan(numbers)) | (numbers < low) | (numbers > high)
    for at in np.flatnonzero(wrong)[:1].tolist():
        as_ = f", as {other} are" if (other := _unit_of(numbers[at : at + 1])) else ""
        allowed = f"seconds since 1970 or dates, or say `time_unit` in a map: {', '.join(_RANGES)}"
        problems = [table.problem(at, column, f"is {numbers[at]:.15g}{as_}; write {allowed}")]
    return seconds, found, problems


def _unit_of(numbers: NDArray[np.float64]) -> TimeUnit | None:
    """Return the unit that the range of numbers shows; None if there is none."""
    given = numbers[~np.isnan(numbers)]
    for unit, (low, high) in _RANGES.items():
        if len(given) and ((given >= low) & (given <= high)).all():
            return unit if unit not in _WRITTEN or (given % 1 == 0).all() else None
    return None


def _to_seconds(numbers: NDArray[np.float64], unit: TimeUnit) -> NDArray[np.float64]:
    """Return seconds since 1970; NaN for what is no time in the unit."""
    if unit == "excel":
        return (numbers - 25_569) * 86_400  # 25,569 is 1970-01-01
    if unit not in _WRITTEN:
        return np.asarray(numbers / (_RANGES[unit][0] / _RANGES["seconds"][0]), dtype=np.float64)
    return _since_1970(pd.Series(np.char.mod("%.0f", numbers)).where(numbers % 1 == 0), _WRITTEN[unit])


def _since_1970(dates: pd.Series[Any], written: str) -> NDArray[np.float64]:
    times = pd.to_datetime(dates, utc=True, errors="coerce", format=written)
    return np.asarray((times - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1), dtype=np.float64)
