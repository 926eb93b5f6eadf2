"""What a map does to a table before its columns are read: flatten, explode, filter, rename, add constants."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, Problem, nearest, sound, unknown
from metaeval.sources.tables.columns import text_column
from metaeval.sources.tables.entries import Constant, pattern_of, placeholders
from metaeval.sources.tables.nested import flattened

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from metaeval.kinds.explanations.data.tables.map import TableMap
    from metaeval.sources.tables.table import Table

_MOST_SHOWN = 20  # columns, or values of one, in a sentence


def prepared(table: Table, table_map: TableMap, map_name: str) -> tuple[Table, dict[str, str]]:
    """Return the table as the map wants it, and the column of each key and field of units.

    Raises
    ------
    DataError
        If the map names a column or value that the table does not have.
    """
    table = flattened(table, table_map.explode)
    for column, words in table_map.where.items():
        table = _kept(table, column, words, map_name)
    frame = table.frame.copy(deep=False)
    given = [str(c) for c in frame.columns]
    for columns, renamed in table_map.rename.items():
        for column, _ in matching(columns, table_map, given, map_name):
            texts = pd.Series(_texts(table, column), dtype=object).str.strip()
            frame[column] = np.array([renamed.get(t, t) or "" for t in texts], dtype=object)
    units: dict[str, str] = {}
    for key, source in table_map.units.items():
        units[key] = source if isinstance(source, str) else f"{key} (of the map)"
        if isinstance(source, Constant):
            frame[units[key]] = table.rows.astype(str) if source.row else source.constant
    return replace(table, frame=frame), units


def matching(
    columns: str,
    table_map: TableMap,
    given: Sequence[str],
    map_name: str,
    where: Mapping[str, list[str]] | None = None,
) -> list[tuple[str, dict[str, str]]]:
    """Return the columns of the table that a name or pattern means, and what its placeholders stand for."""
    if not placeholders(columns):
        if columns not in given:
            raise DataError([not_there(columns, given, map_name)])
        return [(columns, {})]
    allowed = {"code": table_map.codes, "aspect": list(table_map.aspects), **(where or {})}
    allowed |= {n: [f"{{{n}}}"] for path in table_map.explode for n in placeholders(path)}  # rows by now
    pattern = pattern_of(columns, allowed)
    found = [(c, m.groupdict()) for c in given if (m := pattern.fullmatch(c))]
    if not found:
        near = nearest(columns, given)
        message = f"no column of the table fits the pattern {columns!r}{near} (it has: {few(given)})"
        raise DataError([Problem(map_name, None, None, message)])
    return found


def not_there(column: str, given: Sequence[str], map_name: str) -> Problem:
    """Return the problem of a column that the table does not have."""
    message = f"the column {column!r} is not in the table{nearest(column, given)} (it has: {few(given)})"
    return Problem(map_name, None, None, message)


def few(given: Sequence[str]) -> str:
    """Return the names of columns, or as many as a sentence bears."""
    more = f", and {len(given) - _MOST_SHOWN:,} more" if len(given) > _MOST_SHOWN else ""
    return f"{', '.join(given[:_MOST_SHOWN])}{more}"


def _kept(table: Table, column: str, words: Collection[str], map_name: str) -> Table:
    """Return the rows of the table that have one of these values."""
    if column not in table.frame.columns:
        raise DataError([not_there(column, [str(c) for c in table.frame.columns], map_name)])
    texts = _texts(table, column)
    there = [*dict.fromkeys(texts)]
    for word in words:
        if word not in there:
            few = there[:_MOST_SHOWN] + ["…"] * (len(there) > _MOST_SHOWN)
            message = unknown(f"no row of the table has in {column!r} the value", word, few, "there are")
            raise DataError([Problem(map_name, None, None, message)])
    kept = np.flatnonzero(np.isin(texts.astype(str), list(words)))
    return replace(table, frame=table.frame.iloc[kept].reset_index(drop=True), rows=table.rows[kept])


def _texts(table: Table, column: str) -> NDArray[np.object_]:
    return sound(text_column(table, column))
