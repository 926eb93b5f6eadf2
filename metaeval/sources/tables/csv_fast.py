"""Read a valid CSV file with Arrow, many times as fast as `csv`.

`csv` reports errors with their row; Arrow accepts some invalid files. So this reads only files for which both
are known to agree, and returns None for any other.
"""

from __future__ import annotations

import csv
import functools
import io
import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SMALLEST = 100_000  # bytes: below, `csv` is as fast
_BLOCK = 1 << 24  # bytes that Arrow takes at a time; a record must fit
_QUOTE = ord('"')


def read_sound(content: bytes, delimiter: str) -> tuple[list[str], pa.Table] | None:
    """Return header and records as texts, of a file without byte-order mark; None if `csv` has to read it."""
    if len(content) < _SMALLEST or b"\0" in content or content.count(b"\r") != content.count(b"\r\n"):
        return None
    if not _is_quoted_well(content, delimiter.encode()):
        return None
    try:
        lines = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")
        header = next(csv.reader(lines, delimiter=delimiter, strict=True), [])
        names = [f"f{i}" for i in range(len(header))]
        table = arrow_csv.read_csv(
            io.BytesIO(content),
            arrow_csv.ReadOptions(block_size=_BLOCK, autogenerate_column_names=True),
            arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=False),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError, csv.Error):
        return None
    if table.column_names != names:
        return None
    longest = max(pc.max(pc.utf8_length(column)).as_py() for column in table.columns)
    # A blank line is a record to Arrow, and none to `csv`.
    blank = functools.reduce(pc.and_, (pc.equal(column, "") for column in table.columns))
    if longest > csv.field_size_limit() or pc.any(blank).as_py():
        return None
    return header, table.slice(1)


def _is_quoted_well(content: bytes, delimiter: bytes) -> bool:
    """Say whether each quoted field begins after, and ends before, a delimiter or the end of a line.

    Elsewhere a quotation mark is text to one reader and an error to the other.
    """
    if b'"' not in content:
        return True
    between = delimiter + b"\r\n"
    # Two marks stand for one inside a field; at its beginning they are an empty field, and must end it.
    # Three patterns with a literal beginning are many times as fast as one pattern.
    for begin in (rb"\A", rb"\n", re.escape(delimiter)):
        if re.search(rb'%b""(?:"")*[^"%b]' % (begin, between), content):
            return False
    padded = np.frombuffer(b"\n" + content.replace(b'""', b"") + b"\n", dtype=np.uint8)
    marks = np.flatnonzero(padded == _QUOTE)
    if len(marks) % 2:
        return False
    ends = np.frombuffer(between, dtype=np.uint8)
    before: NDArray[np.uint8] = padded[marks[::2] - 1]
    after: NDArray[np.uint8] = padded[marks[1::2] + 1]
    return bool(np.isin(before, ends).all() and np.isin(after, ends).all())
