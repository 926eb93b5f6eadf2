"""Read a delimited file without a header and without quotes, as releases of MovieLens and MIND are."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import csv

from metaeval.base.counts import counted
from metaeval.base.errors import Problem
from metaeval.sources.tables.table import Table, arrow_frame

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_MARK = "\x1f"  # stands for the delimiter, which may be several characters: Arrow takes one
_BLOCK = 1 << 26  # bytes that Arrow takes at a time; a line must fit


def read_headerless(
    path: Path, columns: Sequence[str], delimiter: str = "\t", *, latin: bool = False
) -> tuple[Table | None, list[Problem]]:
    """Read all fields as text; a line that has more or fewer fields than there are columns is a problem.

    ``latin`` says that a file that is not UTF-8 is Latin-1.

    Returns
    -------
    tuple
        The table, its rows counted from 1 (None if the file cannot be read), and its problems.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        return None, [Problem(path.name, None, None, f"cannot be read: {error.strerror}")]
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        if not latin:
            line = content[: error.start].count(b"\n") + 1
            return None, [Problem(path.name, line, None, "is not UTF-8; take the file as it was released")]
        text = content.decode("latin-1")
    if not text.strip():
        return None, [Problem(path.name, None, None, "is empty")]
    problems: list[Problem] = []

    def skip(row: csv.InvalidRow) -> str:
        message = f"has {counted(row.actual_columns, 'field')}; it needs {len(columns)}: {', '.join(columns)}"
        problems.append(Problem(path.name, row.number, None, message))
        return "skip"

    found = csv.read_csv(
        io.BytesIO(text.replace(delimiter, _MARK).encode()),
        # Rows have numbers only in a single thread.
        csv.ReadOptions(column_names=list(columns), use_threads=False, block_size=_BLOCK),
        csv.ParseOptions(
            delimiter=_MARK, quote_char=False, invalid_row_handler=skip, ignore_empty_lines=False
        ),
        csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False),
    )
    frame = arrow_frame(found)
    rows = np.setdiff1d(np.arange(1, len(frame) + len(problems) + 1), [p.row for p in problems])
    blank = (frame == "").all(axis=1).to_numpy()
    return Table(path.name, frame[~blank].reset_index(drop=True), rows[~blank]), problems
