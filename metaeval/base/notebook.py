"""What a notebook shows of a result: a heading and the first rows of a table, everything escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from metaeval.base.simulation import REAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from metaeval.base.simulation import Simulation

ROWS = 20
"""Rows that are shown of a long table."""
_CHARACTERS = 120  # of a cell: an explanation may be as long as a page


def heading(title: str, facts: Mapping[str, object], *, simulated: Simulation = REAL) -> str:
    """Return a line with a title and what is known, each fact by its name; it says if it is simulated."""
    known = "; ".join(f"{escape(name)}: {escape(str(value))}" for name, value in facts.items())
    loud = f" <strong>{escape(simulated.warning)}</strong>" if simulated else ""
    return f"<p><b>{escape(title)}</b>{loud}{'<br>' if known else ''}{known}</p>"


def table(frame: pd.DataFrame, *, rows: int = ROWS, whole: str = ".frame") -> str:
    """Return the first rows of a frame as an HTML table; if it has more, how many, and where they are."""
    cut = frame.head(rows).astype(object).map(_short)
    shown = cut.to_html(index=False, escape=True, border=0, na_rep="", float_format="{:.6g}".format)
    if len(frame) <= rows:
        return shown
    where = f"all of them are in <code>{escape(whole)}</code>"
    return f"{shown}<p>The first {rows} of {len(frame):,} rows; {where}.</p>"


def _short(value: object) -> object:
    if isinstance(value, str) and len(value) > _CHARACTERS:
        return f"{value[: _CHARACTERS - 1]}…"
    return value
