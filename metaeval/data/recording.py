"""The scores in a tool's file as a table: one row per judgement, with the tool's own names.

A plain table is one without a map if it is long: the key columns, ``evaluator``, ``aspect`` (may be left out)
and ``score``. Any other is described by a map, in the words of ``metaeval data import table``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, field_validator

from metaeval.base.errors import DataError, Problem, nearest, sound
from metaeval.base.formulas import unprotected
from metaeval.base.records import DataSet, Status
from metaeval.base.validation import Strict, read_model
from metaeval.data.hub import any_tables
from metaeval.data.manifest import RatingScale
from metaeval.data.tables.entries import Constant, FromColumn, Name, ScoreEntry, placeholders
from metaeval.data.tables.maps import KEYS, Aspect, Preparation, TableMap
from metaeval.data.tables.table import Table, frame_of

SCORE, EVALUATOR, ASPECT = "score", "evaluator", "aspect"
"""Columns of a `Recording` that need no map."""


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """The scores in a file of another tool, not yet matched with a data set."""

    table: Table
    """The file as a flat table, each row with its place in the file."""
    entries: tuple[ScoreEntry, ...]
    """Which columns hold scores, if the map of the user names none."""
    statuses: Sequence[Status | None] | None = None
    """For each row why its scores are missing, or None; None for a tool that gives no reasons."""
    names: tuple[str, ...] = ()
    """Columns of named scores, to report those that are not used."""
    named: bool = False
    """Whether the tool names the evaluators, in a column `EVALUATOR`."""
    version: str = ""
    """The version of the tool that wrote the file, if the file says so."""


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
        return Recording(table, tuple(entries), self._statuses, names, True, str(version or ""))


def _flat(fields: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested fields under dotted names: ``{"unit": {"user": 1}}`` has ``unit.user``."""
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return flat


def read_plain(sources: Sequence[str], score_map: ScoreMap, aspects: Mapping[str, str]) -> Recording:
    """Read files, folders that the ``datasets`` library can load, or data sets of the hub, as one table.

    See `metaeval.kinds.explanations.data.recorded.Reader`. The map says of which aspect a column is.
    """
    table = any_tables(sources, score_map.split, quote=score_map.quote, below=score_map.below)
    columns = [str(c) for c in table.frame.columns]
    if score_map.scores:
        return Recording(table, ())
    if SCORE not in columns:
        message = f"is missing; say which columns hold scores with `scores` of a map{nearest(SCORE, columns)}"
        raise DataError([Problem(table.name, None, SCORE, message)])
    if EVALUATOR not in columns and score_map.evaluator is None:
        message = f"is missing; name the evaluator with --evaluator, or in a map{nearest(EVALUATOR, columns)}"
        raise DataError([Problem(table.name, None, EVALUATOR, message)])
    aspect = FromColumn(column=ASPECT) if ASPECT in columns else None
    statuses = _statuses(table)
    if statuses is not None and Path(table.name).suffix.lower() in (".csv", ".tsv"):
        table = replace(table, frame=table.frame.map(lambda c: unprotected(c) if isinstance(c, str) else c))
    entry = ScoreEntry(columns=[SCORE], evaluator=FromColumn(column=EVALUATOR), aspect=aspect)
    return Recording(table, (entry,), statuses)


def _statuses(table: Table) -> list[Status | None] | None:
    """Return why scores are missing, if all statuses are metaeval's own; else None."""
    cells = table.frame["status"].tolist() if "status" in table.frame.columns else [""]
    if not set(map(str, cells)) <= set(map(str, Status)):
        return None
    return [None if cell == Status.OK else Status(cell) for cell in cells]


class Code(Strict):
    """The file's name of an aspect, written as in the map of a table."""

    code: Name | None = None
    statement: str = ""


class ScoreMap(Preparation):
    """The content of a map; by default all names are those of the data set."""

    units: dict[Name, Constant | Name] = Field(default_factory=dict)
    id: Name | None = None
    aspects: dict[Name, Code] = Field(default_factory=dict)
    evaluator: Name | None = None
    scores: list[ScoreEntry] = Field(default_factory=list)
    repeated: Literal["refuse", "mean"] = "refuse"

    @field_validator("aspects", mode="before")
    @classmethod
    def _code_alone(cls, aspects: object) -> object:
        if isinstance(aspects, list):
            return {name: {} for name in aspects}
        if not isinstance(aspects, dict):
            return aspects
        return {name: {"code": code} if isinstance(code, str) else code for name, code in aspects.items()}

    @field_validator("units")
    @classmethod
    def _are_keys(cls, units: dict[str, Constant | str]) -> dict[str, Constant | str]:
        for key in units:
            if key not in KEYS:
                raise ValueError(f"{key!r} is no key{nearest(key, KEYS)}; allowed: {', '.join(KEYS)}")
        return units

    @field_validator("id")
    @classmethod
    def _holds_keys(cls, pattern: str | None) -> str | None:
        given = placeholders(pattern or "")
        for key in given:
            if key not in KEYS:
                raise ValueError(f"{{{key}}} is no key{nearest(key, KEYS)}; allowed: {', '.join(KEYS)}")
        if pattern is not None and (not given or len(given) != len(set(given))):
            raise ValueError(f'{pattern!r} must name each key once, such as "{{user_id}}|{{item_id}}"')
        return pattern

    def aspect_names(self, data: DataSet) -> dict[str, str]:
        """Return the name or code of each aspect of ``data`` → its name; raise `DataError` if they clash."""
        names = {name: name for name in data.aspects}
        for name, aspect in self.aspects.items():
            if name not in data.aspects:
                raise DataError(
                    f"aspects of the map: the data set has no aspect {name!r}{nearest(name, data.aspects)}; "
                    f"it has {', '.join(data.aspects)}"
                )
            if aspect.code and names.get(aspect.code, name) != name:
                raise DataError(f"aspects of the map: {aspect.code!r} is two aspects; name them apart")
            if aspect.code:
                names[aspect.code] = name
        return names

    def table_map(self, data: DataSet, entries: tuple[ScoreEntry, ...]) -> TableMap:
        """Return the equivalent map of a table for ``data``; ``entries`` are the default of `scores`."""
        codes = {name: code for code, name in self.aspect_names(data).items() if code != name}
        return TableMap(
            name=data.name,
            aspects={
                n: Aspect(statement=s, code=codes.get(n), scale=RatingScale.of(data.scale.of(n)))
                for n, s in data.aspects.items()
            },
            scale=None,
            **{n: getattr(self, n) for n in Preparation.model_fields if n in self.model_fields_set},
            units={"item_id": "item_id", "generator": "generator", **self.units},
            scores=list(self.scores) or list(entries),
        )


def read_score_map(path: Path | None, evaluator: str | None = None) -> ScoreMap:
    """Read a map file; ``evaluator``, if given, overrides its own."""
    if evaluator is not None and not evaluator.strip():
        raise DataError("the name of the evaluator is empty; give one, or leave --evaluator out")
    if path is None:
        return ScoreMap(evaluator=evaluator)
    found = sound(read_model(path, ScoreMap))
    return found if evaluator is None else found.model_copy(update={"evaluator": evaluator})
