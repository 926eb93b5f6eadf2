"""The scores in a tool's file as a table: one row per judgement, with the tool's own names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.errors import DataError, Problem
from metaeval.sources.tables.entries import FromColumn, ScoreEntry
from metaeval.sources.tables.table import Table, frame_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from metaeval.base.records import Status

SCORE, EVALUATOR, ASPECT = "score", "evaluator", "aspect"
"""Columns of a `Recording` that need no map."""


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """The scores in a file of another tool, not yet matched with a data set.

    Parameters
    ----------
    table
        The file as a flat table, each row with its place in the file.
    entries
        Which columns hold scores, if the map of the user names none.
    statuses
        For each row why its scores are missing, or None; None for a tool that gives no reasons.
    names
        Columns of named scores, to report those that are not used.
    named
        Whether the tool names the evaluators, in a column `EVALUATOR`.
    version
        The version of the tool that wrote the file, if the file says so.
    """

    table: Table
    entries: tuple[ScoreEntry, ...]
    statuses: NDArray[np.object_] | None = None
    names: tuple[str, ...] = ()
    named: bool = False
    version: str = ""


class Rows:
    """Collects the rows of a `Recording` and their problems, in the order of the file."""

    def __init__(self, file: str, prefix: str) -> None:
        """Name the file, and the prefix of the user's own fields where their names are taken."""
        self.problems: list[Problem] = []
        self._file, self._prefix = file, prefix
        self._columns: dict[str, str] = {}  # of a named score
        self._records: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._rows: list[int] = []
        self._statuses: list[Status | None] = []

    def add(
        self,
        row: int,
        fields: Mapping[str, Any],
        cells: Mapping[str, Any],
        scores: Mapping[str, Any],
        status: Status | None = None,
    ) -> None:
        """Add a row: the user's ``fields``, the tool's ``cells``, and named ``scores``."""
        named = {name: f"scores.{name}" if name in cells else name for name in scores}
        self._columns |= named
        self._records.append((_flat(fields), {**cells, **{named[n]: s for n, s in scores.items()}}))
        self._rows.append(row)
        self._statuses.append(status)

    def wrong(self, row: int, column: str | None, message: str) -> None:
        """Add a problem of a row."""
        self.problems.append(Problem(self._file, row, column, message))

    def aspect_entries(self, aspects: Mapping[str, str]) -> list[ScoreEntry]:
        """Return an entry per named score that is an aspect, or the code of one (``aspects``: its name)."""
        return [
            ScoreEntry(columns=[column], evaluator=FromColumn(column=EVALUATOR), aspect=aspects[name])
            for name, column in sorted(self._columns.items())
            if name in aspects
        ]

    def recording(self, entries: Sequence[ScoreEntry], version: object) -> Recording:
        """Return all rows, or raise `DataError` with their problems.

        A user's field with the name of a tool's column gets the prefix.
        """
        if self.problems:
            raise DataError(self.problems)
        own = {c for _, cells in self._records for c in cells}
        records = [
            {(f"{self._prefix}.{n}" if n in own else n): v for n, v in fields.items()} | cells
            for fields, cells in self._records
        ]
        table = Table(self._file, frame_of(records), np.asarray(self._rows, dtype=np.int64))
        names = tuple(sorted(self._columns.values()))
        return Recording(table, tuple(entries), objects(self._statuses), names, True, str(version or ""))


def objects(values: Sequence[object]) -> NDArray[np.object_]:
    """Return values as an array of objects, whatever they are."""
    return np.array([*values, None], dtype=object)[:-1]


def _flat(fields: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested fields under dotted names: ``{"unit": {"user": 1}}`` has ``unit.user``."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        found |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found
