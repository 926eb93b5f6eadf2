"""Read lines of fields between blanks, plain or gzip'ed; what is wrong is named with its line."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, Problem
from metaeval.sources.tables.parquet import memory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_GZIP = b"\x1f\x8b"
_PART = 1 << 24  # bytes
_BOM = b"\xef\xbb\xbf"
_OTHER_BLANKS = (b"\0", b"\x0b", b"\x0c")
"""Bytes that are fields or blanks to Python, and something else to pandas."""


def read_fields(path: Path, fields: Sequence[str], what: str) -> tuple[pd.DataFrame, list[Problem]]:
    """Return ``line`` and the fields as text, and a problem for each line that has not as many.

    Parameters
    ----------
    fields
        Names of the fields, in order.
    what
        What the file is called in an error, such as "qrels file".

    Raises
    ------
    DataError
        If there is no such file, or it is no text.
    """
    content = _content(path, what)
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path.name} is not UTF-8 text; a line of a {what} is: {' '.join(fields)}"
        ) from error
    frame = _sound(content, fields)
    if frame is not None:
        return frame, []
    numbered = [(n, found) for n, line in enumerate(content.split(b"\n"), start=1) if (found := line.split())]
    problems = [
        Problem(path.name, n, None, f"has {len(found)} fields; a line is: {' '.join(fields)}")
        for n, found in numbered
        if len(found) != len(fields)
    ]
    whole = [(n, *(f.decode() for f in found)) for n, found in numbered if len(found) == len(fields)]
    return pd.DataFrame(whole, columns=["line", *fields]), problems


def _content(path: Path, what: str) -> bytes:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"there is no {what} {str(path)!r}") from None
    if content.startswith(_GZIP):
        try:
            content = _unpacked(path, content)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(f"{path.name} is a broken gzip file; download it again") from error
    return content.removeprefix(_BOM)


def _unpacked(path: Path, content: bytes) -> bytes:
    parts: list[bytes] = []
    left = memory()
    with gzip.open(io.BytesIO(content)) as file:
        while part := file.read(_PART):
            parts.append(part)
            left -= len(part)
            if left < 0:
                raise DataError(f"{path.name} does not fit in memory when it is unpacked")
    return b"".join(parts)


def _sound(content: bytes, fields: Sequence[str]) -> pd.DataFrame | None:
    """Read a file of which every line has the fields, many times as fast; None for any other."""
    content = content.rstrip()
    lone = content.count(b"\r") != content.count(b"\r\n")
    if not content or lone or any(blank in content for blank in _OTHER_BLANKS):
        return None
    names = [*fields, "beyond"]
    try:
        frame = pd.read_csv(
            io.BytesIO(content),
            sep=r"\s+",
            names=names,
            dtype=str,
            quoting=csv.QUOTE_NONE,
            na_filter=False,
            skip_blank_lines=False,
        )
    except pd.errors.ParserError:
        return None
    # Where the first line has too many fields, pandas takes them for an index; what lacks, lacks at the end.
    last, beyond = (frame[name].fillna("") != "" for name in (fields[-1], "beyond"))
    if not isinstance(frame.index, pd.RangeIndex) or beyond.any() or not last.all():
        return None
    frame = frame[list(fields)]
    frame.insert(0, "line", np.arange(1, len(frame) + 1))
    return frame
