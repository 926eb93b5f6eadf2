"""CSV tables for spreadsheet programs: written as they open them, read as they save them.

Excel saves UTF-8 with a byte-order mark, or UTF-16 with tabs ("Unicode text"); where the comma is the decimal
sign, the separator is a semicolon. Rows end in CRLF, cells hold line breaks, empty columns and rows trail.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import DataError, Problem
from metaeval.base.files import replacing
from metaeval.base.formulas import protected, unprotected

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Sequence

SEPARATORS: dict[str, str] = {"comma": ",", "semicolon": ";", "tab": "\t"}
"""Name → separator of cells."""

_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins with the mark of UTF-16, so it is tried first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SEPARATOR_LINE = re.compile(r"sep=(?P<separator>.)\r?\n", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Spreadsheet:
    """A table as a spreadsheet program saved it, every cell as text."""

    name: str
    """Of the file."""
    columns: tuple[str, ...]
    """Unique, or empty."""
    rows: tuple[tuple[str, ...], ...]
    """One cell per column; rows without any text are left out."""
    numbers: tuple[int, ...]
    """The row numbers that the program shows: 1-based, header counted."""


def write_sheet(
    path: str | os.PathLike[str],
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    separator: str = "comma",
) -> None:
    """Write a table that opens in a spreadsheet program: UTF-8 with a byte-order mark, every cell in quotes.

    Names of columns are `protected`; cells are written as they are, since -2 may be a number. An unknown
    separator raises `DataError`.
    """
    if separator not in SEPARATORS:
        raise DataError(f"the separator may be {', '.join(SEPARATORS)}, not {separator!r}")
    with (
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8-sig", newline="") as file,
    ):
        writer = csv.writer(
            file, delimiter=SEPARATORS[separator], quoting=csv.QUOTE_ALL, lineterminator="\r\n"
        )
        writer.writerow(map(protected, columns))
        writer.writerows(rows)


def read_sheet(path: str | os.PathLike[str], known: Collection[str]) -> Spreadsheet:
    """Read a table that a spreadsheet program saved as text.

    Parameters
    ----------
    path
        The file: UTF-8, or UTF-16 or UTF-32 with its mark.
    known
        Names of columns; of all separators, the one that finds most of them in the first row is taken.

    Raises
    ------
    DataError
        With every problem found: the file cannot be read, or its cells do not fit its header.
    """
    name = Path(path).name
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    text = _decoded(content, name)
    line = _SEPARATOR_LINE.match(text)
    if line:
        # Excel does not show this line, so rows are counted without it.
        text = text[line.end() :]
    separators = [line["separator"]] if line else list(SEPARATORS.values())
    readings = [_records(text, s, name) for s in separators]

    def fit(records: list[list[str]]) -> tuple[int, int]:
        header = records[0] if records else []
        return sum(_named(cell) in known for cell in header), len(header)

    records, broken = max(readings, key=lambda reading: fit(reading[0]))
    if broken is not None:
        raise DataError([broken])
    if not records or not any(cell.strip() for cell in records[0]):
        raise DataError([Problem(name, 1, None, "the first row names no columns")])
    return _sheet(name, records)


def _decoded(content: bytes, name: str) -> str:
    mark, encoding = next(((m, e) for m, e in _MARKS if content.startswith(m)), (b"", "utf-8"))
    try:
        return content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        row = content[: error.start].count(b"\n") + 1 if encoding == "utf-8" else None
        where = "" if row is None else f" (the first wrong byte is in line {row:,} of the file)"
        message = f"is not {encoding.upper()}{where}; save it as 'CSV UTF-8' or 'Unicode text'"
        raise DataError([Problem(name, None, None, message)]) from error


def _records(text: str, separator: str, name: str) -> tuple[list[list[str]], Problem | None]:
    """Return the rows up to the first that cannot be read, and its problem."""
    records: list[list[str]] = []
    try:
        # Extended row by row, so that the rows before a wrong one are kept.
        records.extend(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        message = f"is not valid CSV: {error}; look for a stray quotation mark"
        return records, Problem(name, len(records) + 1, None, message)
    return records, None


def _named(cell: str) -> str:
    return unprotected(cell).strip()


def _sheet(name: str, records: list[list[str]]) -> Spreadsheet:
    header = [_named(cell) for cell in records[0]]
    while header and not header[-1]:
        header.pop()
    problems = [
        Problem(name, 1, column, "two columns have this name; rename one")
        for number, column in enumerate(header)
        if column and column in header[:number]
    ]
    rows: list[tuple[str, ...]] = []
    numbers: list[int] = []
    for number, record in enumerate(records[1:], start=2):
        if not any(cell.strip() for cell in record):
            continue
        # Programs leave out the empty cells at the end of a row, or add some.
        cells = record[: len(header)] + [""] * (len(header) - len(record))
        spare = [c for at, c in enumerate(record) if c.strip() and (at >= len(header) or not header[at])]
        if spare:
            message = f"{spare[0][:40]!r} stands in a column without a name; name the column, or empty it"
            problems.append(Problem(name, number, None, message))
        rows.append(tuple(cells))
        numbers.append(number)
    if problems:
        raise DataError(problems)
    return Spreadsheet(name, tuple(header), tuple(rows), tuple(numbers))
