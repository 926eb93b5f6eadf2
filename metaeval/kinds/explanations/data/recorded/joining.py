"""Match the scores of a tool with the units of a data set: rows of its table of scores, or problems."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, Problem, nearest, sound
from metaeval.base.frames import row_text
from metaeval.base.records import Status
from metaeval.kinds.explanations.data.recorded.matching import keys_of, tuples, units_of
from metaeval.kinds.explanations.data.recorded.recording import ASPECT, EVALUATOR, SCORE, objects
from metaeval.kinds.explanations.data.tables.importer import Stacker, sources_of
from metaeval.sources.tables.columns import text_column
from metaeval.sources.tables.entries import FromColumn, fill, placeholders

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
    from metaeval.kinds.explanations.data.recorded.recording import Recording
    from metaeval.kinds.explanations.data.recorded.score_map import ScoreMap
    from metaeval.sources.tables.table import Table


def join(
    recording: Recording, score_map: ScoreMap, data: ExplanationSet, map_name: str
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Match the scores of ``recording`` with the units of ``data``; a unit may have no row.

    Returns
    -------
    tuple
        Key columns, ``evaluator``, ``aspect``, ``score`` and ``status``, in the order of
        evaluators, aspects and units; and the tool's names of scores that were not used.

    Raises
    ------
    DataError
        With every row that is about no unit, every score that is no number, every aspect that is unknown
        and all scores that contradict each other.
    """
    table = _with_evaluator(recording, score_map)
    table_map = score_map.table_map(data, recording.entries)
    given = [str(c) for c in table.frame.columns]
    named = recording.named or score_map.evaluator is not None
    sources = []
    for entry in table_map.scores:
        if named and entry.who is None and not any(EVALUATOR in placeholders(c) for c in entry.columns):
            entry = entry.model_copy(update={"evaluator": FromColumn(column=EVALUATOR)})  # noqa: PLW2901
        sources += sources_of(entry, table_map, given, map_name)
    problems: list[Problem] = []
    keys, labels = keys_of(table, score_map, data, map_name, problems)
    units = units_of(table, keys, labels, data, problems)
    long = Stacker(table, table_map, keys, labels, problems).long_table(sources, EVALUATOR, SCORE)
    repeat = len(sources)
    statuses = objects([None] * len(keys)) if recording.statuses is None else recording.statuses
    rows = long.frame.assign(unit=np.tile(units, repeat), status=np.tile(statuses, repeat))
    wanted = _wanted(rows, typed=recording.statuses is not None)
    labels_of = None if long.value_labels is None else long.value_labels[wanted]
    kept = rows[wanted].reset_index(drop=True)
    long = replace(long, frame=kept, rows=long.rows[wanted], value_labels=labels_of)
    _check_names(long, data, problems)
    frame = _one_each(long, list(keys.columns), problems, mean=score_map.repeated == "mean")
    if problems:
        raise DataError(list(dict.fromkeys(problems)))  # a cell may stand in several rows of the table
    if not frame[SCORE].notna().any():
        raise DataError([Problem(table.name, None, None, _no_score(recording, data))])
    used = {s.column for s in sources}
    order = {aspect: i for i, aspect in enumerate(["", *data.aspects])}
    by = frame.assign(_aspect=frame[ASPECT].map(order))
    by = by.sort_values([EVALUATOR, "_aspect", "unit"], kind="stable", ignore_index=True)
    found = by[[*data.keys, EVALUATOR, ASPECT, SCORE, "status"]]
    return found, tuple(n for n in recording.names if n not in used)


def _with_evaluator(recording: Recording, score_map: ScoreMap) -> Table:
    """Fill the column `EVALUATOR` by the template of the map, which must keep evaluators apart."""
    table = recording.table
    if score_map.evaluator is None:
        return table
    names = placeholders(score_map.evaluator)
    given = [str(c) for c in table.frame.columns]
    for name in names:
        if name not in given:
            raise DataError(
                f"the evaluator's name {score_map.evaluator!r} needs the column {name!r}, "
                f"which {table.name} does not have{nearest(name, given)}"
            )
    texts = {name: sound(text_column(table, name)) for name in names}
    made = [fill(score_map.evaluator, {n: str(texts[n][i]) for n in names}) for i in range(len(table.frame))]
    by_made: dict[str, str] = {}
    for name, new in zip(table.frame[EVALUATOR] if recording.named else made, made, strict=True):
        if by_made.setdefault(new, name) != name:
            raise DataError(
                f"the name {score_map.evaluator!r} makes one evaluator {new!r} of {by_made[new]!r} "
                f"and {name!r}; "
                "tell them apart, such as by {provider} and {prompt}, or {model} and {scorer}"
            )
    frame = table.frame.assign(**{EVALUATOR: pd.Series(made, index=table.frame.index, dtype=object)})
    return replace(table, frame=frame)


def _wanted(rows: pd.DataFrame, *, typed: bool) -> NDArray[np.bool_]:
    """Return the rows to keep: if the tool says why scores are missing, drop empty cells without a reason.

    A failed test has no scores of any name. It counts as failed for the aspects on which the evaluator is
    scored by other tests; if there are none, for all aspects in the file.
    """
    scored = rows[SCORE].notna()
    if not typed:
        return np.ones(len(rows), dtype=np.bool_)
    cells = tuples(rows, [EVALUATOR, ASPECT])
    pairs = {cell for cell, has_score in zip(cells, scored, strict=True) if has_score}
    evaluators = {evaluator for evaluator, _ in pairs}
    expected = np.array([cell in pairs or cell[0] not in evaluators for cell in cells], dtype=np.bool_)
    return np.asarray(scored | (rows["status"].notna() & expected), dtype=np.bool_)


def _check_names(long: Table, data: ExplanationSet, problems: list[Problem]) -> None:
    problems += [
        long.problem(i, EVALUATOR, "is empty; every score needs one")
        for i, name in enumerate(long.frame[EVALUATOR])
        if not str(name).strip()
    ]
    allowed = ", ".join(data.aspects)
    for name in map(str, long.frame[ASPECT].unique()):
        if name and name not in data.aspects:
            message = f"unknown aspect {name!r}{nearest(name, data.aspects)}; allowed: {allowed}"
            wrong = np.flatnonzero(long.frame[ASPECT] == name)
            problems += [long.problem(int(i), ASPECT, message) for i in wrong]


def _one_each(long: Table, keys: list[str], problems: list[Problem], *, mean: bool) -> pd.DataFrame:
    """Return one row per unit, evaluator and aspect: equal scores are one, a score overrides a failure."""
    frame = long.frame
    scores = frame[SCORE].to_numpy(dtype=np.float64)
    groups: dict[tuple[int, str, str], list[int]] = {}
    named = zip(frame["unit"].tolist(), frame[EVALUATOR].tolist(), frame[ASPECT].tolist(), strict=True)
    for i, cell in enumerate(named):
        if cell[0] >= 0:  # a row about no unit is a problem of its own
            groups.setdefault(cell, []).append(i)
    kept = []
    values = []
    for (_, evaluator, aspect), places in groups.items():
        scored = [i for i in places if not math.isnan(scores[i])]
        # The first failure in alphabetical order, so that the order of lines does not matter.
        first = scored[0] if scored else min(places, key=lambda i: str(frame["status"].iloc[i] or ""))
        kept.append(first)
        numbers = [float(scores[i]) for i in scored]
        # An exact sum: promptfoo writes its lines in the order in which the tests were done.
        values.append(math.fsum(numbers) / len(numbers) if len(set(numbers)) > 1 else float(scores[first]))
        differing = [] if mean else [i for i in scored if scores[i] != scores[first]]
        if differing:
            unit = row_text(frame, first, keys)
            of = f"{unit}, evaluator {evaluator!r}" + (f", aspect {aspect!r}" if aspect else "")
            there = f"{float(scores[first])} in row {long.rows[first]}"
            rest = f"here and {there}; keep one, or say `repeated: mean` in a map"
            problems += [
                long.problem(i, SCORE, f"the score of ({of}) is {float(scores[i])} {rest}") for i in differing
            ]
    found = frame.iloc[kept].assign(**{SCORE: np.array(values, dtype=np.float64)})
    absent = np.where(found["status"].isna(), Status.MISSING.value, found["status"].astype(str))
    return found.assign(status=np.where(found[SCORE].isna(), absent, Status.OK.value))


def _no_score(recording: Recording, data: ExplanationSet) -> str:
    names = f", and scores called {', '.join(map(repr, recording.names))}" if recording.names else ""
    return (
        f"holds no score for the data set{names}; its aspects are {', '.join(data.aspects)}: "
        "name the scores under `aspects` or `scores` of a map"
    )
