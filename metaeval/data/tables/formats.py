"""Read a table as people have it: CSV of any separator and encoding, a workbook, JSON of any nesting."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, Problem, one_of
from metaeval.data.tables.table import (
    SUFFIXES,
    Quote,
    Table,
    check_text,
    content_of,
    frame_of,
    header_problems,
    read_content,
    read_delimited,
    suffix_of,
    unknown_suffix,
)

ALL_SUFFIXES = (*SUFFIXES, ".txt", ".ndjson", ".json", ".xlsx", ".xlsm")
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_STATED = re.compile(rb"sep=(.)\r?\n")  # the first line of tables that spreadsheets are to open
_SNIFFED = 200  # records
_SEEN = 1_000_000  # bytes
_ENCODINGS = ("cp1252", "gb18030", "shift_jis", "euc_kr", "big5", "cp1251", "cp1253", "cp1254", "cp1250")
_WESTERN = "‘’‚“”„–—…•€°«»¿¡£§©®™·´"
_DECIMAL = r"[+-]?\d+(,\d+)?"
OUTER, INNER, VALUE = "outer", "inner", "value"
_PERCENT = r"[+-]?\d+([.,]\d+)?\s*%"
_QUALTRICS = '{"ImportId"'
_MOST_CELLS = 50_000_000  # of a workbook; with more, hardly a cell holds anything


def read_any(
    path: Path, part: str | None = None, quote: Quote | None = None
) -> tuple[Table | None, list[Problem]]:
    """Read a table with one of `ALL_SUFFIXES`; ``read_as`` says which separator and encoding were found out.

    ``part`` is the sheet of a workbook; the first that is not empty, if left out. Without a ``quote``, a
    table is refused of which quotation marks may hold whole rows.
    """
    suffix = suffix_of(path)
    if suffix not in ALL_SUFFIXES:
        raise unknown_suffix(path, ALL_SUFFIXES)
    content = content_of(path)
    if isinstance(content, Problem):
        return None, [content]
    if suffix in (".xlsx", ".xlsm"):
        return _read_workbook(path.name, content, part)
    content, encoding = (content, "") if suffix == ".parquet" else _in_utf8(content)
    if suffix == ".json":
        return _read_json(path.name, content)
    if suffix in (".parquet", ".jsonl", ".ndjson"):
        return read_content(path.name, content, suffix.replace("ndjson", "jsonl"))
    if stated := _STATED.match(content):
        content, separator = content[stated.end() :], stated[1].decode("latin-1")
    elif suffix in (".txt", ".tsv") and (cells := _between_blanks(content)):
        content, separator = cells, " "
    else:
        separator = _separator(content, "\t" if suffix == ".tsv" else ",")
    table, problems = read_delimited(path.name, content, separator, quote)
    if stated:
        problems = [p._replace(row=p.row and p.row + 1) for p in problems]
    if table is None:
        return None, problems
    table = replace(table, rows=table.rows + bool(stated))
    if quote is None and not problems:
        problems = _rows_in_quotation(table, content, separator)
    read_as = [f"{encoding} text"] if encoding else []
    names = {**_SEPARATORS, " ": "blanks"}
    read_as += [f"separated by {names.get(separator, repr(separator))}"] if separator != "," else []
    marked = sum(int(table.frame[c].str.fullmatch('".*"').sum()) for c in table.frame)
    read_as += [f"quotation marks kept around {counted(marked, 'cell')}"] if marked else []
    table, left_out = only_data(table)
    table = _with_points(table, comma=separator != ",")
    return replace(table, read_as=", ".join(read_as + left_out)), problems


def _in_utf8(content: bytes) -> tuple[bytes, str]:
    """Return a text in UTF-8, and its encoding if that was another."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace").encode(), "UTF-16"
    try:
        content.decode()
    except UnicodeDecodeError:
        text = content.decode("utf-8", "replace")
        if sum(c > "\x7f" for c in text) > 2 * text.count("\ufffd"):
            return content, ""  # UTF-8 with wrong bytes, which the reader names
        encoding = _guessed(content)
        return content.decode(encoding, "replace").encode(), encoding
    return content.removeprefix(codecs.BOM_UTF8), ""


def _guessed(content: bytes) -> str:
    """Return Western Europe's encoding if only its letters are there, on few of which guesses go wrong."""
    runs = re.findall(r"[^\x00-\x7f]+", content.decode("cp1252", "replace"))
    known = all(c.isalpha() or c in _WESTERN for run in runs for c in run)
    if known and 2 * sum(len(run) == 1 for run in runs) >= len(runs):
        return "cp1252"
    from charset_normalizer import from_bytes

    best = from_bytes(content, cp_isolation=list(_ENCODINGS)).best()
    return best.encoding if best is not None else "cp1252"


def _separator(content: bytes, usual: str) -> str:
    """Return what separates the fields: the most columns that all records have, else the usual one."""
    lines = content[:_SEEN].decode("utf-8", "ignore").splitlines(keepends=True)
    fits = {}
    for separator in dict.fromkeys([usual, *_SEPARATORS]):
        try:
            records = [r for r in itertools.islice(csv.reader(lines, delimiter=separator), _SNIFFED) if r]
        except csv.Error:
            continue
        n = len(records[0]) if records else 0
        alike = sum(len(r) == n for r in records) / max(1, len(records))
        fits[separator] = (alike if n > 1 else 0.0, n)
    return max(fits, key=lambda s: fits[s], default=usual)


def _between_blanks(content: bytes) -> bytes:
    """Return a table whose fields have blanks between them with one each; empty if it is none."""
    lines = [line.split() for line in content.splitlines() if line.strip()]
    alike = len({len(line) for line in lines}) == 1 and len(lines[0]) > 1
    other = re.search(rb"[,;\t|]", content.partition(b"\n")[0])
    return b"" if other or not alike else b"".join(b" ".join(line) + b"\n" for line in lines)


def _rows_in_quotation(table: Table, content: bytes, separator: str) -> list[Problem]:
    """Say which quotation marks hold rows, if every line of the file is a whole row without quotation."""
    broken = [
        any("\n" in cell or "\r" in cell for cell in row) for row in table.frame.itertuples(index=False)
    ]
    text = io.StringIO(content.decode() if any(broken) else "", newline="")
    lines = [line for line in csv.reader(text, delimiter=separator, quoting=csv.QUOTE_NONE) if line]
    if {len(line) for line in lines} != {table.frame.shape[1]}:
        return []
    says = f"is one of {counted(len(broken), 'row')} by its quotation marks, of {len(lines) - 1} without them"
    allowed = "double the marks inside of texts, or say in a map `quote: ''` or `quote: '\"'`"
    return [table.problem(broken.index(True), None, f"{says}; {allowed}")]


def _with_points(table: Table, *, comma: bool) -> Table:
    """Return the table without percent signs and, if wanted, decimal commas, in columns of numbers."""
    frame = table.frame.copy()
    for column in frame.columns:
        texts = frame[column].str.strip()
        numbers = texts[texts.str.contains(r"\d")]  # the others are words for no answer
        percent = len(numbers) > 0 and numbers.str.fullmatch(_PERCENT).all()
        if percent:
            texts = texts.str.replace(r"\s*%", "", regex=True)
            numbers = texts[numbers.index]
        if comma and numbers.str.contains(",").any() and numbers.str.fullmatch(_DECIMAL).all():
            texts = texts.str.replace(",", ".")
        if comma or percent:
            frame[column] = texts
    return replace(table, frame=frame)


def _read_json(name: str, text: bytes) -> tuple[Table | None, list[Problem]]:
    try:
        content = json.loads(text)
        check_text(content, text.decode())
        records = _records(content)
    except (ValueError, RecursionError) as error:
        if b"\n" in text.strip():  # one object per line, in a file with the suffix of the other format
            table, _ = read_content(name, text, ".jsonl")
            if table is not None and len(table.frame) > 1:
                return table, []
        return None, [Problem(name, None, None, f"is not JSON: {error}")]
    if isinstance(records, str):
        return None, [Problem(name, None, None, records)]
    return Table(name, frame_of(records), np.arange(1, len(records) + 1)), []


def _are_plain(value: object) -> bool:
    return isinstance(value, dict) and not any(isinstance(v, dict | list) for v in value.values())


def _records(content: Any) -> list[dict[str, Any]] | str:  # noqa: ANN401 - any JSON value
    """Return the only list of records in a JSON file, or why there is none.

    Objects by name, such as ``{rater: {item: label}}``, are a table of the columns `OUTER`, `INNER`, `VALUE`.
    """
    lists = [content]
    if isinstance(content, dict) and content and all(map(_are_plain, content.values())):
        return [
            {OUTER: outer, INNER: inner, VALUE: value}
            for outer, cells in content.items()
            for inner, value in cells.items()
        ]
    if isinstance(content, dict):
        lists = [value for value in content.values() if _are_records(value)]
    if len(lists) == 1 and _are_records(lists[0]):
        return list(lists[0])
    return "must hold one list of objects; a table is one, such as [{…}, {…}] (pandas: orient='records')"


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
    for sheet in book.worksheets:
        if (size := sheet.max_row * sheet.max_column) > _MOST_CELLS:
            last = f"{openpyxl.utils.get_column_letter(sheet.max_column)}{sheet.max_row}"
            message = f"has {size:,} cells up to {last} in the sheet {sheet.title!r}; delete what is far away"
            return None, [Problem(name, None, None, message)]
    sheets = {
        s.title: s
        for s in book.worksheets
        if any(v is not None for row in s.iter_rows(values_only=True) for v in row)
    }
    if not sheets:
        return None, [Problem(name, None, None, "is empty; it needs a header and rows")]
    if part is not None:
        one_of(part, sheets, f"{name!r} has no sheet", "there are", error=DataError)
    sheet = sheets[next(iter(sheets)) if part is None else part]
    cells = [list(row) for row in sheet.iter_rows(values_only=True)]
    for merged in sheet.merged_cells.ranges:
        left, top, right, bottom = merged.bounds
        for row, column in itertools.product(range(top, bottom + 1), range(left, right + 1)):
            cells[row - 1][column - 1] = cells[top - 1][left - 1]
    first = next((i for i, row in enumerate(cells) if len(set(row) - {None}) > 1), 0)
    header, depth = _header(cells[first:])
    kept = [i for i, column in enumerate(zip(*cells[first:], strict=True)) if set(column) != {None}]
    rows = [i for i in range(first + depth, len(cells)) if set(cells[i]) != {None}]
    if problems := header_problems(name, [header[i] for i in kept]):
        return None, problems
    records = [{header[i] or f"column {i + 1}": cells[row][i] for i in kept} for row in rows]
    if not records:
        return None, [Problem(name, None, None, f"has a header but no rows in the sheet {sheet.title!r}")]
    read_as = [f"sheet {sheet.title!r} of {counted(len(sheets), 'sheet')}"] if len(sheets) > 1 else []
    read_as += ["a header of two rows"] if depth > 1 else []
    table, left_out = only_data(Table(name, frame_of(records), np.array(rows) + 1))
    return replace(table, read_as=", ".join(read_as + left_out)), []


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


def only_data(table: Table) -> tuple[Table, list[str]]:
    """Return the table without blank rows and rows that explain its header, and what was left out."""
    blank = np.logical_and.reduce([is_blank(table.frame[c]) for c in table.frame.columns])
    frame, rows = table.frame[~blank], table.rows[~blank]
    left_out = [f"without {counted(int(blank.sum()), 'blank row')}"] if blank.any() else []
    names = [str(c).strip() for c in frame.columns]
    names = names if len(set(names)) == len(names) else [*frame.columns]
    above = 0  # rows that explain the header
    if len(frame) > 2 and any(str(v).startswith(_QUALTRICS) for v in frame.iloc[1]):
        above, read_as = 2, "a header of three rows"
    elif len(frame) > 2 and _repeats_names(names, frame):
        above, read_as = 1, "a header of two rows"
    if above:
        names, left_out = _questions(names, frame), [*left_out, read_as]
    frame, rows = frame.iloc[above:], rows[above:]
    return replace(table, frame=frame.set_axis(names, axis=1).reset_index(drop=True), rows=rows), left_out


def _questions(names: Sequence[str], frame: pd.DataFrame) -> list[str]:
    """Return the questions in the first row for names of columns; one that stands twice keeps its code."""
    plain = [" ".join(str(v).split()) for v in frame.iloc[0]]
    return [t if t and plain.count(t) == 1 else n for n, t in zip(names, plain, strict=True)]


def _repeats_names(names: Sequence[str], frame: pd.DataFrame) -> bool:
    """Say whether the first row has questions below codes: ``Response ID`` below ``ResponseId``."""

    def plain(text: object) -> str:
        return re.sub(r"[\W_]", "", str(text)).casefold()

    # One letter is none: A may stand below `a`, as one of two sides.
    same = (len(plain(a)) > 1 and plain(a) == plain(b) for a, b in zip(names, frame.iloc[0], strict=True))
    return sum(same) > 1


def is_blank(values: pd.Series[str]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Say of each cell whether it is empty."""
    return (values.isna() | (values.astype(str).str.strip() == "")).to_numpy(dtype=bool)
