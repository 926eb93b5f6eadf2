"""Match the scores of a tool with the units of a data set: rows of its table of scores, or problems."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.errors import DataError, Problem, nearest, sound
from metaeval.base.frames import row_text
from metaeval.base.records import DataSet, Status
from metaeval.data.checks import coded
from metaeval.data.recording import ASPECT, EVALUATOR, SCORE, Recording, ScoreMap
from metaeval.data.tables.columns import text_column
from metaeval.data.tables.converting import Stacker, sources_of
from metaeval.data.tables.entries import FromColumn, fill, pattern_of, placeholders
from metaeval.data.tables.maps import KEYS, TableMap, prepared
from metaeval.data.tables.table import Table
from metaeval.stats.coefficients.tables import exact_mean

_STATUS = "status (of the file)"
_MAX_HINTED = 5000  # the search for the nearest name is quadratic, so it is left out for huge sets


def join(
    recording: Recording, score_map: ScoreMap, data: DataSet, map_name: str
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Match the scores of ``recording`` with the units of ``data``; a unit may have no row.

    Returned are key columns, ``evaluator``, ``aspect``, ``score`` and ``status``, in the order of evaluators,
    aspects and units; and the tool's names of scores that were not used. `DataError` has every row that is
    about no unit, every score that is no number, every aspect that is unknown and all scores that contradict
    each other.
    """
    table_map = score_map.table_map(data, recording.entries)
    recording, of_units = _prepared(recording, table_map, map_name)
    table = _with_evaluator(recording, score_map)
    columns = [str(c) for c in table.frame.columns]
    named = recording.named or score_map.evaluator is not None
    sources = []
    for entry in table_map.scores:
        if named and entry.who is None and not any(EVALUATOR in placeholders(c) for c in entry.columns):
            entry = entry.model_copy(update={"evaluator": FromColumn(column=EVALUATOR)})  # noqa: PLW2901
        sources += sources_of(entry, table_map, columns, of_units, map_name)
    problems: list[Problem] = []
    keys, labels = _keys_of(table, score_map, of_units, data, map_name, problems=problems)
    units = _units_of(table, keys, labels, data, problems)
    statuses = pd.Series([*(recording.statuses or [None] * len(keys))], index=keys.index, dtype=object)
    known = keys.assign(unit=units, status=statuses)
    long = Stacker(table, table_map, known, labels, problems).long_table(sources, EVALUATOR, SCORE)
    long, wrong = coded(long, SCORE, data.scale)
    problems += wrong
    rows = long.frame
    if recording.statuses is not None:
        wanted = _wanted(rows)
        labels_of = None if long.value_labels is None else long.value_labels[wanted]
        rows, long = rows[wanted], replace(long, rows=long.rows[wanted], value_labels=labels_of)
    long = replace(long, frame=rows.reset_index(drop=True))
    _check_names(long, data, problems)
    frame = _one_each(long, list(keys.columns), problems, mean=score_map.repeated == "mean")
    if problems:
        raise DataError(list(dict.fromkeys(problems)))  # a cell may stand in several rows of the table
    if not frame[SCORE].notna().any():
        raise DataError([Problem(table.name, None, None, _no_score(recording, data))])
    order = {aspect: i for i, aspect in enumerate(["", *data.aspects])}
    frame = frame.assign(_aspect=frame[ASPECT].map(order))
    frame = frame.sort_values([EVALUATOR, "_aspect", "unit"], kind="stable", ignore_index=True)
    unused = tuple(n for n in recording.names if n not in {s.column for s in sources})
    return frame[[*data.keys, EVALUATOR, ASPECT, SCORE, "status"]], unused


def _prepared(recording: Recording, table_map: TableMap, map_name: str) -> tuple[Recording, dict[str, str]]:
    """Return the scores as the map wants them, and the column of each key."""
    table, statuses = recording.table, recording.statuses
    if statuses is not None:  # each stays with its row
        kept = pd.Series([*statuses], table.frame.index, dtype=object)
        table = replace(table, frame=table.frame.assign(**{_STATUS: kept}))
    table, of_units = prepared(table, table_map, map_name)
    if statuses is not None:
        statuses = [None if pd.isna(s) else s for s in table.frame[_STATUS]]
        table = replace(table, frame=table.frame.drop(columns=_STATUS))
    return replace(recording, table=table, statuses=statuses), of_units


def _with_evaluator(recording: Recording, score_map: ScoreMap) -> Table:
    """Fill the column `EVALUATOR` by the template of the map, which must keep evaluators apart."""
    table, template = recording.table, score_map.evaluator
    if template is None:
        return table
    columns = [str(c) for c in table.frame.columns]
    if lacking := [name for name in placeholders(template) if name not in columns]:
        raise DataError(
            f"the evaluator's name {template!r} needs the column {lacking[0]!r}, "
            f"which {table.name} does not have{nearest(lacking[0], columns)}"
        )
    texts = {name: sound(text_column(table, name)) for name in placeholders(template)}
    names = [fill(template, {n: str(texts[n][i]) for n in texts}) for i in range(len(table.frame))]
    known: dict[str, str] = {}
    for old, new in zip(table.frame[EVALUATOR] if recording.named else names, names, strict=True):
        if known.setdefault(new, old) != old:
            raise DataError(
                f"the name {template!r} makes one evaluator {new!r} of {known[new]!r} and {old!r}; "
                "tell them apart, such as by {provider} and {prompt}, or {model} and {scorer}"
            )
    frame = table.frame.assign(**{EVALUATOR: pd.Series(names, index=table.frame.index, dtype=object)})
    return replace(table, frame=frame)


def _keys_of(
    table: Table,
    score_map: ScoreMap,
    of_units: Mapping[str, str],
    data: DataSet,
    map_name: str,
    *,
    problems: list[Problem],
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the key columns of each row of ``table`` as text, and their names in the file.

    Cells without a valid key are added to ``problems``. A key that is not in the file must have one value in
    the data set.
    """
    columns = [str(c) for c in table.frame.columns]
    keys: dict[str, NDArray[np.object_]] = {}
    labels = {key: of_units.get(key, key) for key in data.keys}
    in_id = _from_id(table, score_map.id, problems) if score_map.id is not None else {}
    for key, column in [*labels.items()]:
        values = data.units[key].unique()
        if key in in_id:
            keys[key], labels[key] = in_id[key], "id"
        elif column in columns:
            keys[key] = _key_column(table, column, problems)
        elif key in score_map.units:
            message = f"the column {column!r} is not in {table.name}{nearest(column, columns)}"
            problems.append(Problem(map_name, None, None, message))
        elif len(values) == 1:
            keys[key] = np.full(len(table.frame), str(values[0]), dtype=object)
        else:
            near = nearest(key, [c for c in columns if c not in KEYS])
            message = f"is missing; say where it stands with `units` or `id` of a map{near}"
            problems.append(Problem(table.name, None, column, message))
    if len(keys) < len(data.keys):
        raise DataError(problems)
    # All rows have the index of the table, so a table without rows keeps its columns.
    return pd.DataFrame(keys, index=table.frame.index, columns=list(data.keys)), labels


def _key_column(table: Table, column: str, problems: list[Problem]) -> NDArray[np.object_]:
    """Return a column of keys as text; numbers may stand beside it, for YAML reads 8 and "007" so."""
    values = table.frame[column]
    cells = values.astype(object).where(values.notna(), "").map(_key)
    odd = [i for i, cell in enumerate(cells) if not isinstance(cell, str)]
    message = "is {!r}; a key may be text or a number"
    problems += [table.problem(i, column, message.format(str(values.iloc[i])[:40])) for i in odd]
    cells.iloc[odd] = ""
    texts, wrong = text_column(replace(table, frame=cells.to_frame()), column)
    problems += wrong
    return texts


def _key(cell: object) -> object:
    """Return numbers as text, whole ones without ``.0``; other values unchanged."""
    if isinstance(cell, bool) or not isinstance(cell, int | float | np.integer):
        return cell
    return repr(float(cell)) if isinstance(cell, float) and not cell.is_integer() else str(int(cell))


def _from_id(table: Table, template: str, problems: list[Problem]) -> dict[str, NDArray[np.object_]]:
    """Return the keys that the column ``id`` holds."""
    if "id" not in table.frame.columns:
        raise DataError([Problem(table.name, None, "id", "is missing, but the map takes `id` apart")])
    pattern = pattern_of(template, {})
    ids = _key_column(table, "id", problems)
    matches = [pattern.fullmatch(text) for text in ids]
    for i, match in enumerate(matches):
        if match is None:
            problems.append(table.problem(i, "id", f"is {ids[i]!r}, which does not fit {template!r}"))
    return {
        key: np.array([match[key] if match else "" for match in matches], dtype=object)
        for key in placeholders(template)
    }


def _units_of(
    table: Table, keys: pd.DataFrame, labels: dict[str, str], data: DataSet, problems: list[Problem]
) -> NDArray[np.intp]:
    """Return the position of each row's unit in ``data``; -1, and a problem, if there is none."""
    names = list(data.keys)
    units = pd.MultiIndex.from_frame(data.units[names].astype(object)).get_indexer(
        pd.MultiIndex.from_frame(keys[names])
    )
    known = {key: dict.fromkeys(map(str, data.units[key].unique())) for key in names}
    hints: dict[tuple[str, str], str] = {}
    unread = {(p.row, p.column) for p in problems}
    for i in np.flatnonzero(units < 0).tolist():
        strange = next((key for key in names if keys[key].iloc[i] not in known[key]), None)
        if strange is None:
            unit = row_text(keys, i, names)
            problems.append(table.problem(i, None, f"there is no unit ({unit}) in the data set"))
            continue
        value, label = keys[strange].iloc[i], labels[strange]
        if (int(table.rows[i]), label) in unread:
            continue
        if (strange, value) not in hints:
            few = len(known[strange]) <= _MAX_HINTED
            hints[strange, value] = nearest(value, known[strange]) if few and value else ""
        message = f"is {value!r}, which is no {strange} of the data set{hints[strange, value]}"
        problems.append(Problem(table.name, int(table.rows[i]), label, message))
    return units


def _wanted(rows: pd.DataFrame) -> NDArray[np.bool_]:
    """Drop empty cells without a reason of a tool that says why scores are missing.

    A failed test has no scores of any name. It counts as failed for the aspects on which the evaluator is
    scored by other tests; if there are none, for all aspects in the file.
    """
    scored = rows[SCORE].notna()
    in_pair = scored.groupby([rows[EVALUATOR], rows[ASPECT]]).transform("any")
    in_evaluator = scored.groupby(rows[EVALUATOR]).transform("any")
    return (scored | (rows["status"].notna() & (in_pair | ~in_evaluator))).to_numpy(dtype=bool)


def _check_names(long: Table, data: DataSet, problems: list[Problem]) -> None:
    for i, name in enumerate(long.frame[EVALUATOR]):
        if not str(name).strip():
            problems.append(long.problem(i, EVALUATOR, "is empty; every score needs one"))
    for name in map(str, long.frame[ASPECT].unique()):
        if name and name not in data.aspects:
            message = (
                f"unknown aspect {name!r}{nearest(name, data.aspects)}; allowed: {', '.join(data.aspects)}"
            )
            wrong = np.flatnonzero(long.frame[ASPECT] == name)
            problems += [long.problem(int(i), ASPECT, message) for i in wrong]


def _one_each(long: Table, keys: list[str], problems: list[Problem], *, mean: bool) -> pd.DataFrame:
    """Return one row per unit, evaluator and aspect: equal scores are one, a score overrides a failure."""
    frame = long.frame
    scores = frame[SCORE].to_numpy(dtype=np.float64)
    groups: dict[tuple[int, str, str], list[int]] = {}
    for i, cell in enumerate(zip(frame["unit"], frame[EVALUATOR], frame[ASPECT], strict=True)):
        if cell[0] >= 0:  # a row about no unit is a problem of its own
            groups.setdefault(cell, []).append(i)
    kept, values = [], []
    for (_, evaluator, aspect), rows in groups.items():
        scored = [i for i in rows if not math.isnan(scores[i])]
        # The first failure in alphabetical order, so that the order of lines does not matter.
        first = scored[0] if scored else min(rows, key=lambda i: str(frame["status"].iloc[i] or ""))
        kept.append(first)
        numbers = [float(scores[i]) for i in scored]
        # Exact: promptfoo writes its lines in the order in which the tests were done.
        several = len(set(numbers)) > 1
        values.append(float(exact_mean(np.array(numbers)[:, None])[0] if several else scores[first]))
        for i in scored if not mean else []:
            if scores[i] != scores[first]:
                unit = f"{row_text(frame, first, keys)}, evaluator {evaluator!r}"
                unit += f", aspect {aspect!r}" if aspect else ""
                message = (
                    f"the score of ({unit}) is {float(scores[i])} here and {float(scores[first])} in row "
                    f"{long.rows[first]}; keep one, or say `repeated: mean` in a map"
                )
                problems.append(long.problem(i, SCORE, message))
    one = frame.iloc[kept].assign(**{SCORE: np.array(values, dtype=np.float64)})
    absent = np.where(one["status"].isna(), Status.MISSING.value, one["status"].astype(str))
    return one.assign(status=np.where(one[SCORE].isna(), absent, Status.OK.value))


def _no_score(recording: Recording, data: DataSet) -> str:
    names = f", and scores called {', '.join(map(repr, recording.names))}" if recording.names else ""
    return (
        f"holds no score for the data set{names}; its aspects are {', '.join(data.aspects)}: "
        "name the scores under `aspects` or `scores` of a map"
    )
