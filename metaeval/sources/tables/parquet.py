"""Read a Parquet file as an Arrow table, unless it would not fit in memory.

A file of 50 kB can hold a terabyte: one text of a megabyte, repeated a million times. So texts are first read
in dictionary encoding, which is about as large as the file, and their size is computed before they are
decoded.
"""

from __future__ import annotations

import io
import os

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_CELL = 8  # bytes of a value, or of a pointer to it
_GIGABYTE = 1e9
_FALLBACK = 64 * 2**30  # bytes, where a system does not say how much memory it has


class TooLargeError(Exception):
    """A table that does not fit into memory; the text says how large it is."""


def read_parquet(content: bytes) -> pa.Table:
    """Read a Parquet file; `TooLargeError` if the table would be larger than this computer's memory.

    Raises ``pyarrow.ArrowException`` or ``OSError`` if it is none, or has two columns of one name.
    """
    file = pq.ParquetFile(io.BytesIO(content))
    schema, leaves = file.schema_arrow, file.schema
    if again := [name for at, name in enumerate(schema.names) if name in schema.names[:at]]:
        raise pa.ArrowInvalid(f"two columns have the name {again[0]!r}; rename one")
    found = file.metadata
    groups = [found.row_group(i) for i in range(found.num_row_groups)]
    values = sum(g.column(i).num_values for g in groups for i in range(found.num_columns))
    values = max(values, found.num_rows * found.num_columns)
    _refuse_above_memory(values, sum(g.total_byte_size for g in groups))
    columns = [leaves.column(i) for i in range(len(leaves))]
    texts = [c.path for c in columns if c.physical_type == "BYTE_ARRAY" and c.path in schema.names]
    table = pq.ParquetFile(io.BytesIO(content), read_dictionary=texts).read()
    _refuse_above_memory(values, sum(_text_bytes(table.column(name)) for name in texts))
    try:
        return table.cast(schema)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # a type of text that cannot be decoded so
        return file.read()


def _text_bytes(column: pa.ChunkedArray) -> int:
    """Return the size of the texts of a column in bytes, repetitions included."""
    total = 0
    for chunk in column.chunks:
        if isinstance(chunk, pa.DictionaryArray) and len(chunk.dictionary):
            lengths = pc.cast(pc.binary_length(chunk.dictionary), pa.int64())
            total += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    return total


def _refuse_above_memory(values: int, bytes_: int) -> None:
    needed, there = values * _CELL + bytes_, memory()
    if needed > there:
        raise TooLargeError(
            f"holds {values:,} values, which take about {needed / _GIGABYTE:,.0f} GB in memory; "
            f"this computer has {there / _GIGABYTE:,.0f} GB"
        )


def memory() -> int:
    """Return how much memory this computer has, in bytes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _FALLBACK
