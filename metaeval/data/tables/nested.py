"""Flatten nested values: ``{"user": {"id": 7}}`` has the column ``user.id``, a list ``marks`` ``marks.0``.

Columns that repeat, such as ``text_1`` and ``text_2``, become rows in the same way as lists.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, Problem, nearest, unknown
from metaeval.data.tables.entries import pattern_of, placeholders
from metaeval.data.tables.formats import is_blank
from metaeval.data.tables.table import Table

_LONGEST = 50  # elements of a list, up to which each has its own column


def flattened(
    table: Table,
    explode: Sequence[str] = (),
    where: Mapping[str, Sequence[str]] = MappingProxyType({}),
    *,
    whole: bool = False,
) -> Table:
    """Return a table without nested values: mappings and lists.

    Each element of a list in a column of ``explode`` (its path) becomes a row of its own; a row whose list is
    empty stays. Cells of a CSV that are JSON are opened.

    Of patterns of columns that share a placeholder, such as ``text_{n}`` and ``rating_{n}``,
    each value of it becomes a row, with the value in the column ``n``, unless all cells there are blank.
    The values are those of ``where``, or else those that the first pattern has: one or more characters of any
    kind. Columns with other values stay as they are.
    ``whole`` leaves the other lists as they are.
    """
    given, keep = opened(table.frame), None if whole else explode
    table = replace(table, frame=_flat(given, keep))
    if patterns := [p for p in explode if placeholders(p)]:
        table = _repeated_as_rows(table, patterns, where)
    for path in (p for p in explode if p not in patterns):
        columns = [str(c) for c in table.frame.columns]
        if path not in columns or not any(_is_list(v) for v in table.frame[path]):
            there = _flat(given, None)
            lists = [str(c) for c in there.columns if any(_is_list(v) for v in there[c])]
            message = unknown("there is no column of lists", path, lists or ["none"], "there are")
            raise DataError([Problem(table.name, None, None, message)])
        cells = [list(v) if _is_list(v) else [] for v in table.frame[path]]
        at = np.repeat(np.arange(len(cells)), [max(1, len(c)) for c in cells])
        rows = table.frame.iloc[at].reset_index(drop=True)
        rows[path] = pd.Series([v for c in cells for v in c or [None]], dtype=object)
        table = replace(table, frame=_flat(rows, keep), rows=table.rows[at])
    return table


def opened(frame: pd.DataFrame) -> pd.DataFrame:
    """Open the columns of which every cell that is not blank is the JSON of an object or a list."""
    found: dict[str, Any] = {}
    for column in frame.columns:
        cells = [v if isinstance(v, str) and v.strip() else None for v in frame[column]]
        given = [v for v in cells if v is not None]
        if not given or not all(v.lstrip()[0] in "{[" for v in given):
            continue
        with contextlib.suppress(ValueError):
            values = [None if v is None else json.loads(v) for v in cells]
            found[column] = pd.Series(values, dtype=object, index=frame.index)
    return frame.assign(**found)


def _repeated_as_rows(table: Table, patterns: Sequence[str], where: Mapping[str, Sequence[str]]) -> Table:
    """Return a row for each value of the placeholder that patterns share; their columns keep its name."""
    (name, *more), *others = [placeholders(p) for p in patterns]
    columns = [str(c) for c in table.frame.columns]
    one = not more and all(names == [name] for names in others)
    if not one or name in columns:
        wrong = f"name it so that no column is {name!r}" if one else "have one placeholder, the same in all"
        raise DataError(
            [Problem(table.name, None, None, f"the patterns {', '.join(patterns)} of `explode`: {wrong}")]
        )
    allowed = {name: where[name]} if name in where else {}
    fits: dict[str, tuple[str, str]] = {}  # column → its pattern and value
    for pattern in sorted(patterns, key=len):  # of two patterns that fit a column, the longer one has it
        match = pattern_of(pattern, allowed).fullmatch
        fits |= {c: (pattern, m[name]) for c in columns if (m := match(c))}
    for pattern in patterns:
        if pattern not in {p for p, _ in fits.values()}:
            message = f"no column of the table fits the pattern {pattern!r}{nearest(pattern, columns)}"
            raise DataError([Problem(table.name, None, None, message)])
    found: dict[str, dict[str, str]] = {v: {} for p, v in fits.values() if allowed or p == patterns[0]}
    for column, (pattern, value) in fits.items():
        if value in found:
            found[value][pattern] = column
    used = {c for of in found.values() for c in of.values()}
    parts = []
    for value, of in found.items():
        cells = table.frame[[*of.values()]]
        there = ~cells.apply(is_blank).all(axis=1)
        part = table.frame[[c for c in columns if c not in used]].assign(**{name: value})
        parts.append(part.join(cells.set_axis([*of], axis=1))[there])
    rows = pd.concat(parts).sort_index(kind="stable")
    at = rows.index.to_numpy()
    return replace(table, frame=rows.reset_index(drop=True).astype(object), rows=table.rows[at])


def object_lists(table: Table) -> list[str]:
    """Return the columns to explode, from the outside in: lists of mappings, one within the other."""
    found: list[str] = []
    while True:
        frame = flattened(table, found, whole=True).frame
        lists = [c for c in map(str, frame.columns) if c not in found and any(map(_has_dicts, frame[c]))]
        inner = [c for c in lists if not found or c.startswith(f"{found[-1]}.")]
        if not inner:
            return found
        found.append(inner[0])


def _flat(frame: pd.DataFrame, keep: Sequence[str] | None) -> pd.DataFrame:
    """Replace columns of mappings and of short lists by a column for each key or place."""
    if not any(_is_nested(frame[c]) for c in frame.columns):
        return frame
    columns: dict[str, Any] = {}
    for name in map(str, frame.columns):
        values = frame[name]
        given = [v for v in values if _is_list(v) or not pd.isna(v)] if _is_nested(values) else []
        parts: dict[str, list[Any]]
        if given and all(isinstance(v, dict) for v in given):
            keys = dict.fromkeys(k for v in given for k in v)
            parts = {f"{name}.{k}": [v.get(k) if isinstance(v, dict) else None for v in values] for k in keys}
        elif (
            given
            and keep is not None
            and name not in keep
            and all(_is_list(v) and len(v) <= _LONGEST for v in given)
        ):
            places = range(max(map(len, given)))
            parts = {
                f"{name}.{i}": [v[i] if _is_list(v) and i < len(v) else None for v in values] for i in places
            }
        else:
            columns[name] = values
            continue
        inner = pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in parts.items()}, index=frame.index)
        flat = _flat(inner, keep)
        columns |= {str(c): flat[c] for c in flat.columns}
    return pd.DataFrame(columns, index=frame.index)


def _is_nested(values: pd.Series[Any]) -> bool:
    return values.dtype == object and any(isinstance(v, dict) or _is_list(v) for v in values)


def _has_dicts(value: object) -> bool:
    return isinstance(value, list | np.ndarray) and any(isinstance(v, dict) for v in value)


def _is_list(value: object) -> bool:
    return isinstance(value, list | np.ndarray)
