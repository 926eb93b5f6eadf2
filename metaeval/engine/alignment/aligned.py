"""Long frames of scores and truth → arrays over the same units, in one order."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.errors import DataError, nearest, shown
from metaeval.base.frames import row_text
from metaeval.base.keys import DATASET, PAIR, Level, key_columns, levels_of, matched
from metaeval.base.records import Status
from metaeval.engine.alignment.matching import (
    combined,
    locate,
    numbered,
    numbered_runs,
    refuse_empty,
    shared_codes,
)
from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.coefficients.tables import Floats, Ints, changes

Bools: TypeAlias = "NDArray[np.bool_]"


@dataclass(frozen=True, slots=True)
class Aligned:
    """Scores of E evaluators and the truth, for A aspects and U units."""

    evaluators: list[str]
    aspects: list[str]
    scores: Floats
    """Shape (E, A, U); NaN where the evaluator gave none."""
    truth: Floats
    """Shape (A, U); NaN where a person was asked and did not answer, or was not asked."""
    asked: Bools | None
    """Shape (A, U): there is a row of truth; None if there is one everywhere."""
    example: Bools | None
    """Shape (E, A, U): the unit was shown to the evaluator as an example; None if no unit was."""
    groupings: dict[str, Grouping]
    keys: dict[str, Ints]
    """Key column, in order → the code of each unit's value, shape (U,)."""
    labels: dict[str, pd.Index[Any]]
    """Key column → what the codes stand for."""

    def among(self, evaluators: Collection[str]) -> Aligned:
        """Return the same of these evaluators alone, in the order in which they are here."""
        at = [i for i, name in enumerate(self.evaluators) if name in evaluators]
        example = None if self.example is None else self.example[at]
        return replace(
            self,
            evaluators=[self.evaluators[i] for i in at],
            scores=self.scores[at],
            example=example if example is not None and example.any() else None,
        )


def align(scores: pd.DataFrame, truth: pd.DataFrame, levels: Sequence[str]) -> Aligned:
    """Match scores with the truth; the truth's rows say which units and aspects are judged.

    Raises `DataError` if a column is missing, a unit stands twice, a value is infinite or not a number, or
    nothing matches.
    """
    keys = shared_keys(scores, truth)
    known = levels_of(keys)
    for level in levels:
        if level not in known:
            raise _no_level(level, scores, truth, keys)
    _require(scores, ("evaluator", "score"), "the scores")
    _require(truth, ("aspect", "rating"), "the truth")
    ratings = column_numbers(truth["rating"], "the truth")
    values = column_numbers(scores["score"], "the scores")

    codes = [shared_codes(truth[k], scores[k], k) for k in keys]
    key_of_truth, key_of_score, space = combined(codes, len(truth), len(scores))
    aspects, aspect_of_truth = _labels(truth["aspect"], "aspect", "the truth")
    unit_keys, unit_of_truth = numbered(key_of_truth)
    n_units = len(unit_keys)
    same_rows = key_of_score is key_of_truth
    unit_of_score = unit_of_truth if same_rows else locate(key_of_score, unit_keys, space)

    flat = np.full(len(aspects) * n_units, np.nan)
    place = unit_of_truth if len(aspects) == 1 else unit_of_truth + aspect_of_truth * np.int64(n_units)
    seen = _scatter(flat, place, ratings)
    if np.count_nonzero(seen) != len(place):
        raise _twice(place, np.arange(len(truth)), truth, scores, keys)
    evaluators, cube, example = _cube(scores, values, unit_of_score, aspects, n_units, truth=truth, keys=keys)
    parts = _parts(keys, unit_keys, [c.n for c in codes])
    labels = {k: c.labels for k, c in zip(keys, codes, strict=True)}
    return Aligned(
        evaluators,
        aspects,
        cube,
        flat.reshape(len(aspects), n_units),
        None if seen.all() else seen.reshape(len(aspects), n_units),
        example,
        {level: _grouping(known[level], parts, labels) for level in levels},
        {k: parts[k] for k in keys},
        labels,
    )


def shared_keys(scores: pd.DataFrame, truth: pd.DataFrame) -> list[str]:
    """Return the key columns that both frames have."""
    keys = matched(truth, scores)
    if not keys:
        have = ", ".join(map(str, truth.columns))
        raise DataError(
            f"the scores and the truth have no column in common that names units; the truth has {have}"
        )
    return keys


def _no_level(level: str, scores: pd.DataFrame, truth: pd.DataFrame, keys: Sequence[str]) -> DataError:
    """Return the error for a level that the keys do not allow, for those of one frame alone too."""
    for frame, other, name in ((scores, truth, "the truth"), (truth, scores, "the scores")):
        of_frame = levels_of(key_columns(frame))
        if level in of_frame:
            return _no_key(name, next(c for c in of_frame[level].columns if c not in keys), other)
    known = levels_of(keys)
    return DataError(
        f"levels: {shown(level)} is not allowed with the key columns {', '.join(keys)} "
        f"(allowed: {', '.join(known)}){nearest(str(level), known)}"
    )


def _no_key(name: str, column: str, frame: pd.DataFrame) -> DataError:
    hint = nearest(column, map(str, frame.columns))
    return DataError(f"{_have(name)} no column {column!r}, by which units are matched{hint}")


def _require(frame: pd.DataFrame, columns: Sequence[str], name: str) -> None:
    for column in columns:
        if column not in frame.columns:
            hint = nearest(column, map(str, frame.columns))
            raise DataError(f"{_have(name)} no column {column!r}{hint}")


def _have(name: str) -> str:
    return f"{name} {'have' if name.endswith('s') else 'has'}"


def column_numbers(column: pd.Series[Any], name: str, row_name: Callable[[int], int | str] = int) -> Floats:
    """Return a column as floats; `DataError` if a value is infinite or no number."""
    try:
        numbers: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise DataError(f"column {column.name!r} of {name} must hold numbers: {error}") from error
    infinite = np.isinf(numbers)
    if infinite.any():
        row = row_name(int(infinite.argmax()))
        raise DataError(
            f"column {str(column.name)!r} of {name} holds an infinite value in row {row}; use NaN for none"
        )
    return numbers


def _labels(
    column: pd.Series[Any], name: str, where: str, row_name: Callable[[int], int | str] = int
) -> tuple[list[str], Ints]:
    codes, distinct = numbered_runs(column.array)
    refuse_empty(codes, name, where, row_name)
    return [str(d) for d in distinct], codes


def _scatter(flat: Floats, place: Ints, values: Floats) -> Bools:
    """Put each value in its place and return which places are taken."""
    seen = np.zeros(len(flat), dtype=bool)
    seen[place] = True
    flat[place] = values
    return seen


def _twice(
    place: Ints, row: Ints, frame: pd.DataFrame, other: pd.DataFrame, keys: Sequence[str]
) -> DataError:
    """Return the error for the first row whose place was taken by an earlier one."""
    order = np.argsort(place, kind="stable")
    again = order[1:][place[order[1:]] == place[order[:-1]]]
    return repeated(frame.iloc[[int(row[again.min()])]], frame, other, keys)


def repeated(row: pd.DataFrame, frame: pd.DataFrame, other: pd.DataFrame, keys: Sequence[str]) -> DataError:
    """Return the error that names a row of a frame that stands for the same as an earlier one.

    If the frame has a key column that tells such rows apart, it is the other frame that lacks it.
    """
    is_scores = "evaluator" in frame.columns
    name, other_name = ("the scores", "the truth")[:: 1 if is_scores else -1]
    columns = [*keys, *(c for c in ("evaluator", "aspect") if c in frame.columns)]
    further = [k for k in key_columns(frame) if k not in keys]
    if further and not frame.duplicated([*columns, *further]).any():
        return _no_key(other_name, further[0], other)
    value = "score" if is_scores else "rating"
    # An aspect that all rows share may not be in the frames that were given.
    several = any("aspect" in f and len(f["aspect"].unique()) > 1 for f in (frame, other))
    by = [c for c in columns if c in frame.columns and (c != "aspect" or several)]
    return DataError(
        f"{_have(name)} more than one row for {row_text(row, 0, columns)}; if several people rated a unit, "
        f"average their ratings first: {name.split()[1]}.groupby({by}, as_index=False)[{value!r}].mean()"
    )


def _one_or_all(arrays: list[Any]) -> Any:  # noqa: ANN401 - arrays of one type, which mypy cannot name here
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _cube(
    scores: pd.DataFrame,
    values: Floats,
    unit: Ints,
    aspects: list[str],
    n_units: int,
    *,
    truth: pd.DataFrame,
    keys: Sequence[str],
) -> tuple[list[str], Floats, Bools | None]:
    """Lay the scores out by evaluator, aspect and unit."""
    found = placed(scores, unit, aspects, n_units)
    check_aspects(found.aspects, aspects)
    values, example = by_status(scores, values)
    shape = (len(found.evaluators), len(aspects), n_units)
    flat = np.full(math.prod(shape), np.nan)
    shown = None if example is None else np.zeros(len(flat), dtype=bool)
    places = _one_or_all(found.places)
    seen = _scatter(flat, places, _one_or_all([values[row] for row in found.rows]))
    if np.count_nonzero(seen) != len(places):
        rows = _one_or_all([np.arange(len(scores))[row] for row in found.rows])
        raise _twice(places, rows, scores, truth, keys)
    if shown is not None and example is not None:
        for row, at in zip(found.rows, found.places, strict=True):
            shown[at] = example[row]
    return found.evaluators, flat.reshape(shape), None if shown is None else shown.reshape(shape)


class Placed(NamedTuple):
    """Where rows of scores stand among evaluators, aspects and units."""

    evaluators: list[str]
    rows: list[Ints | slice]
    """Those that speak of units of the truth; a score without an aspect, which holds for all, once each."""
    places: list[Ints]
    """Of each of these rows: its evaluator, aspect and unit as one number."""
    aspects: list[str]
    """Those that rows name, whether the truth has them or not; empty for none."""


def placed(
    scores: pd.DataFrame,
    unit: Ints,
    aspects: list[str],
    n_units: int,
    row_name: Callable[[int], int | str] = int,
) -> Placed:
    """Find the places of scores, of which ``unit`` is the unit; it is negative for an unknown one."""
    evaluators, evaluator = _labels(scores["evaluator"], "evaluator", "the scores", row_name)
    n_aspects = len(aspects)
    everywhere, aspect, named = _aspects_of_scores(scores, aspects)
    kept = unit >= 0
    place: Ints = unit if len(evaluators) * n_aspects == 1 else unit.astype(np.int64)
    if len(evaluators) > 1:
        place = place + evaluator * (n_aspects * n_units)
    if aspect is not None:
        kept &= (aspect >= 0) | everywhere
        if n_aspects > 1:
            place = place + np.maximum(aspect, 0).astype(np.int64) * n_units
    # First what holds for one aspect, then what holds for all, an aspect at a time.
    steps = [(kept & ~everywhere, 0)] if aspect is not None else []
    if aspect is None or everywhere.any():
        steps += [(kept & everywhere, a) for a in range(n_aspects)]
    rows: list[Ints | slice] = [
        slice(None) if chosen.all() else np.flatnonzero(chosen) for chosen, _ in steps
    ]
    places = [place[row] + a * n_units if a else place[row] for row, (_, a) in zip(rows, steps, strict=True)]
    return Placed(evaluators, rows, places, named)


def by_status(scores: pd.DataFrame, values: Floats) -> tuple[Floats, Bools | None]:
    """Return the scores, NaN where the status says that there is none, and which units were examples."""
    if "status" not in scores.columns:
        return values, None
    example = scores["status"].eq(Status.EXAMPLE.value).to_numpy()
    scored = np.where(scores["status"].ne(Status.OK.value).to_numpy(), np.nan, values)
    return scored, example if example.any() else None


def _aspects_of_scores(scores: pd.DataFrame, aspects: list[str]) -> tuple[Bools, Ints | None, list[str]]:
    """Return which rows hold for every aspect, each row's aspect (None if all do), and the names of all."""
    if "aspect" not in scores.columns:
        return np.ones(len(scores), dtype=bool), None, []
    codes, distinct = numbered_runs(scores["aspect"].array)
    names = [str(d) for d in distinct]
    index = {a: i for i, a in enumerate(aspects)}
    known = np.array([index.get(n, -1) for n in names] + [-1], dtype=np.int32)
    blank = np.array([not n for n in names] + [True])  # the last entry answers NaN
    everywhere: Bools = blank[codes]
    return everywhere, None if everywhere.all() else known[codes], names


def check_aspects(named: Sequence[str], aspects: Sequence[str]) -> None:
    """See that scores are of an aspect of the truth, or of all; raise `DataError` if all are of others."""
    if named and not any(n in aspects or not n for n in named):
        raise DataError(
            f"no aspect of the scores is in the truth: they have {named[0]!r}{nearest(named[0], aspects)}"
            f" (allowed: {', '.join(aspects)}, or none for a score that holds for all)"
        )


def _parts(keys: list[str], unit_keys: Ints, sizes: list[int]) -> dict[str, Ints]:
    """Take the keys of units, which are in order, apart into the code of each column, and of the pair."""
    parts: dict[str, Ints] = {}
    rest = unit_keys
    for name, size in zip(reversed(keys), reversed(sizes), strict=True):
        if name in keys[1:2]:
            parts[PAIR] = np.cumsum(changes(rest), dtype=np.int32) - np.int32(1)
        above = rest // size
        parts[name] = (rest - above * size).astype(np.int32)
        rest = above
    return parts


def _grouping(level: Level, parts: Mapping[str, Ints], labels: Mapping[str, pd.Index[Any]]) -> Grouping:
    """Return the group of each unit at a level."""
    if level.name == DATASET:
        return Grouping(np.zeros(len(next(iter(parts.values()))), dtype=np.int8), 1)
    if level.name == PAIR:
        return Grouping(parts[PAIR], int(parts[PAIR][-1]) + 1)
    (column,) = level.columns
    return Grouping(parts[column], len(labels[column]), between=level.between)
