"""Read a table (CSV, TSV, JSONL, Parquet) into a frame that knows the rows of the source."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from metaeval.base.errors import DataError, Problem, nearest
from metaeval.sources.tables.csv_fast import read_sound
from metaeval.sources.tables.parquet import TooLargeError, read_parquet

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

SUFFIXES: tuple[str, ...] = (".parquet", ".csv", ".jsonl", ".tsv")
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_BOM = b"\xef\xbb\xbf"
_BATCH = 20_000  # records
_SPARSEST = 100  # cells per byte of a JSONL file; with more, every line has keys of its own
_LINE_PROBLEMS = 1000  # at most; a file of another kind would have one per line


@dataclass(frozen=True, slots=True)
class Table:
    """A table as read, with unchanged values, and the rows and columns of the source.

    Parameters
    ----------
    name
        Name of the file, as the user knows it.
    frame
        The values; text stays text, whatever it looks like.
    rows
        For each row of ``frame`` its row in the source, as a spreadsheet shows it (a JSONL file has no
        header, there it is the line).
    labels
        Name in the source of a column that was renamed.
    value_labels
        For each row the source column that the rating or score came from, if there are several.
    """

    name: str
    frame: pd.DataFrame
    rows: NDArray[np.int64]
    labels: Mapping[str, str] = field(default_factory=dict)
    value_labels: NDArray[np.object_] | None = None
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
    """Read a table; the format follows the suffix, which must be one of `SUFFIXES`.

    Returns
    -------
    tuple
        The table (None if it cannot be used), and problems of the file: encoding, ragged rows, broken lines.
        Values are not checked.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(
            f"{path.name!r} has an unknown suffix; use one of {', '.join(SUFFIXES)}"
            f"{nearest(suffix, SUFFIXES) if suffix else ''}"
        )
    content = content_of(path)
    return (None, [content]) if isinstance(content, Problem) else read_content(path.name, content, suffix)


def content_of(path: Path) -> bytes | Problem:
    """Return what a file holds, or why it cannot be read."""
    try:
        content = path.read_bytes()
    except OSError as error:
        return Problem(path.name, None, None, f"cannot be read: {error.strerror}")
    return (
        content if content.strip() else Problem(path.name, None, None, "is empty; it needs a header and rows")
    )


def read_content(name: str, content: bytes, suffix: str) -> tuple[Table | None, list[Problem]]:
    """Read the content of a file; see `read_table`."""
    if suffix == ".parquet":
        return _read_parquet(name, content)
    if suffix == ".jsonl":
        return _read_jsonl(name, content)
    return read_delimited(name, content, _DELIMITERS[suffix])


def arrow_frame(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a frame; whole numbers stay whole where values are missing."""
    keep = [c for c in table.column_names if not c.startswith("__index_level_")]
    frame: pd.DataFrame = table.select(keep).to_pandas(integer_object_nulls=True, ignore_metadata=True)
    return frame


def _read_parquet(name: str, content: bytes) -> tuple[Table | None, list[Problem]]:
    try:
        return from_frame(arrow_frame(read_parquet(content)), name), []
    except TooLargeError as error:
        message = str(error)
    except MemoryError:
        message = "does not fit in memory; leave out columns that are not needed"
    except (pa.ArrowException, OSError) as error:
        message = f"cannot be read as a Parquet file: {str(error).splitlines()[0]}"
    return None, [Problem(name, None, None, message)]


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
        except ValueError as error:
            message = f"is not a JSON object: {error}"
        except RecursionError:
            message = "nests its values too deeply to be read"
        problems.append(Problem(name, number, None, message))
        if len(problems) >= _LINE_PROBLEMS:
            break
    columns = {column for record in records for column in record}
    if not columns:
        return None, problems or [
            Problem(name, None, None, "holds only empty objects; it needs keys and values")
        ]
    if len(records) * len(columns) > _SPARSEST * len(content):
        message = (
            f"has {len(columns):,} keys in {len(records):,} lines; the lines of a table share their keys"
        )
        return None, [*problems, Problem(name, None, None, message)]
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
    if "\\u" in text:
        # A lone half of a surrogate pair can be escaped in JSON, but is no text.
        json.dumps(record, ensure_ascii=False).encode("utf-8")
    return record


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is not a number; write null where there is none")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def read_delimited(name: str, content: bytes, delimiter: str) -> tuple[Table | None, list[Problem]]:
    """Read fields that are separated by ``delimiter``, in UTF-8; see `read_table`."""
    content = content.removeprefix(_BOM)
    sound = read_sound(content, delimiter)
    if sound is not None and not header_problems(name, sound[0]):
        return _table(name, sound[0], arrow_frame(sound[1])), []
    return _read_records(name, content, delimiter)


def _read_records(name: str, content: bytes, delimiter: str) -> tuple[Table | None, list[Problem]]:
    """Read a file record by record, and find its problems."""
    problems: list[Problem] = []
    header: list[str] = []
    batch: list[list[str]] = []
    tables: list[pa.Table] = []
    rows: list[int] = []
    number = 0
    try:
        text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")
        for number, record in enumerate(csv.reader(text, delimiter=delimiter, strict=True), start=1):
            if number == 1:
                header = record
            elif len(record) == len(header):
                batch.append(record)
                rows.append(number)
                if len(batch) == _BATCH:
                    tables.append(_arrow(batch, len(header)))
                    batch = []
            elif record:  # a blank line counts as a row, but says nothing
                few = len(record) < len(header)
                hint = "too few" if few else "too many; quote a text that holds the delimiter"
                message = f"has {len(record)} fields, the header has {len(header)}: {hint}"
                problems.append(Problem(name, number, None, message))
    except csv.Error as error:
        message = f"is not valid CSV: {error}; look for a stray quotation mark"
        return None, [*problems, Problem(name, number + 1, None, message)]
    except UnicodeDecodeError:
        return None, [_where_not_utf8(name, content, delimiter)]
    if wrong_header := header_problems(name, header):
        return None, [*wrong_header, *problems]
    whole = pa.concat_tables([*tables, _arrow(batch, len(header))])
    return _table(name, header, arrow_frame(whole), np.asarray(rows, dtype=np.int64)), problems


def _table(
    name: str, header: Sequence[str], frame: pd.DataFrame, rows: NDArray[np.int64] | None = None
) -> Table:
    frame.columns = [h if h.strip() else f"column {n}" for n, h in enumerate(header, start=1)]
    return Table(name, frame, np.arange(2, len(frame) + 2) if rows is None else rows)


def _arrow(records: Sequence[Sequence[str]], columns: int) -> pa.Table:
    """Return records as an Arrow table, which takes a fifth of the memory of Python lists."""
    cells: Iterable[Sequence[str]] = zip(*records, strict=True) if records else [()] * columns
    return pa.table([pa.array(c, pa.string()) for c in cells], [str(i) for i in range(columns)])


def header_problems(name: str, header: Sequence[str]) -> list[Problem]:
    """Return what is wrong with the names of columns."""
    if not any(header):
        return [Problem(name, 1, None, "the first row has no column names")]
    first = {column: n for n, column in reversed([*enumerate(header)])}
    again = [column for n, column in enumerate(header) if column and first[column] != n]
    return [Problem(name, 1, column, "two columns have this name; rename one") for column in again]


def _not_utf8(content: bytes, error: UnicodeDecodeError) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "is UTF-16; save the file as UTF-8"
    return f"is not UTF-8 (byte 0x{content[error.start]:02x}); save the file as UTF-8"


def _where_not_utf8(name: str, content: bytes, delimiter: str) -> Problem:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as found:
        error = found
    message = _not_utf8(content, error)
    if "UTF-16" in message:
        return Problem(name, None, None, message)
    # The invalid byte becomes an "x", so that a row that begins with it is counted.
    sound = content[: error.start].decode("utf-8") + "x"
    records = list(csv.reader(io.StringIO(sound, newline=""), delimiter=delimiter))
    header, last = records[0], records[-1]
    column = header[len(last) - 1] if len(records) > 1 and len(last) <= len(header) else None
    return Problem(name, len(records), column, message)
