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
_FEWEST = 3  # columns of a table that may have a note below it


def only_data(table: Table) -> tuple[Table, list[str]]:
    """Return the table without blank rows and rows that explain its header, and what was left out."""
    blank = np.ones(len(table.frame), dtype=bool)
    for column in table.frame.columns:
        if not blank.any():
            break
        blank &= is_blank(table.frame[column])
    frame, told = table.frame, []
    if blank.any():
        frame, told = frame[~blank], [f"without {counted(int(blank.sum()), 'blank row')}"]
    names, rows = [str(c).strip() for c in frame.columns], table.rows[~blank]
    names = names if len(set(names)) == len(names) else [*frame.columns]
    if len(frame) > 2 and any(str(v).startswith(_QUALTRICS) for v in frame.iloc[1]):
        names = _questions(names, [str(v) for v in frame.iloc[0]])
        frame, rows, told = frame.iloc[2:], rows[2:], [*told, "a header of three rows"]
    elif len(frame) > 2 and _repeats_names(names, frame):
        names = _questions(names, [str(v) for v in frame.iloc[0]])
        frame, rows, told = frame.iloc[1:], rows[1:], [*told, "a header of two rows"]
    elif len(frame) > 2 and _holds_units(frame):
        frame, rows, told = frame.iloc[1:], rows[1:], [*told, f"without the units in row {rows[0]}"]
    while len(frame) > 2 and len(names) >= _FEWEST and _is_note(frame.iloc[-1]):
        frame, rows, told = frame.iloc[:-1], rows[:-1], [*told, f"without the note in row {rows[-1]}"]
    if not told and names == [*frame.columns]:
        return table, []
    return replace(table, frame=frame.set_axis(names, axis=1).reset_index(drop=True), rows=rows), told


def _questions(names: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return the questions for names of columns; a question that stands twice keeps its code."""
    plain = [" ".join(t.split()) for t in texts]
    return [t if t and plain.count(t) == 1 else n for n, t in zip(names, plain, strict=True)]


def _repeats_names(names: Sequence[str], frame: pd.DataFrame) -> bool:
    """Say whether the first row has questions below codes: ``Response ID`` below ``ResponseId``."""

    def plain(text: object) -> str:
        return re.sub(r"[\W_]", "", str(text)).casefold()

    first = [plain(v) for v in frame.iloc[0]]
    return sum(a == b != "" for a, b in zip(map(plain, names), first, strict=True)) > 1


def _is_note(row: pd.Series[str]) -> bool:
    """Say whether the last row has one cell with words: ``n = 12, exported in May``."""
    given = [str(v) for v, blank in zip(row, is_blank(row), strict=True) if not blank]
    return len(given) == 1 and " " in given[0].strip() and not re.fullmatch(_NUMBER, given[0])


def _holds_units(frame: pd.DataFrame) -> bool:
    """Say whether the first row has no key and no number, but words above numbers: ``1-5``, ``%``."""
    first, rest = frame.iloc[0], frame.iloc[1:]
    lacking = is_blank(first)
    if not any(lack and not is_blank(rest[c]).any() for c, lack in zip(frame.columns, lacking, strict=True)):
        return False
    given = [c for c, lack in zip(frame.columns, lacking, strict=True) if not lack]
    if any(re.fullmatch(_NUMBER, str(first[c])) for c in given):
        return False
    return any(rest[c].astype(str).str.fullmatch(_NUMBER).mean() > 0.5 for c in given)


def is_blank(values: pd.Series[str]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Say of each cell whether it is empty."""
    return (values.isna() | (values.astype(str).str.strip() == "")).to_numpy(dtype=bool)
