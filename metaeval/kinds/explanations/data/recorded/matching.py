"""Find the unit of each row of a tool's file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, Problem, nearest
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.sources.tables.columns import text_column
from metaeval.sources.tables.entries import placeholders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
    from metaeval.kinds.explanations.data.recorded.score_map import ScoreMap
    from metaeval.sources.tables.table import Table

_MAX_HINTED = 5000  # the search for the nearest name is quadratic, so it is left out for huge sets


def keys_of(
    table: Table, score_map: ScoreMap, data: ExplanationSet, map_name: str, problems: list[Problem]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the key columns of each row of ``table`` as text, and their names in the file.

    Cells without a valid key are added to ``problems``. A key that is not in the file must have one value in
    the data set.
    """
    given = [str(c) for c in table.frame.columns]
    found: dict[str, NDArray[np.object_]] = {}
    labels = {key: score_map.units.get(key, key) for key in data.keys}
    in_id = _from_id(table, score_map, problems) if score_map.id is not None else {}
    for key in data.keys:
        column = labels[key]
        values = data.explanations[key].unique()
        if key in in_id:
            found[key], labels[key] = in_id[key], "id"
        elif column in given:
            found[key], wrong = _key_column(table, column)
            problems += wrong
        elif key in score_map.units:
            message = f"the column {column!r} is not in {table.name}{nearest(column, given)}"
            problems.append(Problem(map_name, None, None, message))
        elif len(values) == 1:
            # A key with one value in the data set may be left out.
            found[key] = np.full(len(table.frame), str(values[0]), dtype=object)
        else:
            near = nearest(key, [c for c in given if c not in KEYS])
            message = f"is missing; say where it stands with `units` or `id` of a map{near}"
            problems.append(Problem(table.name, None, column, message))
    if len(found) < len(data.keys):
        raise DataError(problems)
    # All rows have the index of the table, so a table without rows keeps its columns.
    return pd.DataFrame(found, index=table.frame.index, columns=list(data.keys)), labels


def _key_column(table: Table, column: str) -> tuple[NDArray[np.object_], list[Problem]]:
    """Return a column of keys as text; numbers may stand beside it, for YAML reads 8 and "007" so."""
    values = table.frame[column]
    cells = values.astype(object).where(values.notna(), "").map(_key)
    odd = [i for i, cell in enumerate(cells) if not isinstance(cell, str)]
    problems = [
        table.problem(i, column, f"is {str(values.iloc[i])[:40]!r}; a key may be text or a number")
        for i in odd
    ]
    cells.iloc[odd] = ""
    texts, found = text_column(replace(table, frame=cells.to_frame()), column)
    return texts, [*problems, *found]


def _key(cell: object) -> object:
    """Return numbers as text, whole ones without ``.0``; other values unchanged."""
    if isinstance(cell, bool) or not isinstance(cell, int | float | np.integer):
        return cell
    return str(int(cell)) if float(cell).is_integer() else repr(float(cell))


def _from_id(table: Table, score_map: ScoreMap, problems: list[Problem]) -> dict[str, NDArray[np.object_]]:
    pattern = score_map.id_pattern()
    if pattern is None:
        return {}
    if "id" not in table.frame.columns:
        raise DataError([Problem(table.name, None, "id", "is missing, but the map takes `id` apart")])
    ids, wrong = _key_column(table, "id")
    problems += wrong
    found = {key: np.full(len(ids), "", dtype=object) for key in placeholders(score_map.id or "")}
    for i, text in enumerate(ids):
        match = pattern.fullmatch(text)
        if match is None:
            problems.append(table.problem(i, "id", f"is {text!r}, which does not fit {score_map.id!r}"))
        else:
            for key, values in found.items():
                values[i] = match[key]
    return found


def units_of(
    table: Table, keys: pd.DataFrame, labels: dict[str, str], data: ExplanationSet, problems: list[Problem]
) -> NDArray[np.int64]:
    """Return the position of each row's unit in ``data``; -1, and a problem, if there is none."""
    names = list(data.keys)
    positions = {unit: i for i, unit in enumerate(tuples(data.explanations, names))}
    units = np.array([positions.get(unit, -1) for unit in tuples(keys, names)], dtype=np.int64)
    known = {key: dict.fromkeys(map(str, data.explanations[key].unique())) for key in names}
    hints: dict[tuple[str, str], str] = {}
    reported = {(p.row, p.column) for p in problems}
    for i in np.flatnonzero(units < 0).tolist():
        row = {key: str(keys[key].iloc[i]) for key in names}
        strange = next((key for key in names if row[key] not in known[key]), None)
        if strange is None:
            unit = ", ".join(f"{key} {value!r}" for key, value in row.items())
            problems.append(table.problem(i, None, f"there is no unit ({unit}) in the data set"))
            continue
        problem = table.problem(i, None, "")
        if (problem.row, labels[strange]) in reported:
            continue  # the cell could not be read, and that is said already
        value = row[strange]
        if (strange, value) not in hints:
            few = len(known[strange]) <= _MAX_HINTED
            hints[strange, value] = nearest(value, known[strange]) if few and value else ""
        message = f"is {value!r}, which is no {strange} of the data set{hints[strange, value]}"
        problems.append(problem._replace(column=labels[strange], message=message))
    return units


def tuples(frame: pd.DataFrame, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return some columns row by row."""
    return list(zip(*(frame[n].to_numpy(dtype=object).tolist() for n in names), strict=True))
