"""Columns of logs: names as categoricals, so that millions of rows fit in memory; times as seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.errors import shown
from metaeval.sources.tables.columns import number_column, text_column
from metaeval.sources.tables.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metaeval.base.errors import Problem

_EPOCH = pd.Timestamp(0, tz="UTC")


def category_column(table: Table, column: str) -> tuple[pd.Series[Any], list[Problem]]:
    """Return a column of texts as a categorical; "" where there is no value.

    Each distinct value is read once, as `metaeval.sources.tables.columns.text_column` reads it: of users and
    items there are few. A problem names the first row of its value.
    """
    codes, distinct = pd.factorize(table.frame[column], use_na_sentinel=False)
    first = np.flatnonzero(~pd.Series(codes).duplicated())
    found = Table(table.name, pd.DataFrame({column: distinct}), table.rows[first], table.labels)
    texts, problems = text_column(found, column)
    again, names = pd.factorize(pd.Series(texts, dtype="str"))
    return pd.Series(pd.Categorical.from_codes(again[codes], pd.Index(names, dtype="str"))), problems


def time_column(table: Table, column: str) -> tuple[NDArray[np.float64], list[Problem]]:
    """Return a column as seconds since 1970, NaN where there is none.

    A cell is a number of seconds, or a date with or without a time and a zone; without one it is UTC.
    """
    values = table.frame[column]
    seconds = np.full(len(values), np.nan)
    given = values.notna().to_numpy()
    if not pd.api.types.is_datetime64_any_dtype(values):
        seconds, problems = number_column(table, column)
        mixed = values.dtype == object and any(isinstance(v, int | float | np.number) for v in values[given])
        if mixed or not problems:
            return seconds, problems
        given = given & (values.astype("str") != "").to_numpy(dtype=bool)
    if np.isnan(seconds).all():  # no cell is a number, so they are dates
        times = pd.to_datetime(values.where(given), utc=True, errors="coerce", format="ISO8601")
        seconds = ((times - _EPOCH) / pd.Timedelta(seconds=1)).to_numpy(dtype=np.float64)
    message = "it may be seconds since 1970, or a date such as 2024-05-31 or 2024-05-31T12:30:00+00:00"
    wrong = np.flatnonzero(np.isnan(seconds) & given).tolist()
    return seconds.astype(np.float64), [
        table.problem(i, column, f"is {shown(values.iloc[i])}; {message}") for i in wrong
    ]
