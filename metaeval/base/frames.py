"""DataFrames as people have them, and as a notebook shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import DataError, nearest, shown
from metaeval.base.simulation import REAL, Simulation

if TYPE_CHECKING:
    import pandas as pd

ROWS = 20
"""Rows that a notebook shows of a long table."""
_CHARACTERS = 120  # of a cell: an explanation may be as long as a page


def flat(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return a frame with the index levels named in ``columns`` as columns; a column wins over a level."""
    wanted = [n for n in frame.index.names if n in columns and n not in frame.columns]
    if not wanted:
        return frame
    others = [at for at, name in enumerate(frame.index.names) if name not in wanted]
    return (frame.reset_index(level=others, drop=True) if others else frame).reset_index()


def typed(frame: pd.DataFrame, texts: Sequence[str], numbers: Sequence[str], what: str) -> pd.DataFrame:
    """Return the columns ``texts``, which name a row, as text and ``numbers`` as float64, without others.

    Columns may be in any order or in the index. Raises `DataError`, in which ``what`` names the frame, if a
    column is missing, a name is empty, a value is no number, or a row stands twice.
    """
    import pandas as pd

    names = [*texts, *numbers]
    frame = flat(frame, names)
    there = [str(c) for c in frame.columns]
    for name in names:
        if name not in there:
            hint = nearest(name, there)
            raise DataError(f"{what} has no column {name!r}{hint}; it needs {', '.join(names)}")
    columns: dict[str, pd.Series[str] | pd.Series[float]] = {}
    for name in names:
        try:
            column = frame[name]
            columns[name] = column.astype("str") if name in texts else pd.to_numeric(column).astype("float64")
        except (TypeError, ValueError) as error:
            raise DataError(f"column {name!r} of {what} must hold numbers: {error}") from error
    plain = pd.DataFrame(columns).reset_index(drop=True)
    for name in texts:
        empty = plain[name].isna().to_numpy()
        if empty.any():
            raise DataError(f"column {name!r} of {what} is empty in row {int(empty.argmax())}")
    again = plain.duplicated(list(texts)).to_numpy()
    if again.any():
        first = ", ".join(map(repr, plain[list(texts)].iloc[int(again.argmax())]))
        raise DataError(f"{what} has more than one row for {first}; keep one")
    return plain


def row_text(frame: pd.DataFrame, row: int, columns: Iterable[str]) -> str:
    """Return what stands in some columns of a row, such as ``item_id 'i1', generator 0``."""
    return ", ".join(f"{c} {shown(frame[c].iloc[row])}" for c in columns)


def json_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as plain JSON values; NaN becomes None, and a rank a number."""
    import pandas as pd

    values = frame.astype(object).where(frame.notna(), None)
    for column in values.columns.intersection(["rank", "cluster"]):
        numbers = [int(text) if str(text).isdecimal() else text for text in values[column]]
        values[column] = pd.Series(numbers, values.index, dtype=object)
    return [{str(name): value for name, value in row.items()} for row in values.to_dict("records")]


def html_heading(title: str, facts: Mapping[str, object], *, simulated: Simulation = REAL) -> str:
    """Return a line of HTML for a notebook: a title, facts by name, and whether they are simulated."""
    known = "; ".join(f"{escape(name)}: {escape(str(value))}" for name, value in facts.items())
    loud = f" <strong>{escape(simulated.warning)}</strong>" if simulated else ""
    return f"<p><b>{escape(title)}</b>{loud}{'<br>' if known else ''}{known}</p>"


def html_table(frame: pd.DataFrame, *, rows: int = ROWS, whole: str = ".frame") -> str:
    """Return the first rows of a frame as an HTML table; if it has more, how many, and where they are."""
    cut = (
        frame.head(rows)
        .astype(object)
        .map(lambda v: f"{v[: _CHARACTERS - 1]}…" if isinstance(v, str) and len(v) > _CHARACTERS else v)
    )
    shown = cut.to_html(index=False, escape=True, border=0, na_rep="", float_format="{:.6g}".format)
    if len(frame) <= rows:
        return shown
    where = f"all of them are in <code>{escape(whole)}</code>"
    return f"{shown}<p>The first {rows} of {len(frame):,} rows; {where}.</p>"
