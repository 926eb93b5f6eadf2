"""A table, by its map, → the tables of a data set; each value keeps its row and column in the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, Problem, sound, unknown
from metaeval.data.checks import duplicates
from metaeval.data.tables.columns import number_column, text_column
from metaeval.data.tables.entries import Entry, FromColumn, fill, placeholders
from metaeval.data.tables.maps import KEYS, TableMap, matching, not_there, prepared
from metaeval.data.tables.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray


class _Source(NamedTuple):
    """A column of values: by whom, and of which aspect."""

    column: str
    who: str | FromColumn
    aspect: str | FromColumn
    only: Mapping[str, list[str]]
    """Values that the columns ``who`` and ``aspect`` may have."""


def sources_of(
    entry: Entry, table_map: TableMap, given: list[str], of_units: Mapping[str, str], map_name: str
) -> list[_Source]:
    """Return the columns of the table that match an entry of the map; the keys of units fit no pattern."""
    keys = {of_units.get(key, key) for key in KEYS}
    for selector in (entry.who, entry.aspect):
        if isinstance(selector, FromColumn) and selector.column not in given:
            raise DataError([not_there(selector.column, given, map_name)])
    found: list[_Source] = []
    for columns in entry.columns:
        free = [c for c in given if c not in keys] if placeholders(columns) else given
        matches = matching(columns, table_map, free, map_name, entry.where)
        found += [_source(entry, table_map, column, values, map_name) for column, values in matches]
    return found


def _source(entry: Entry, table_map: TableMap, column: str, values: dict[str, str], map_name: str) -> _Source:
    who = entry.named(column, values)
    only = {name: words for name, words in entry.where.items() if name not in values}
    if isinstance(entry.aspect, FromColumn):
        return _Source(column, who, entry.aspect, only)
    given = values.get("aspect") or values.get("code")
    name = given if entry.aspect is None else fill(entry.aspect, values)
    names = table_map.aspect_names
    if name and name not in names:
        message = unknown("unknown aspect", name, table_map.aspects, "allowed")
        raise DataError([Problem(map_name, None, None, message)])
    return _Source(column, who, names[name] if name else "", only)


def _renamed(table: Table, columns: Mapping[str, str]) -> pd.DataFrame:
    return table.frame[list(columns.values())].set_axis(list(columns), axis="columns")


def _once(
    table: Table,
    frame: pd.DataFrame,
    keys: list[str],
    labels: dict[str, str],
    problems: list[Problem],
    *,
    long: bool,
) -> Table:
    """Return one row per key. In a long table a unit has several rows, which must agree."""
    if not long:
        return Table(table.name, frame, table.rows, labels)
    first = frame.groupby(keys, sort=False).ngroup().to_numpy()
    start = np.unique(first, return_index=True)[1]
    for column in (c for c in frame.columns if c not in keys):
        cells = frame[column].astype(object).where(frame[column].notna(), "").map(str).to_numpy()
        for i in np.flatnonzero(cells != cells[start][first]):
            same = ", ".join(f"{k} {frame[k].iloc[i]!r}" for k in keys)
            message = f"differs from row {table.rows[start[first[i]]]}, which has the same {same}"
            problems.append(Problem(table.name, int(table.rows[i]), labels.get(column, column), message))
    return Table(table.name, frame.iloc[start].reset_index(drop=True), table.rows[start], labels)


class Stacker(NamedTuple):
    """Stacks columns to a long table; each value keeps its row and column in the source."""

    table: Table
    table_map: TableMap
    keys: pd.DataFrame
    labels: Mapping[str, str]
    problems: list[Problem]

    def long_table(self, sources: list[_Source], who: str, value: str) -> Table:
        """Return the long table of ``sources``, with the columns ``who``, ``aspect`` and ``value``."""
        table = self.table
        if not sources:
            columns = [*self.keys.columns, who, "aspect", value]
            return Table(table.name, pd.DataFrame(columns=columns, dtype=object), np.empty(0, dtype=np.int64))
        _refuse_same_name(table, sources, who)
        parts: list[pd.DataFrame] = []
        labels = dict(self.labels)
        for source in sources:
            missing, in_words = self.table_map.missing, self.table_map.in_words
            read: tuple[NDArray[Any], list[Problem]] = (
                text_column(table, source.column)  # words, which the check turns into numbers
                if in_words
                else number_column(table, source.column, missing)
            )
            values, found = read
            if in_words:
                values[np.isin(values, ["", *missing])] = None
            self.problems.extend(found)
            names = _cells(table, source.who, self.problems)
            aspects = _cells(table, source.aspect, self.problems)
            if isinstance(source.aspect, FromColumn):
                # A code becomes its name; unknown ones are reported by the check, with their row.
                aspects = np.array([self.table_map.aspect_names.get(a, a) for a in aspects], dtype=object)
                labels["aspect"] = source.aspect.column
            if isinstance(source.who, FromColumn):
                labels[who] = source.who.column
            part = self.keys.assign(**{who: names, "aspect": aspects, value: values})
            said = ~((part[who] == "") & part[value].isna())  # else a row without a rating
            for name, words in source.only.items():
                said &= pd.Series(sound(text_column(table, name))).isin(words)
            if isinstance(source.who, str) and isinstance(source.aspect, str):
                said &= ~part.duplicated()  # the rows of a unit say the same again in a long table
            parts.append(part[said])
        frame = pd.concat(parts)
        columns = [s.column for s, part in zip(sources, parts, strict=True) for _ in range(len(part))]
        rows = table.rows[frame.index.to_numpy()]
        value_labels = np.array(columns, dtype=object)
        return Table(table.name, frame.reset_index(drop=True), rows, labels, value_labels)


def _refuse_same_name(table: Table, sources: list[_Source], who: str) -> None:
    """Refuse two columns for one evaluator and aspect: they would be two scores per unit."""
    seen: dict[tuple[str, str], str] = {}
    for source in sources:
        if isinstance(source.who, FromColumn) or isinstance(source.aspect, FromColumn):
            continue
        pair = (source.who, source.aspect)
        if pair in seen:
            what = f"{who} {source.who!r}" + (f" and aspect {source.aspect!r}" if source.aspect else "")
            message = f"gives the {what}, and so does the column {seen[pair]!r}; name them apart"
            raise DataError([Problem(table.name, None, source.column, message)])
        seen[pair] = source.column
    for (name, aspect), column in seen.items():
        if aspect and (name, "") in seen:
            message = (
                f"gives a score of {name!r} for all aspects, and "
                f"{column!r} gives one of {aspect!r}; name them apart"
            )
            raise DataError([Problem(table.name, None, seen[name, ""], message)])


def _cells(table: Table, source: str | FromColumn, problems: list[Problem]) -> str | NDArray[np.object_]:
    if not isinstance(source, FromColumn):
        return source
    texts, found = text_column(table, source.column)
    problems += found
    return texts


class Converted(NamedTuple):
    """What a map makes of a table."""

    tables: dict[str, Table]
    """``explanations``, ``ratings`` and, if they are mapped, ``users`` and ``scores``."""
    unmapped: tuple[str, ...]
    """Columns of the table that the map does not name."""


def converted(table: Table, table_map: TableMap, map_name: str) -> Converted:
    """Return the tables that ``table_map`` makes of ``table``; `DataError` has what cannot be used."""
    table, of_units = prepared(table, table_map, map_name)
    given = [str(c) for c in table.frame.columns]
    ratings = [s for e in table_map.ratings for s in sources_of(e, table_map, given, of_units, map_name)]
    scores = [s for e in table_map.scores for s in sources_of(e, table_map, given, of_units, map_name)]
    named = {*of_units.values(), *table_map.users.values(), *table_map.where, *table_map.made_of}
    absent = [not_there(c, given, map_name) for c in sorted(named) if c not in given]
    if absent:
        raise DataError(absent)
    value_columns = [s.column for s in (*ratings, *scores)]
    whole = [s.column for s in (*ratings, *scores) if not s.only]
    twice = next((c for c in whole if value_columns.count(c) > 1), None)
    if twice is not None:
        message = f"the column {twice!r} fits more than one entry; narrow one of them with `where`"
        raise DataError([Problem(map_name, None, None, message)])
    selectors = {
        x.column for s in (*ratings, *scores) for x in (s.who, s.aspect) if isinstance(x, FromColumn)
    }
    long = bool(selectors)

    units = _renamed(table, of_units)
    problems: list[Problem] = []
    keys: dict[str, Any] = {}
    for key in (k for k in KEYS if k in units.columns):
        keys[key], found = text_column(table, of_units[key])
        problems += found
    if not long:
        # Reported once per row, not per column.
        problems += duplicates(table, pd.DataFrame(keys), "the unit")
    tables = {"explanations": _once(table, units.assign(**keys), list(keys), of_units, problems, long=long)}
    if table_map.users:
        users = _renamed(table, table_map.users)
        users.insert(0, "user_id", keys["user_id"])
        labels = {**table_map.users, "user_id": of_units["user_id"]}
        tables["users"] = _once(table, users, ["user_id"], labels, problems, long=True)
    stacker = Stacker(table, table_map, pd.DataFrame(keys), {k: of_units[k] for k in keys}, problems)
    tables["ratings"] = stacker.long_table(ratings, "rater", "rating")
    if scores:
        tables["scores"] = stacker.long_table(scores, "evaluator", "score")
    if problems:
        raise DataError(problems)
    unmapped = tuple(c for c in given if c not in {*named, *value_columns, *selectors})
    return Converted(tables, unmapped)
