"""Any table with a row per exposure → a log, by a map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import DataError, Problem, nearest, sound
from metaeval.base.validation import read_model
from metaeval.kinds.exposure.data.imports.map import LogMap
from metaeval.kinds.exposure.data.loading import log_of, refuse_if_in_the_way, save
from metaeval.kinds.exposure.data.log_set import ITEM, USER
from metaeval.kinds.files.loading import Imported
from metaeval.sources.hub.repository import any_table
from metaeval.sources.tables.table import Table, read_table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from metaeval.kinds.exposure.data.log_set import LogSet


def import_table(
    source: str | os.PathLike[str],
    map_file: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    force: bool = False,
) -> Imported[LogSet]:
    """Make a log of a table.

    Parameters
    ----------
    source
        A CSV, TSV, JSONL or Parquet file, a local folder that the ``datasets`` library can load, or the name
        of a data set on the hub.
    map_file
        What each column means, a YAML file.
    out
        The folder to write; with ``force`` it replaces one that is there.

    Raises
    ------
    DataError
        If the map or the table cannot be used; each problem names the row and column of the table itself.
    """
    refuse_if_in_the_way(Path(out), force=force)
    place = Path(map_file)
    table_map = sound(read_model(place, LogMap))
    table = any_table(source, table_map.split)
    columns = table_map.log.model_dump(exclude_none=True)
    _refuse_unknown(
        table, [columns, table_map.context, table_map.items, table_map.users], table_map, place.name
    )
    tables = {"log": _renamed(table, {**columns, **table_map.context})}
    for kind, key, fields in (("items", ITEM, table_map.items), ("profiles", USER, table_map.users)):
        if fields:
            tables[kind] = _once(_renamed(table, {key: columns[key], **fields}), key)
    beside = {str(kind): sound(read_table(place.parent / file)) for kind, file in table_map.tables.items()}
    data = log_of(table_map.about(), tables | beside)
    save(data, out, force=force)
    return Imported(data, ())


def _refuse_unknown(table: Table, maps: list[Mapping[str, str]], table_map: LogMap, map_name: str) -> None:
    given = [str(c) for c in table.frame.columns]
    absent = dict.fromkeys(column for named in maps for column in named.values() if column not in given)
    problems = [f"the column {c!r} is not in the table{nearest(c, given)}" for c in absent]
    problems += [
        f"{name!r} is a column of its own in a log; name it under `log`"
        for name in table_map.context
        if name in type(table_map.log).model_fields
    ]
    if table_map.users and table_map.log.user_id is None:
        problems.append("`users` names fields of users, but `log` names no user_id")
    problems += [
        f"{kind} are named in `tables` and in `{key}`; name them once"
        for kind, key in (("items", "items"), ("profiles", "users"))
        if kind in table_map.tables and getattr(table_map, key)
    ]
    if problems:
        raise DataError([Problem(map_name, None, None, text) for text in problems])


def _renamed(table: Table, columns: Mapping[str, str]) -> Table:
    frame = table.frame[list(columns.values())].set_axis(list(columns), axis="columns")
    return Table(table.name, frame, table.rows, columns)


def _once(table: Table, key: str) -> Table:
    """Return the first row of each value of a key, without rows that have none."""
    first = (table.frame[key].notna() & ~table.frame[key].duplicated()).to_numpy()
    return Table(table.name, table.frame[first].reset_index(drop=True), table.rows[first], table.labels)
