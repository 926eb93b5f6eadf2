"""Long frames of scores and truth → arrays over the same units, in one order.

Rows are matched by sorting 64-bit keys, not by hashing strings a second time: a frame of ten million rows is
joined in a few passes over its memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from metaeval.errors import DataError, nearest
from metaeval.stats.levels import Grouping
from metaeval.stats.tables import changes
from metaeval.types import KEYS, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from metaeval.stats.tables import Floats, Ints

Bools: TypeAlias = "NDArray[np.bool_]"

_NEEDS = {"dataset": (), "user": ("user_id",), "pair": ("user_id", "item_id"), "item": ("item_id",)}
_NEEDS["generator"] = ("generator",)
_LOOKUP = 2**20  # key spaces up to about this size are looked up in a table


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


def align(scores: pd.DataFrame, truth: pd.DataFrame, levels: Sequence[str]) -> Aligned:
    """Match scores with the truth; the truth's rows say which units and aspects are judged.

    Raises
    ------
    DataError
        If a column is missing, a unit stands twice, a value is infinite or not a number, or nothing matches.
    """
    keys = _key_columns(scores, truth, levels)
    _require(scores, ("evaluator", "score"), "the scores")
    _require(truth, ("aspect", "rating"), "the truth")
    ratings = _numbers(truth["rating"], "the truth")
    values = _numbers(scores["score"], "the scores")

    codes = [_shared_codes(truth[k], scores[k], k) for k in keys]
    key_of_truth, key_of_score, space = _unit_keys(codes, len(truth), len(scores))
    aspects, aspect_of_truth = _labels(truth["aspect"], "aspect", "the truth")
    unit_keys, unit_of_truth = _units(key_of_truth)
    n_units = len(unit_keys)
    same_rows = key_of_score is key_of_truth
    unit_of_score = unit_of_truth if same_rows else _locate(key_of_score, unit_keys, space)

    flat = np.full(len(aspects) * n_units, np.nan)
    place = unit_of_truth if len(aspects) == 1 else unit_of_truth + aspect_of_truth * np.int64(n_units)
    seen = _scatter(flat, place, ratings, truth, "the truth")
    evaluators, cube, example = _cube(scores, values, unit_of_score, aspects, n_units)
    groupings = _groupings(levels, keys, unit_keys, [c.n for c in codes])
    return Aligned(
        evaluators,
        aspects,
        cube,
        flat.reshape(len(aspects), n_units),
        None if seen.all() else seen.reshape(len(aspects), n_units),
        example,
        groupings,
    )


@dataclass(frozen=True, slots=True)
class _Codes:
    """Codes of one key column in both frames; -1 in the scores for what the truth does not know."""

    truth: Ints
    scores: Ints
    n: int


def _key_columns(scores: pd.DataFrame, truth: pd.DataFrame, levels: Sequence[str]) -> list[str]:
    """Return the key columns that both frames have; one that only one of them has is an error."""
    keys = [k for k in KEYS if k in truth.columns and k in scores.columns]
    for name, one, other in (("the scores", scores, truth), ("the truth", truth, scores)):
        for k in KEYS:
            if k in other.columns and k not in one.columns:
                hint = nearest(k, map(str, one.columns))
                raise DataError(f"{name} have no column {k!r}, by which units are matched{hint}")
    for level in levels:
        lacking = [k for k in _NEEDS[level] if k not in keys]
        if lacking:
            raise DataError(
                f"level {level!r} needs the column {lacking[0]!r}, which the scores and truth lack"
            )
    if not keys:
        raise DataError(f"the scores and the truth have none of the key columns {', '.join(KEYS)}")
    return keys


def _require(frame: pd.DataFrame, columns: Sequence[str], name: str) -> None:
    for column in columns:
        if column not in frame.columns:
            raise DataError(f"{name} have no column {column!r}{nearest(column, map(str, frame.columns))}")


def _numbers(column: pd.Series[Any], name: str) -> Floats:
    try:
        numbers: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise DataError(f"column {column.name!r} of {name} must hold numbers: {error}") from error
    infinite = np.isinf(numbers)
    if infinite.any():
        row = int(infinite.argmax())
        raise DataError(
            f"column {column.name!r} of {name} holds an infinite value in row {row}; use NaN for none"
        )
    return numbers


def _shared_codes(truth: pd.Series[Any], scores: pd.Series[Any], name: str) -> _Codes:
    codes, distinct = pd.factorize(truth.array)
    codes = codes.astype(np.int32)
    if (codes < 0).any():
        raise DataError(f"column {name!r} of the truth is empty in row {int((codes < 0).argmax())}")
    if len(truth) == len(scores) and truth.dtype == scores.dtype and truth.array.equals(scores.array):
        return _Codes(codes, codes, len(distinct))
    own, own_distinct = pd.factorize(scores.array)
    known = pd.Index(distinct).get_indexer(pd.Index(own_distinct)).astype(np.int32)
    if not (known >= 0).any():
        raise DataError(
            f"no {name} of the scores is in the truth: they have {own_distinct[0]!r} ({scores.dtype}), "
            f"it has {distinct[0]!r} ({truth.dtype})"
        )
    return _Codes(codes, np.append(known, np.int32(-1))[own], len(distinct))


def _unit_keys(codes: list[_Codes], n_truth: int, n_scores: int) -> tuple[Ints, Ints, int]:
    """Combine the codes of the key columns into one number a row; negative for units that the truth lacks."""
    space = 1
    of_truth = np.zeros(n_truth, dtype=np.int64)
    same = all(c.truth is c.scores for c in codes)
    of_scores = of_truth if same else np.zeros(n_scores, dtype=np.int64)
    unknown = None if same else np.zeros(n_scores, dtype=bool)
    for c in codes:
        space *= c.n
        if space >= 2**62:
            raise DataError("there are too many users, items and generators to number their combinations")
        of_truth *= c.n
        of_truth += c.truth
        if unknown is not None:
            of_scores *= c.n
            of_scores += c.scores
            unknown |= c.scores < 0
    if unknown is not None:
        of_scores[unknown] = -1
    return of_truth, of_scores, space


def _units(keys: Ints) -> tuple[Ints, Ints]:
    """Return the distinct keys in order, and the index among them of every key."""
    order, ordered = _sorted(keys)
    fresh = changes(ordered)
    index = np.cumsum(fresh, dtype=_index_type(len(keys)))
    index -= 1
    if order is not None:
        in_order = index
        index = np.empty_like(in_order)
        index[order] = in_order
    return (ordered if fresh.all() else ordered[fresh]), index


def _index_type(n: int) -> type[np.int32 | np.int64]:
    return np.int32 if n < 2**31 else np.int64


def _sorted(keys: Ints) -> tuple[Ints | None, Ints]:
    """Return the order that sorts non-negative keys (None: they are sorted), and the sorted keys.

    Key and row number go into one word where they fit, because sorting plain numbers is several times as
    fast as sorting an index.
    """
    n = len(keys)
    if (keys[1:] >= keys[:-1]).all():
        return None, keys
    bits = (n - 1).bit_length()
    if int(keys.max()).bit_length() + bits <= 63:
        packed = keys << bits
        packed |= np.arange(n)
        packed.sort()
        order = packed & ((1 << bits) - 1)
        packed >>= bits
        return order, packed
    order = np.argsort(keys, kind="stable")
    return order, keys[order]


def _locate(keys: Ints, unit_keys: Ints, space: int) -> Ints:
    """Return the index of each key among the sorted ``unit_keys``; -1 where it is not there."""
    if space <= 4 * max(len(keys), len(unit_keys)) + _LOOKUP:
        table = np.full(space + 1, -1, dtype=_index_type(len(unit_keys)))  # the last entry answers the key -1
        table[unit_keys] = np.arange(len(unit_keys))
        return table[keys]
    order, ordered = _sorted(np.where(keys < 0, space, keys))
    if np.array_equal(ordered, unit_keys):  # the usual case: the same units, in another order
        place = np.arange(len(ordered), dtype=_index_type(len(ordered)))
    else:
        place = np.searchsorted(unit_keys, ordered)
        np.minimum(place, len(unit_keys) - 1, out=place)
        place[unit_keys[place] != ordered] = -1
    if order is None:
        return place
    found = np.empty(len(keys), dtype=_index_type(len(unit_keys)))
    found[order] = place
    return found


def _labels(column: pd.Series[Any], name: str, where: str) -> tuple[list[str], Ints]:
    codes, distinct = pd.factorize(column.array)
    if (codes < 0).any():
        raise DataError(f"column {name!r} of {where} is empty in row {int((codes < 0).argmax())}")
    return [str(d) for d in distinct], codes


def _scatter(flat: Floats, place: Ints, values: Floats, frame: pd.DataFrame, name: str) -> Bools:
    """Put each value in its place and return which places are taken; a place taken twice is an error."""
    seen = np.zeros(len(flat), dtype=bool)
    seen[place] = True
    if np.count_nonzero(seen) != len(place):
        order = np.argsort(place, kind="stable")
        twice = int(order[1:][place[order[1:]] == place[order[:-1]]].min())
        row = {str(k): v for k, v in frame.iloc[twice].items() if k in {*KEYS, "evaluator", "aspect"}}
        raise DataError(f"{name} have more than one row for {row}")
    flat[place] = values
    return seen


def _cube(
    scores: pd.DataFrame, values: Floats, unit: Ints, aspects: list[str], n_units: int
) -> tuple[list[str], Floats, Bools | None]:
    """Lay the scores out by evaluator, aspect and unit; a score without an aspect holds for all of them."""
    evaluators, evaluator = _labels(scores["evaluator"], "evaluator", "the scores")
    n_aspects = len(aspects)
    everywhere, aspect = _aspects_of_scores(scores, aspects)
    kept = unit >= 0
    place = unit if len(evaluators) == 1 else unit + evaluator * (n_aspects * n_units)
    if aspect is not None:
        kept &= (aspect >= 0) | everywhere
        if n_aspects > 1:
            place = place + np.maximum(aspect, 0) * np.int64(n_units)
    example = scores["status"].eq(Status.EXAMPLE.value).to_numpy() if "status" in scores.columns else None
    if "status" in scores.columns:
        not_ok = scores["status"].ne(Status.OK.value).to_numpy()
        values = np.where(not_ok, np.nan, values)

    flat = np.full(len(evaluators) * n_aspects * n_units, np.nan)
    shown = np.zeros(flat.size, dtype=bool) if example is not None and example.any() else None
    # First what holds for one aspect, then what holds for all, an aspect at a time.
    steps = [(kept & ~everywhere, 0)] if aspect is not None else []
    if aspect is None or everywhere.any():
        steps += [(kept & everywhere, a) for a in range(n_aspects)]
    rows, places = [], []
    for chosen, a in steps:
        row = slice(None) if chosen.all() else np.flatnonzero(chosen)
        rows.append(row)
        places.append(place[row] + a * n_units if a else place[row])
    whole = len(steps) == 1
    _scatter(
        flat,
        places[0] if whole else np.concatenate(places),
        values[rows[0]] if whole else np.concatenate([values[r] for r in rows]),
        scores,
        "the scores",
    )
    if shown is not None and example is not None:
        for row, at in zip(rows, places, strict=True):
            shown[at] = example[row]
    shape = (len(evaluators), n_aspects, n_units)
    return evaluators, flat.reshape(shape), None if shown is None else shown.reshape(shape)


def _aspects_of_scores(scores: pd.DataFrame, aspects: list[str]) -> tuple[Bools, Ints | None]:
    """Return which rows hold for every aspect, and each row's aspect; None for the latter if all rows do."""
    if "aspect" not in scores.columns:
        return np.ones(len(scores), dtype=bool), None
    codes, distinct = pd.factorize(scores["aspect"].array)
    names = [str(d) for d in distinct]
    index = {a: i for i, a in enumerate(aspects)}
    if names and not any(n in index or not n for n in names):
        raise DataError(
            f"no aspect of the scores is in the truth: they have {names[0]!r}{nearest(names[0], aspects)} "
            f"Allowed are {', '.join(aspects)}, or none for a score that holds for all."
        )
    known = np.array([index.get(n, -1) for n in names] + [-1], dtype=np.int32)
    blank = np.array([not n for n in names] + [True])  # the last entry answers NaN
    everywhere: Bools = blank[codes]
    return everywhere, None if everywhere.all() else known[codes]


def _groupings(
    levels: Sequence[str], keys: list[str], unit_keys: Ints, sizes: list[int]
) -> dict[str, Grouping]:
    """Return the group of each unit at each level, for units in the order of their keys."""
    parts: dict[str, Ints] = {}
    rest = unit_keys
    for name, size in zip(reversed(keys), reversed(sizes), strict=True):
        if name == "item_id" and "user_id" in keys:
            parts["pair"] = np.cumsum(changes(rest), dtype=np.int32) - np.int32(1)
        above = rest // size
        parts[name] = (rest - above * size).astype(np.int32)
        rest = above
    found = {}
    for level in levels:
        if level == "dataset":
            found[level] = Grouping(np.zeros(len(unit_keys), dtype=np.int8), 1)
        elif level == "pair":
            found[level] = Grouping(parts["pair"], int(parts["pair"][-1]) + 1)
        else:
            column = _NEEDS[level][0]
            found[level] = Grouping(parts[column], sizes[keys.index(column)], between=level == "generator")
    return found
