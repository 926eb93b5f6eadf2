"""CSV tables for spreadsheet programs: written as they open them, read as they save them.

Excel saves UTF-8 with a byte-order mark, or UTF-16 with tabs ("Unicode text"); where the comma is the decimal
sign, the separator is a semicolon. Rows end in CRLF, cells hold line breaks, empty columns and rows trail.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Literal, TypeAlias

import pandas as pd

from metaeval.base.errors import DataError, Problem
from metaeval.base.files import replacing
from metaeval.base.formulas import protected, unprotected

Separator: TypeAlias = Literal["comma", "semicolon", "tab"]
SEPARATORS: dict[Separator, str] = {"comma": ",", "semicolon": ";", "tab": "\t"}
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)


def write_sheet(path: str | os.PathLike[str], frame: pd.DataFrame, separator: Separator = "comma") -> None:
    """Write a table that opens in a spreadsheet program: UTF-8 with a byte-order mark, every cell in quotes.

    Names of columns are `protected`; cells are written as they are, since -2 may be a number.
    """
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(
            file, delimiter=SEPARATORS[separator], quoting=csv.QUOTE_ALL, lineterminator="\r\n"
        )
        writer.writerow(map(protected, frame.columns))
        writer.writerows(frame.itertuples(index=False, name=None))


def read_sheet(path: str | os.PathLike[str], known: Collection[str]) -> pd.DataFrame:
    """Read a table that a spreadsheet program saved: every cell as text, without columns that have no name.

    Parameters
    ----------
    path
        The file: UTF-8, or UTF-16 with its mark.
    known
        Names of columns; of all separators, the one that finds most of them in the first row is taken.

    Returns
    -------
    DataFrame
        Without blank rows; its index has the row numbers that the program shows: 1-based, header counted.

    Raises
    ------
    DataError
        If the file cannot be read, or its cells do not fit its header.
    """
    name = Path(path).name
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    encoding = "utf-16" if content.startswith(_UTF_16) else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        coding = encoding.removesuffix("-sig").upper()
        message = f"is not {coding}; save it as 'CSV UTF-8' or 'Unicode text'"
        raise DataError([Problem(name, None, None, message)]) from error
    if line := _SEPARATOR_LINE.match(text):
        text = text[line.end() :]  # Excel does not show this line, so rows are counted without it.

    def header_by(separator: str) -> list[str]:
        first: list[str] = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
        return [unprotected(cell).strip() for cell in first]

    def fit(separator: str) -> tuple[int, int]:
        header = header_by(separator)
        return sum(cell in known for cell in header), len(header)

    separator = line[1] if line else max(SEPARATORS.values(), key=fit)
    rows: list[list[str]] = []
    try:
        # Extended row by row, so that the rows before a wrong one are counted.
        rows.extend(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        message = f"is not valid CSV: {error}; look for a stray quotation mark"
        raise DataError([Problem(name, len(rows) + 1, None, message)]) from error
    header = header_by(separator)
    if not any(header):
        raise DataError([Problem(name, 1, None, "the first row names no columns")])
    problems = [
        Problem(name, 1, column, "two columns have this name; rename one")
        for at, column in enumerate(header)
        if column and column in header[:at]
    ]
    # Programs leave out the empty cells at the end of a row, or add some.
    width = max(map(len, rows))
    cells = [[*row, *[""] * (width - len(row))] for row in rows[1:]]
    frame = pd.DataFrame(cells, columns=range(width), index=range(2, len(rows) + 1), dtype=object)
    named = {at: column for at, column in enumerate(header) if column}
    for at in frame.columns.difference([*named]):
        for row in frame.index[frame[at].map(str.strip) != ""]:
            message = (
                f"{frame[at][row][:40]!r} stands in a column without a name; name the column, or empty it"
            )
            problems.append(Problem(name, row, None, message))
    if problems:
        raise DataError(problems)
    frame = frame[[*named]].rename(columns=named)
    return frame[[any(map(str.strip, row)) for row in frame.itertuples(index=False, name=None)]]
