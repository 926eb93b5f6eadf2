"""Convert columns of any type to text or float64, and find invalid values."""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from metaeval.base.errors import Problem, shown, sound
from metaeval.data.tables.table import Table

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_MONTH = (  # as spreadsheets write it, in English, German, Dutch, French, Spanish, Portuguese, Italian
    r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|jän|mär|märz|mrz|mrt|mai|mei|okt|dez|janv|févr|mars|avr"
    r"|juin|juil|août|déc|ene|abr|ago|dic|fev|set|out|gen|mag|giu|lug|ott)\.?"
)
DATE = re.compile(
    rf"\d{{1,4}}[-./ ]+{_MONTH}([-./ ]+\d{{2,4}})?|{_MONTH}[-./ ]+\d{{1,4}}|"
    r"(\d{4}年)?\d{1,2}月\d{1,2}日|\d{1,4}([-./])\d{1,2}\3 ?\d{1,4}([T ]+\d{1,2}:.*)?",
    re.IGNORECASE,
)
SERIAL = re.compile(r"([34]\d{4}|5[0-4]\d{3})(\.\d+)?")  # a day from 1982 to 2050, as spreadsheets count
_MOST = float(np.finfo(np.float64).max)
_EXACT = 2.0**53  # above it a float64 no longer names one whole number


def text_column(table: Table, column: str) -> tuple[NDArray[np.object_], list[Problem]]:
    """Return a column as text, "" where there is no value.

    Whole numbers become text without ``.0``; text is unchanged: ``007`` stays ``007``. Numbers and text in
    one column are a problem, because 7 and ``007`` may or may not be the same.
    """
    values = table.frame[column]
    cells = _cells(values)
    kinds = {type(c) for c in cells} - {type(None)}
    if kinds <= {str}:
        text = np.array(["" if c is None else c for c in cells], dtype=object)
        return text, _surrogates(table, column, text)
    families = {k: _family(k) for k in kinds}
    problems = [
        table.problem(i, column, f"holds a {type(c).__name__}; it may hold text or numbers")
        for i, c in enumerate(cells)
        if c is not None and families[type(c)] is None
    ]
    if not problems and len(set(families.values())) > 1:
        problems = _mixed(table, column, cells, families)
    return np.array([_plain(c) for c in cells], dtype=object), problems


def number_column(
    table: Table, column: str, missing: Collection[str] = ()
) -> tuple[NDArray[np.float64], list[Problem]]:
    """Return a column as float64, NaN where the cell is empty or one of ``missing``.

    Text is converted to the nearest float64, so that a number written with 17 digits is exact.
    """
    values = table.frame[column]
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan) + 0.0  # -0.0 is 0.0 in some formats
        return numbers, _infinite(table, column, numbers)
    cells = _cells(values)
    cells[[isinstance(c, str) and c.strip() in missing for c in cells]] = None
    kinds = {type(c) for c in cells} - {type(None)}
    if kinds <= {str}:
        numbers, problems = _parse(table, column, cells, missing)
        return numbers + 0.0, problems
    families = {k: _family(k) for k in kinds}
    if set(families.values()) == {"number"}:
        given = [np.nan if c is None else np.inf if abs(c) > _MOST else float(c) + 0.0 for c in cells]
        numbers = np.array(given, dtype=np.float64)
        return numbers, _infinite(table, column, numbers)
    numbers = np.full(len(cells), np.nan)
    if set(families.values()) == {"number", "text"}:
        return numbers, date_problems(table, column) or _mixed(table, column, cells, families)
    problems = [
        table.problem(i, column, f"is {shown(c)}; it may be a number, or empty where there is none")
        for i, c in enumerate(cells)
        if c is not None and families[type(c)] != "number"
    ]
    return numbers, date_problems(table, column) or problems


def date_problems(table: Table, column: str, *, serials: bool = False) -> list[Problem]:
    """Return a problem for each cell that is a date, or, with ``serials``, the number of a day."""
    says = "is {}, a date, which spreadsheets make of such as 4/5; write what it was, in cells for text"
    return [
        table.problem(i, column, says.format(shown(text)))
        for i, cell in enumerate(_cells(table.frame[column]))
        if DATE.fullmatch(text := _plain(cell).strip()) or (serials and SERIAL.fullmatch(text))
    ]


def _cells(values: pd.Series[Any]) -> NDArray[np.object_]:
    """Return the values as Python objects, None where missing."""
    cells = values.astype(object).to_numpy(copy=True)
    cells[values.isna().to_numpy(dtype=bool)] = None
    return cells


def _parse(
    table: Table, column: str, cells: NDArray[np.object_], missing: Collection[str]
) -> tuple[NDArray[np.float64], list[Problem]]:
    blank = {"", *missing}
    stripped = [None if c is None or (s := c.strip()) in blank else s for c in cells]
    try:
        numbers = pc.cast(pa.array(stripped, pa.string()), pa.float64()).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, UnicodeEncodeError):
        numbers = np.array(
            [float(s) if s is not None and NUMBER.fullmatch(s) else np.nan for s in stripped],
            dtype=np.float64,
        )
    unread = [i for i in np.flatnonzero(~np.isfinite(numbers)).tolist() if stripped[i] is not None]
    may = "it may be a finite number, or empty where there is none"
    dates = {p.row: p for p in date_problems(table, column)} if unread else {}
    problems = [table.problem(i, column, f"is {stripped[i]!r}; {may}") for i in unread]
    problems = [dates.get(p.row, p) for p in problems]
    return np.where(np.isfinite(numbers), numbers, np.nan), problems


def _infinite(table: Table, column: str, numbers: NDArray[np.float64]) -> list[Problem]:
    return [
        table.problem(int(i), column, f"is {numbers[i]}; it may be a finite number, or empty")
        for i in np.flatnonzero(np.isinf(numbers))
    ]


def _family(kind: type) -> str | None:
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, bool | np.bool_):
        return "truth value"
    if issubclass(kind, int | float | np.number | decimal.Decimal):
        return "number"
    if issubclass(kind, dt.date | dt.time):
        return "date"
    return None


def _mixed(
    table: Table, column: str, cells: NDArray[np.object_], families: dict[type, str | None]
) -> list[Problem]:
    """Return a problem for each cell whose type differs from that of most cells."""
    of_cells = pd.Series([None if c is None else families[type(c)] for c in cells])
    usual = of_cells.value_counts().index[0]
    example = cells[int(np.flatnonzero(of_cells == usual)[0])]
    odd = np.flatnonzero((of_cells != usual) & of_cells.notna())
    return [
        table.problem(
            int(i),
            column,
            f"is the {of_cells[i]} {shown(cells[i])}, most rows hold a {usual} such as {shown(example)}; "
            "use one type",
        )
        for i in odd
    ]


def _surrogates(table: Table, column: str, text: NDArray[np.object_]) -> list[Problem]:
    with contextlib.suppress(UnicodeEncodeError):
        "".join(text).encode("utf-8")
        return []
    clean = np.array([cell.encode("utf-8", errors="replace").decode("utf-8") for cell in text], dtype=object)
    wrong = np.flatnonzero(clean != text).tolist()
    text[:] = clean
    return [
        table.problem(i, column, "holds half of a surrogate pair, which is not Unicode text") for i in wrong
    ]


def _plain(cell: object) -> str:
    match cell:
        case None:
            return ""
        case bool() | np.bool_():
            return "true" if cell else "false"
        case float() | np.floating():
            number = float(cell)
            return str(int(number)) if number.is_integer() and abs(number) < _EXACT else repr(number)
    return str(cell)


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
