"""Read a table as people have it: CSV of any separator and encoding, a workbook, JSON of any nesting."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
import re
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem, nearest, one_of
from metaeval.sources.tables.rows import only_data
from metaeval.sources.tables.table import (
    SUFFIXES,
    Table,
    content_of,
    frame_of,
    header_problems,
    read_content,
    read_delimited,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ALL_SUFFIXES = (*SUFFIXES, ".txt", ".ndjson", ".json", ".xlsx", ".xlsm")
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_SNIFFED = 200  # records
_SEEN = 1_000_000  # bytes
_ENCODINGS = ("cp1252", "gb18030", "shift_jis", "euc_kr", "big5", "cp1251", "cp1253", "cp1254", "cp1250")
_WESTERN = "‘’‚“”„–—…•€°«»¿¡£§©®™·´"
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_DECIMAL = r"[+-]?\d+(,\d+)?"
_PERCENT = r"[+-]?\d+([.,]\d+)?\s*%"


def read_any(path: Path, part: str | None = None) -> tuple[Table | None, list[Problem]]:
    """Read a table whose format, separator and encoding are found out.

    Parameters
    ----------
    path
        A file with one of `ALL_SUFFIXES`.
    part
        The sheet of a workbook; the first that is not empty, if left out.

    Returns
    -------
    tuple
        As of `metaeval.sources.tables.table.read_table`; ``read_as`` of the table says what was found out.
    """
    suffix = path.suffix.lower()
    if suffix not in ALL_SUFFIXES:
        near = nearest(suffix, ALL_SUFFIXES) if suffix else ""
        raise DataError(f"{path.name!r} has an unknown suffix; use one of {', '.join(ALL_SUFFIXES)}{near}")
    content = content_of(path)
    if isinstance(content, Problem):
        return None, [content]
    if suffix == ".parquet":
        return read_content(path.name, content, suffix)
    if suffix in (".xlsx", ".xlsm"):
        return _read_workbook(path.name, content, part)
    if _is_damaged(content):  # it is UTF-8, but for some bytes: say which
        return read_content(path.name, content, suffix if suffix in SUFFIXES else ".csv")
    return _read_text(path.name, suffix, *_in_utf8(content))


def _read_text(name: str, suffix: str, content: bytes, encoding: str) -> tuple[Table | None, list[Problem]]:
    if suffix == ".json":
        return _read_json(name, content)
    if suffix in (".jsonl", ".ndjson"):
        return read_content(name, content, ".jsonl")
    separator = _separator(content, "\t" if suffix == ".tsv" else ",")
    table, problems = read_delimited(name, content, separator)
    if table is None:
        return None, problems
    told = [f"{encoding} text"] if encoding else []
    told += [f"separated by {_SEPARATORS[separator]}"] if separator != "," else []
    table, header = only_data(table)
    return replace(_with_points(table, comma=separator != ","), read_as=", ".join(told + header)), problems


def _in_utf8(content: bytes) -> tuple[bytes, str]:
    """Return the text in UTF-8, and its encoding if that was another."""
    for mark, name in _MARKS.items():
        if content.startswith(mark):
            return content.decode(name, "replace").encode(), "UTF-16"
    try:
        content.decode()
    except UnicodeDecodeError:
        name = "cp1252" if _is_western(content) else _guessed(content)
        return content.decode(name, "replace").encode(), name
    return content.removeprefix(codecs.BOM_UTF8), ""


def _is_damaged(content: bytes) -> bool:
    """Say whether a text that is no UTF-8 is so for the most part."""
    try:
        content.decode()
    except UnicodeDecodeError:
        text = content.decode("utf-8", "replace")
        wrong = text.count("\ufffd")
        return sum(c > "\x7f" for c in text) > 2 * wrong
    return False


def _is_western(content: bytes) -> bool:
    """Say whether the text has the letters of Western Europe; a guess is often wrong on few of them."""
    found = re.findall(r"[^\x00-\x7f]+", content.decode("cp1252", "replace"))
    known = all(c.isalpha() or c in _WESTERN for run in found for c in run)
    return known and 2 * sum(len(run) == 1 for run in found) >= len(found)


def _guessed(content: bytes) -> str:
    from charset_normalizer import from_bytes

    found = from_bytes(content, cp_isolation=list(_ENCODINGS)).best()
    return found.encoding if found is not None else "cp1252"


def _separator(content: bytes, usual: str) -> str:
    """Return what separates the fields: the most columns that all records have, else the usual one."""
    lines = content[:_SEEN].decode("utf-8", "ignore").splitlines(keepends=True)
    found = {}
    for separator in dict.fromkeys([usual, *_SEPARATORS]):
        try:
            records = [r for r in itertools.islice(csv.reader(lines, delimiter=separator), _SNIFFED) if r]
        except csv.Error:
            continue
        n = len(records[0]) if records else 0
        alike = sum(len(r) == n for r in records) / max(1, len(records))
        found[separator] = (alike if n > 1 else 0.0, n)
    return max(found, key=lambda s: found[s], default=usual)


def _with_points(table: Table, *, comma: bool) -> Table:
    """Return the table without percent signs and, if wanted, decimal commas, in columns of numbers."""
    frame = table.frame.copy()
    for column in frame.columns:
        percent = frame[column].head(_SNIFFED).str.contains(r"\d\s*%\s*$").any()
        if not comma and not percent:
            continue
        texts = frame[column].str.strip()
        given = texts[texts.str.contains(r"\d")]  # else a word for no answer
        if percent and given.str.fullmatch(_PERCENT).all():
            texts = texts.str.replace(r"\s*%", "", regex=True)
            given = texts[given.index]
        if comma and given.str.contains(",").any() and given.str.fullmatch(_DECIMAL).all():
            texts = texts.str.replace(",", ".")
        frame[column] = texts
    return replace(table, frame=frame)


def _read_json(name: str, text: bytes) -> tuple[Table | None, list[Problem]]:
    try:
        content = json.loads(text)
    except ValueError as error:
        if b"\n" in text.strip():  # one object per line, in a file with the suffix of the other format
            table, _ = read_content(name, text, ".jsonl")
            if table is not None and len(table.frame) > 1:
                return table, []
        return None, [Problem(name, None, None, f"is not JSON: {error}")]
    except RecursionError:
        return None, [Problem(name, None, None, "nests its values too deeply to be read")]
    records = _records(content)
    if isinstance(records, str):
        return None, [Problem(name, None, None, records)]
    return Table(name, frame_of(records), np.arange(1, len(records) + 1)), []


def _records(content: Any) -> list[dict[str, Any]] | str:  # noqa: ANN401 - any JSON value
    """Return the records of a JSON file, or why there are none."""
    if isinstance(content, dict):
        lists = {k: v for k, v in content.items() if _are_records(v)}
        values = list(content.values())
        if len(lists) == 1:
            content = next(iter(lists.values()))
        elif len(lists) > 1:
            return f"holds several lists of objects ({', '.join(lists)}); give a file with one"
        elif values and all(isinstance(v, list) for v in values) and len({len(v) for v in values}) == 1:
            content = [dict(zip(content, row, strict=True)) for row in zip(*values, strict=True)]
        elif values and all(isinstance(v, dict) and v.keys() == values[0].keys() for v in values):
            # A frame of pandas names the column, then the row; anything else names the record.
            if all(str(k).isdecimal() for k in values[0]):
                content = [{c: content[c][row] for c in content} for row in values[0]]
            else:
                content = [{"key": key, **record} for key, record in content.items()]
    if not _are_records(content):
        return "holds no list of objects; a table is one, such as [{…}, {…}]"
    return list(content)


def _are_records(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _read_workbook(name: str, content: bytes, part: str | None) -> tuple[Table | None, list[Problem]]:
    import openpyxl

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and extensions, which are not read
            book = openpyxl.load_workbook(io.BytesIO(content), data_only=True)
    except Exception as error:  # noqa: BLE001 - whatever a broken archive raises in a library of its own
        return None, [Problem(name, None, None, f"cannot be read as a workbook: {error}")]
    sheets = [s for s in book.worksheets if any(v is not None for row in s.values for v in row)]
    if not sheets:
        return None, [Problem(name, None, None, "is empty; it needs a header and rows")]
    titles = [s.title for s in sheets]
    if part is not None:
        one_of(part, titles, f"{name!r} has no sheet", "there are", error=DataError)
    sheet = sheets[titles.index(part) if part is not None else 0]
    cells = [list(row) for row in sheet.values]
    for merged in sheet.merged_cells.ranges:
        left, top, right, bottom = merged.bounds
        for row, column in itertools.product(range(top, bottom + 1), range(left, right + 1)):
            cells[row - 1][column - 1] = cells[top - 1][left - 1]
    first = next((i for i, row in enumerate(cells) if len(set(row) - {None}) > 1), 0)
    header, depth = _header(cells[first:])
    kept = [i for i, column in enumerate(zip(*cells[first:], strict=True)) if set(column) != {None}]
    rows = [i for i in range(first + depth, len(cells)) if set(cells[i]) != {None}]
    names = [header[i] for i in kept]
    if wrong := header_problems(name, names):
        return None, wrong
    names = [h or f"column {i + 1}" for h, i in zip(names, kept, strict=True)]
    records = [dict(zip(names, (cells[r][i] for i in kept), strict=True)) for r in rows]
    if not records:
        return None, [Problem(name, None, None, f"has a header but no rows in the sheet {sheet.title!r}")]
    told = [f"sheet {sheet.title!r} of {counted(len(sheets), 'sheet')}"] if len(sheets) > 1 else []
    told += ["a header of two rows"] if depth > 1 else []
    table, more = only_data(Table(name, frame_of(records), np.array(rows) + 1))
    return replace(table, read_as=", ".join(told + more)), []


def _header(rows: Sequence[Sequence[Any]]) -> tuple[list[str], int]:
    """Return the names of the columns, and how many rows they take.

    A header takes two rows if the first says something for several columns: it is the same in all of them
    where cells are merged, and else empty after the first of them.
    """
    top, below = rows[0], rows[1] if len(rows) > 1 else []
    texts = all(v is None or isinstance(v, str) for v in below)
    spans = any(a is None and b is not None for a, b in zip(top[1:], below[1:], strict=False))
    spans |= any(a == b is not None for a, b in itertools.pairwise(top))
    if not (texts and spans and any(v is not None for v in below)):
        return ["" if v is None else str(v).strip() for v in top], 1
    over, names = "", []
    for a, b in zip(top, below, strict=True):
        over = str(a).strip() if a is not None else over if b is not None else ""
        own = "" if b is None else str(b).strip()
        names.append(over if own in ("", over) else f"{over} {own}".strip())
    return names, 2
