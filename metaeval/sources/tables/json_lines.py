"""Read some keys of a large file of JSON objects, one per line, block by block; a wrong line is named."""

from __future__ import annotations

import gzip
import io
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from metaeval.base.errors import Problem
from metaeval.sources.tables.table import Table, arrow_frame, json_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_BLOCK = 1 << 25  # bytes
_TYPES: Mapping[type, tuple[pa.DataType, type | tuple[type, ...], str]] = {
    str: (pa.string(), str, "a text"),
    float: (pa.float64(), (int, float), "a number"),
}


class JsonBlock(NamedTuple):
    """Some lines of a file."""

    table: Table
    """The keys that were asked for, of the lines that have them all."""
    lines: list[bytes]
    """These lines."""
    problems: list[Problem]
    """What is wrong with the others."""


def read_json_lines(path: Path, keys: Mapping[str, type]) -> Iterator[JsonBlock]:
    """Read keys, each a ``str`` or a ``float``, of a file that may be gzip'ed.

    Raises
    ------
    OSError
        If the file cannot be read; `EOFError` if a gzip'ed one breaks off.
    """
    row = 1
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        while lines := file.readlines(_BLOCK):
            yield _read_block(path.name, lines, row, keys)
            row += len(lines)


def _read_block(name: str, lines: Sequence[bytes], first: int, keys: Mapping[str, type]) -> JsonBlock:
    rows = np.array([row for row, line in enumerate(lines, first) if line.strip()], dtype=np.int64)
    filled = [line for line in lines if line.strip()]
    schema = pa.schema([(key, _TYPES[kind][0]) for key, kind in keys.items()])
    problems: list[Problem] = []
    joined = b"".join(filled)
    try:
        joined.decode()  # Arrow takes any bytes
        found = arrow_json.read_json(
            io.BytesIO(joined),
            arrow_json.ReadOptions(block_size=2 * _BLOCK),
            arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
        sound = len(found) == len(filled) and all(map(_is_filled, found.columns))
    except (pa.ArrowInvalid, UnicodeDecodeError):
        sound = False
    if not sound:
        # Arrow does not say which line is wrong.
        records: list[dict[str, Any]] = []
        kept = np.zeros(len(filled), dtype=bool)
        for at, line in enumerate(filled):
            record, problem = _checked(line, keys)
            if problem is None:
                records.append(record)
                kept[at] = True
            else:
                problems.append(Problem(name, int(rows[at]), *problem))
        found = pa.Table.from_pylist(records, schema)
        rows, filled = rows[kept], [line for line, there in zip(filled, kept, strict=True) if there]
    return JsonBlock(Table(name, arrow_frame(found), rows), filled, problems)


def _is_filled(column: pa.ChunkedArray) -> bool:
    """Say whether a column has a text, or a finite number, in every row."""
    there = pc.not_equal(column, "") if pa.types.is_string(column.type) else pc.is_finite(column)
    return column.null_count == 0 and bool(pc.all(there, min_count=0).as_py())


def _checked(line: bytes, keys: Mapping[str, type]) -> tuple[dict[str, Any], tuple[str | None, str] | None]:
    """Return the keys of a line, or in which of them what is wrong."""
    try:
        record = json_object(line)
    except (ValueError, RecursionError) as error:
        return {}, (None, f"is not a JSON object: {error}")
    for key, kind in keys.items():
        _, allowed, called = _TYPES[kind]
        value = record.get(key)
        if value is None or value == "":
            return {}, (key, f"is missing; it must be {called}")
        if isinstance(value, bool) or not isinstance(value, allowed):
            return {}, (key, f"is {value!r}; it must be {called}")
    return {key: record[key] for key in keys}, None
