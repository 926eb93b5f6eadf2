"""Tell the rows of a table from what people have around them: blank rows, units, a form tool's questions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from metaeval.base.counts import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from metaeval.sources.tables.table import Table

_NUMBER = r"\s*[+-]?\d+([.,]\d+)?\s*%?\s*"
_QUALTRICS = '{"ImportId"'


def only_data(table: Table) -> tuple[Table, list[str]]:
    """Return the table without blank rows and rows that explain its header, and what was left out."""
    blank = np.ones(len(table.frame), dtype=bool)
    for column in table.frame.columns:
        if not blank.any():
            break
        blank &= _is_blank(table.frame[column])
    frame, told = table.frame, []
    if blank.any():
        frame, told = frame[~blank], [f"without {counted(int(blank.sum()), 'blank row')}"]
    names, rows = [str(c).strip() for c in frame.columns], table.rows[~blank]
    names = names if len(set(names)) == len(names) else [*frame.columns]
    if len(frame) > 2 and any(str(v).startswith(_QUALTRICS) for v in frame.iloc[1]):
        names = _questions(names, [str(v) for v in frame.iloc[0]])
        frame, rows, told = frame.iloc[2:], rows[2:], [*told, "a header of three rows"]
    elif len(frame) > 2 and _holds_units(frame):
        frame, rows, told = frame.iloc[1:], rows[1:], [*told, f"without the units in row {rows[0]}"]
    if not told and names == [*frame.columns]:
        return table, []
    return replace(table, frame=frame.set_axis(names, axis=1).reset_index(drop=True), rows=rows), told


def _questions(names: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return the questions for names of columns; a question that stands twice keeps its code."""
    plain = [" ".join(t.split()) for t in texts]
    return [t if t and plain.count(t) == 1 else n for n, t in zip(names, plain, strict=True)]


def _holds_units(frame: pd.DataFrame) -> bool:
    """Say whether the first row has no key and no number, but words above numbers: ``1-5``, ``%``."""
    first, rest = frame.iloc[0], frame.iloc[1:]
    lacking = _is_blank(first)
    if not any(lack and not _is_blank(rest[c]).any() for c, lack in zip(frame.columns, lacking, strict=True)):
        return False
    given = [c for c, lack in zip(frame.columns, lacking, strict=True) if not lack]
    if any(re.fullmatch(_NUMBER, str(first[c])) for c in given):
        return False
    return any(rest[c].astype(str).str.fullmatch(_NUMBER).mean() > 0.5 for c in given)


def _is_blank(values: pd.Series[str]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return (values.isna() | (values.astype(str).str.strip() == "")).to_numpy(dtype=bool)
