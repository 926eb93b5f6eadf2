"""Any table with a row per exposure → a log, by a map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from metaeval.base.errors import DataError, Problem
from metaeval.base.validation import Strict
from metaeval.data.imports import Files, TableFile, absent_columns, once, renamed, table_importer
from metaeval.data.tables.columns import TimeUnit, timed
from metaeval.data.tables.entries import Name
from metaeval.data.tables.table import Quote, Table
from metaeval.kinds.exposure.data.loading import FOLDER, Described
from metaeval.kinds.exposure.data.log_set import ITEM, TIME, USER


class LogColumns(Strict):
    """Which column is what, in a table with a row per exposure."""

    item_id: Name
    outcome: Name
    user_id: Name | None = None
    timestamp: Name | None = None
    position: Name | None = None
    propensity: Name | None = None


class LogMap(Described):
    """The content of a map file."""

    log: LogColumns
    context: dict[Name, Name] = Field(default_factory=dict)
    items: dict[Name, Name] = Field(default_factory=dict)
    users: dict[Name, Name] = Field(default_factory=dict)
    tables: dict[Literal["items", "profiles", "runs", "test"], Name | TableFile] = Field(default_factory=dict)
    header: list[Name] | None = None
    """Names of the columns of a table without a header, tabs between them."""
    split: Name | None = None
    time_unit: TimeUnit | None = None
    quote: Quote | None = None

    def about(self) -> dict[str, Any]:
        """Return the keys of ``dataset.yaml`` that the map says."""
        return self.model_dump(include={*Described.model_fields} - {"kind"}, exclude_defaults=True)


@table_importer(FOLDER, LogMap)
def import_table(table: Table, table_map: LogMap, map_name: str, beside: Mapping[str, Table]) -> Files:
    """Make a log of a table."""
    columns = table_map.log.model_dump(exclude_none=True)
    problems = absent_columns(table, columns, table_map.context, table_map.items, table_map.users)
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
    notes: list[str] = []
    tables = {"log": renamed(table, {**columns, **table_map.context})}
    if TIME in columns:
        tables["log"], notes = timed(tables["log"], TIME, table_map.time_unit)
    for kind, key, fields in (("items", ITEM, table_map.items), ("profiles", USER, table_map.users)):
        if fields:
            tables[kind] = once(renamed(table, {key: columns[key], **fields}), key)
    return Files(table_map.about(), {**tables, **beside}, notes)
