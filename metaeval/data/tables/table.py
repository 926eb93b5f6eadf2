"""Read a table (CSV, TSV, JSONL, Parquet) into a frame that knows the rows of the source."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem, nearest

SUFFIXES: tuple[str, ...] = (".parquet", ".csv", ".jsonl", ".tsv")
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_MARK = "\x1f"  # stands for a delimiter of several characters: Arrow takes one
Quote: TypeAlias = Literal['"', "'", ""]
"""What stands around a text that holds the delimiter or a line break; empty if nothing does."""
_BLOCK = 2**31 - 1  # bytes that Arrow reads at a time, at most


@dataclass(frozen=True, slots=True)
class Table:
    """A table as read, with unchanged values, and the rows and columns of the source."""

    name: str
    """Name of the file, as the user knows it."""
    frame: pd.DataFrame
    """The values; text stays text, whatever it looks like."""
    rows: NDArray[np.int64]
    """For each row its row in the source, as a spreadsheet shows it; of a JSONL file the line."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Name in the source of a column that was renamed."""
    value_labels: NDArray[np.object_] | None = None
    """For each row the source column that the rating or score came from, if there are several."""
    read_as: str = ""
    """What was found out of the file: its encoding, separator or sheet; empty if nothing had to be."""

    def problem(self, position: int, column: str | None, message: str) -> Problem:
        """Return a problem with the cell at ``position`` (0-based) and ``column`` of ``frame``."""
        if column in ("rating", "score") and self.value_labels is not None:
            label: str | None = str(self.value_labels[position])
        else:
            label = None if column is None else self.labels.get(column, column)
        return Problem(self.name, int(self.rows[position]), label, message)


def from_frame(frame: pd.DataFrame, name: str) -> Table:
    """Return a frame as a `Table`, its rows counted as in a spreadsheet: the first has number 2."""
    plain = frame.reset_index(drop=True)
    plain.columns = [str(c) for c in plain.columns]
    return Table(name, plain, np.arange(2, len(plain) + 2))


def read_table(path: Path) -> tuple[Table | None, list[Problem]]:
    """Read a table; the format follows the suffix, one of `SUFFIXES`, before ``.gz`` if it is gzip'ed.

    It is None if it cannot be used. Problems are those of the file: encoding, ragged rows, broken lines.
    """
    suffix = suffix_of(path)
    if suffix not in SUFFIXES:
        raise unknown_suffix(path, SUFFIXES)
    content = content_of(path)
    return (None, [content]) if isinstance(content, Problem) else read_content(path.name, content, suffix)


def suffix_of(path: Path) -> str:
    """Return the suffix that says the format of a file: that before ``.gz``, if it is gzip'ed."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == ".gz" else suffix


def unknown_suffix(path: Path, allowed: Sequence[str]) -> DataError:
    """Return the error of a file whose format is not known."""
    suffix = suffix_of(path)
    near = nearest(suffix, allowed) if suffix else ""
    return DataError(f"{path.name!r} has an unknown suffix; use one of {', '.join(allowed)}{near}")


def content_of(path: Path) -> bytes | Problem:
    """Return what a file holds, or why it cannot be read."""
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix.lower() == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or str(error)
        return Problem(path.name, None, None, f"cannot be read: {why}")
    empty = Problem(path.name, None, None, "is empty; it needs a header and rows")
    return content if content.strip() else empty


def read_content(name: str, content: bytes, suffix: str) -> tuple[Table | None, list[Problem]]:
    """Read the content of a file; see `read_table`."""
    if suffix == ".parquet":
        return _read_parquet(name, content)
    if suffix == ".jsonl":
        return _read_jsonl(name, content)
    return read_delimited(name, content, "\t" if suffix == ".tsv" else ",")


def _read_parquet(name: str, content: bytes) -> tuple[Table | None, list[Problem]]:
    try:
        table = pq.ParquetFile(io.BytesIO(content)).read()
    except (pa.ArrowException, OSError) as error:
        message = f"cannot be read as a Parquet file: {str(error).splitlines()[0]}"
    else:
        twice = [column for column in table.column_names if table.column_names.count(column) > 1]
        if not twice:
            return from_frame(arrow_frame(table), name), []
        message = f"cannot be read as a Parquet file: two columns have the name {twice[0]!r}; rename one"
    return None, [Problem(name, None, None, message)]


def arrow_frame(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a frame; whole numbers stay whole where values are missing."""
    keep = [c for c in table.column_names if not c.startswith("__index_level_")]
    frame: pd.DataFrame = table.select(keep).to_pandas(integer_object_nulls=True, ignore_metadata=True)
    return frame


def read_delimited(
    name: str, content: bytes, delimiter: str, quote: Quote | None = None
) -> tuple[Table | None, list[Problem]]:
    """Read fields that are separated by ``delimiter``, in UTF-8, below a header; see `read_table`.

    ``quote``, if left out, is ``"``; between tabs it is nothing, unless the header stands in ``"``.
    """
    content = content.removeprefix(_BOM)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        row = None if content.startswith(_UTF16) else content[: error.start].count(b"\n") + 1
        return None, [Problem(name, row, None, _not_utf8(content, error))]
    if quote is None:
        head = text.partition("\n")[0].rstrip("\r").split(delimiter)
        quote = '"' if delimiter != "\t" or all(h[:1] == h[-1:] == '"' for h in head) else ""
    style: Literal[0, 3] = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
    lines = io.StringIO(text, newline="")
    records = csv.reader(lines, delimiter=delimiter, quotechar=quote or None, quoting=style, strict=True)
    blank: list[int] = []
    number = 0
    try:
        header = next(records, [])
        # Arrow takes a quotation mark in any place, and a blank line for a row of empty cells.
        if any(sign in text for sign in (quote or "\n\n", "\n\n", "\n\r", "\r\r")):
            for number, record in enumerate(records, start=2):
                if not record:
                    blank.append(number)
    except csv.Error as error:
        message = f"is not valid CSV: {error}; look for a stray quotation mark"
        return None, [Problem(name, max(number, 1) + 1, None, message)]
    if problems := header_problems(name, header):
        return None, problems

    def ragged(fields: int) -> str:
        hint = "too few" if fields < len(header) else "too many; quote a text that holds the delimiter"
        hint += "" if quote else "; if texts are quoted, say `quote: '\"'` in a map, or save it as CSV"
        return f"has {fields} fields, the header has {len(header)}: {hint}"

    columns = [h if h.strip() else f"column {n}" for n, h in enumerate(header, start=1)]
    frame, rows, problems = _fields(name, content, columns, delimiter, ragged, quote=quote)
    kept = (rows > 1) & ~np.isin(rows, blank)
    return Table(name, frame[kept].reset_index(drop=True), rows[kept]), problems


def read_headerless(
    path: Path, columns: Sequence[str], delimiter: str = "\t", *, latin: bool = False, quote: Quote = ""
) -> tuple[Table | None, list[Problem]]:
    """Read a file without a header, without quotes if none is given, as releases of MovieLens and MIND are.

    ``latin`` says that a file that is not UTF-8 is Latin-1. Rows are counted from 1; a line that has more or
    fewer fields than there are columns is a problem.
    """
    content = content_of(path)
    if isinstance(content, Problem):
        return None, [content]
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        if not latin:
            line = content[: error.start].count(b"\n") + 1
            return None, [Problem(path.name, line, None, "is not UTF-8; take the file as it was released")]
        text = content.decode("latin-1")

    def ragged(fields: int) -> str:
        return f"has {counted(fields, 'field')}; it needs {len(columns)}: {', '.join(columns)}"

    marked = text.replace(delimiter, _MARK).encode()
    frame, rows, problems = _fields(path.name, marked, columns, _MARK, ragged, quote=quote)
    kept = (frame != "").any(axis=1).to_numpy()
    return Table(path.name, frame[kept].reset_index(drop=True), rows[kept]), problems


def _fields(
    name: str,
    content: bytes,
    columns: Sequence[str],
    delimiter: str,
    ragged: Callable[[int], str],
    *,
    quote: Quote,
) -> tuple[pd.DataFrame, NDArray[np.int64], list[Problem]]:
    """Return all records as texts, their numbers, and a problem for each of another number of fields."""
    problems: list[Problem] = []

    def skip(row: arrow_csv.InvalidRow) -> str:
        problems.append(Problem(name, row.number, None, ragged(row.actual_columns)))
        return "skip"

    names = [str(at) for at in range(len(columns))]
    table = arrow_csv.read_csv(
        io.BytesIO(content),
        # Rows have numbers only in a single thread.
        arrow_csv.ReadOptions(
            column_names=names, use_threads=False, block_size=min(len(content) + 1, _BLOCK)
        ),
        arrow_csv.ParseOptions(
            delimiter=delimiter,
            quote_char=quote or False,
            newlines_in_values=True,
            ignore_empty_lines=False,
            invalid_row_handler=skip,
        ),
        arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
    )
    frame = arrow_frame(table).set_axis(list(columns), axis=1)
    rows = np.setdiff1d(np.arange(1, len(frame) + len(problems) + 1), [p.row for p in problems])
    return frame, rows, problems


def header_problems(name: str, header: Sequence[str]) -> list[Problem]:
    """Return what is wrong with the names of columns."""
    if not any(header):
        return [Problem(name, 1, None, "the first row has no column names")]
    again = [column for n, column in enumerate(header) if column and column in header[:n]]
    return [Problem(name, 1, column, "two columns have this name; rename one") for column in again]


def _not_utf8(content: bytes, error: UnicodeDecodeError) -> str:
    if content.startswith(_UTF16):
        return "is UTF-16; save the file as UTF-8"
    return f"is not UTF-8 (byte 0x{content[error.start]:02x}); save the file as UTF-8"


def _read_jsonl(name: str, content: bytes) -> tuple[Table | None, list[Problem]]:
    problems: list[Problem] = []
    records: list[dict[str, Any]] = []
    rows: list[int] = []
    for number, line in enumerate(content.removeprefix(_BOM).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            records.append(json_object(line))
            rows.append(number)
            continue
        except UnicodeDecodeError as error:
            message = _not_utf8(line, error)
        except (ValueError, RecursionError) as error:
            message = f"is not a JSON object: {error}"
        problems.append(Problem(name, number, None, message))
    if not any(records):
        message = "holds only empty objects; it needs keys and values"
        return None, problems or [Problem(name, None, None, message)]
    return Table(name, frame_of(records), np.asarray(rows, dtype=np.int64)), problems


def frame_of(records: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return records as a frame of objects, with the columns in the order of their first record."""
    columns = dict.fromkeys(c for record in records for c in record)
    # Column by column: a frame made of records would turn 7 into 7.0 beside a missing value.
    return pd.DataFrame({c: pd.Series([r.get(c) for r in records], dtype=object) for c in columns})


def json_object(line: bytes) -> dict[str, Any]:
    """Return the object that a line holds; raise `ValueError` if it is none, or no UTF-8."""
    text = line.decode("utf-8")
    record = _DECODER.decode(text)
    if not isinstance(record, dict):
        raise ValueError(f"the line holds {text.strip()[:40]!r}; each line is one object in braces")  # noqa: TRY004 one kind of error for the caller
    check_text(record, text)
    return record


def check_text(value: object, json_text: str) -> None:
    """Raise `ValueError` if JSON has an escape of half of a surrogate pair alone, which is no text."""
    if "\\u" in json_text:
        json.dumps(value, ensure_ascii=False).encode("utf-8")


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is not a number; write null where there is none")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def json_lines(path: Path, keys: Mapping[str, type]) -> Iterator[tuple[int, dict[str, Any] | Problem]]:
    """Yield row and object of each line of a large file, perhaps gzip'ed; or what is wrong with the line.

    Each object must have ``keys``, each a text (``str``) or a number (``float``).
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for row, line in enumerate(file, start=1):
                if line.strip():
                    yield row, _checked(path.name, row, line, keys)
    except (OSError, EOFError) as error:
        message = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{str(path)!r} cannot be read: {message}") from error


def _checked(name: str, row: int, line: bytes, keys: Mapping[str, type]) -> dict[str, Any] | Problem:
    try:
        record = json_object(line)
    except (ValueError, RecursionError) as error:
        return Problem(name, row, None, f"is not a JSON object: {error}")
    for key, kind in keys.items():
        value = record.get(key)
        wanted = "a text" if kind is str else "a number"
        if value is None or value == "":
            return Problem(name, row, key, f"is missing; it must be {wanted}")
        if isinstance(value, bool) or not isinstance(value, str if kind is str else int | float):
            return Problem(name, row, key, f"is {value!r}; it must be {wanted}")
    return record
