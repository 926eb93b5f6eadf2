"""Scores as a grid (units × aspects) and as the long table of a `ScoreTable`, and the way between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, shown
from metaeval.base.frames import row_text
from metaeval.base.records import DataSet, Status

FloatArray: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
IntArray: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.intp]]
CodeArray: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int8]]

STATUSES: tuple[Status, ...] = tuple(Status)
CODES: Mapping[Status, int] = {status: code for code, status in enumerate(STATUSES)}
OK = CODES[Status.OK]
NO_ROW = -1
"""Code of a unit and aspect that the table has no row for."""


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """A score for every unit (row) and aspect (column).

    ``codes`` are positions in `STATUSES`, or `NO_ROW`; a score is NaN unless its code is that of ``ok``.
    """

    scores: FloatArray
    codes: CodeArray

    @classmethod
    def empty(cls, units: int, aspects: int) -> Grid:
        """Return a grid without rows."""
        shape = (units, aspects)
        return cls(np.full(shape, np.nan), np.full(shape, NO_ROW, np.int8))

    @classmethod
    def repeated(cls, scores: FloatArray, aspects: int, codes: CodeArray | None = None) -> Grid:
        """Return a grid in which a unit has the same score for every aspect.

        NaN is ``missing``, unless ``codes`` say for each unit what it is.
        """
        shape = (len(scores), aspects)
        if codes is None:
            codes = plain_codes(scores)
        return cls(np.broadcast_to(scores[:, None], shape), np.broadcast_to(codes[:, None], shape))


def frame_of(grid: Grid, data: DataSet, aspects: Sequence[str], evaluator: str) -> pd.DataFrame:
    """Return the grid as a long frame, aspect by aspect, units in the order of the data."""
    present = grid.codes.T != NO_ROW
    aspect_at, unit_at = np.nonzero(present)
    codes = grid.codes.T[present]
    frame = data.units.take(unit_at).reset_index(drop=True)
    frame["evaluator"] = pd.Series([evaluator]).take(np.zeros(len(frame), np.intp)).array
    frame["aspect"] = pd.Series(list(aspects)).take(aspect_at).array
    frame["score"] = np.where(codes == OK, grid.scores.T[present], np.nan)
    frame["status"] = pd.Series([s.value for s in STATUSES]).take(codes.astype(np.intp)).array
    return frame


def rows_of(frame: pd.DataFrame, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of some columns; strings are unpacked a column at a time, which is the fast way."""
    return zip(*(frame[c].to_numpy(dtype=object).tolist() for c in columns), strict=True)


def grid_of(frame: pd.DataFrame, data: DataSet, aspects: Sequence[str], what: str) -> Grid:
    """Return the rows of a long frame as a grid; ``what`` names the frame in an error.

    Rows of aspects that are not asked for are left out. Without a column ``status``, NaN is ``missing``.

    Raises `DataError` if a row is about a unit that the data does not have, or two rows are about the same.
    """
    columns = pd.Index(list(aspects)).get_indexer(pd.Index(_plain(frame["aspect"])))
    asked = columns >= 0
    if not asked.all():
        if not asked.any():
            return Grid.empty(len(data), len(aspects))
        frame, columns = frame[asked], columns[asked]
    rows = unit_positions(frame, data)
    if (rows < 0).any():
        unit = _unit_text(frame, data, int(np.flatnonzero(rows < 0)[0]))
        raise DataError(f"{what} has a row for {unit}, which is not among the explanations of {data.name!r}")
    grid = Grid.empty(len(data), len(aspects))
    cells = rows * len(aspects) + columns
    if len(np.unique(cells)) < len(cells):
        seen = pd.Series(cells).duplicated().to_numpy()
        at = int(np.flatnonzero(seen)[0])
        unit, aspect = _unit_text(frame, data, at), aspects[columns[at]]
        raise DataError(f"{what} has two rows for {unit} and aspect {aspect!r}; there must be one")
    scores = frame["score"].to_numpy(dtype=np.float64, na_value=np.nan)
    grid.scores[rows, columns] = scores
    grid.codes[rows, columns] = _codes(frame, scores, what)
    return grid


def unit_positions(frame: pd.DataFrame, data: DataSet) -> IntArray:
    """Return for each row of ``frame`` the position of its unit in the data, or -1 if it has none."""
    if data.units.empty:
        return np.full(len(frame), -1)
    units, rows = (
        pd.MultiIndex.from_arrays([_plain(table[key]) for key in data.keys]) for table in (data.units, frame)
    )
    if not units.is_unique:
        raise DataError(f"two explanations of {data.name!r} are of the same unit; each unit has one")
    return units.get_indexer(rows)


def _codes(frame: pd.DataFrame, scores: FloatArray, what: str) -> CodeArray:
    if "status" not in frame:
        return plain_codes(scores)
    codes = pd.Index([s.value for s in STATUSES]).get_indexer(pd.Index(_plain(frame["status"])))
    if (codes < 0).any():
        wrong = frame["status"].iloc[int(np.flatnonzero(codes < 0)[0])]
        raise DataError(f"{what} has the status {shown(wrong)}; allowed are {', '.join(STATUSES)}")
    return codes.astype(np.int8)


def plain_codes(scores: FloatArray) -> CodeArray:
    """Return the codes of scores of which NaN is ``missing``."""
    return np.where(np.isnan(scores), CODES[Status.MISSING], OK).astype(np.int8)


def _plain(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return the values of a categorical column, so that they are looked up by what they say."""
    categories = getattr(column.dtype, "categories", None)
    return column if categories is None else column.astype(categories.dtype)


def _unit_text(frame: pd.DataFrame, data: DataSet, at: int) -> str:
    return f"unit ({row_text(frame, at, data.keys)})"
