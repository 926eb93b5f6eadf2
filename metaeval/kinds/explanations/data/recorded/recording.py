"""The scores in a tool's file as a table: a row per judgement, with the tool's own names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.errors import Problem
from metaeval.kinds.explanations.data.tables.map import FromColumn, ScoreEntry
from metaeval.sources.tables.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        """Name the file, and the prefix of the tool's own fields where their names are taken."""
        self.file = file
        self.problems: list[Problem] = []
        self.names: dict[str, str] = {}  # of a score → its column; the tool's own columns come first
        self._prefix = prefix
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
        self.names |= named
        self._records.append((flat(fields), {**cells, **{named[n]: s for n, s in scores.items()}}))
        self._rows.append(row)
        self._statuses.append(status)

    def wrong(self, row: int | None, column: str | None, message: str) -> None:
        """Add a problem of a row."""
        self.problems.append(Problem(self.file, row, column, message))

    def table(self) -> Table:
        """Return all rows; a user's field with the name of a tool's column gets the prefix."""
        own = dict.fromkeys(c for _, cells in self._records for c in cells)
        records = [
            {(f"{self._prefix}.{n}" if n in own else n): v for n, v in fields.items()} | cells
            for fields, cells in self._records
        ]
        columns = dict.fromkeys(c for record in records for c in record)
        # Column by column as objects: a frame made of records would turn 7 into 7.0 beside a missing value.
        data = {c: pd.Series([r.get(c) for r in records], dtype=object) for c in columns}
        return Table(self.file, pd.DataFrame(data), np.asarray(self._rows, dtype=np.int64))

    def statuses(self) -> NDArray[np.object_]:
        """Return the status of each row, None where there is none."""
        return np.array([*self._statuses, None], dtype=object)[:-1]


def flat(fields: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested fields under dotted names: ``{"unit": {"user": 1}}`` has ``unit.user``."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def entries_for(names: Mapping[str, str], aspects: Mapping[str, str]) -> tuple[ScoreEntry, ...]:
    """Return an entry for each named score that is an aspect (or its code).

    Parameters
    ----------
    names
        What the tool calls its scores → the columns they stand in.
    aspects
        Name or code of an aspect → its name.
    """
    return tuple(
        ScoreEntry(columns=[names[n]], evaluator=FromColumn(column=EVALUATOR), aspect=aspects[n])
        for n in sorted(names)
        if n in aspects
    )
