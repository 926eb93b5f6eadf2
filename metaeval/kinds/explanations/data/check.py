"""What is wrong with the tables of a data set, cell by cell; and the clean frames, if nothing is.

All checks work on whole columns: only a row that is wrong costs Python time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import Problem, nearest, unknown
from metaeval.base.frames import row_text
from metaeval.kinds.explanations.data.explanation_set import KEYS, ExplanationSet
from metaeval.kinds.files.checks import TableChecker, blank, combine, duplicates
from metaeval.kinds.files.manifest import about

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from metaeval.kinds.explanations.data.manifest import Manifest
    from metaeval.sources.tables.table import Table

_OWN_COLUMNS = {
    "explanations": ("explanation",),
    "ratings": ("rater", "aspect", "rating"),
    "scores": ("evaluator", "aspect", "score"),
}
_VALUES = {"ratings": "rating", "scores": "score"}
_RATER = {"ratings": "rater", "scores": "evaluator"}
_MAX_HINTED = 5000  # the search for the nearest name is quadratic, so it is left out for huge sets


def build(manifest: Manifest, tables: Mapping[str, Table]) -> tuple[ExplanationSet | None, list[Problem]]:
    """Return the data set that the tables make and no problem, or None and every problem found.

    The tables are ``explanations`` and ``ratings`` and, where there are any, ``scores`` and ``users``.
    """
    checker = _Checker(manifest, tables)
    frames = checker.run()
    if checker.problems:
        return None, checker.problems
    data = ExplanationSet(
        explanations=frames["explanations"],
        ratings=frames["ratings"],
        users=frames.get("users"),
        scores=frames.get("scores"),
        **about(manifest),
        aspects=manifest.statements,
        scale=manifest.scales,
        texts=manifest.texts,
        named_by=tuple(manifest.keys),
        extra=dict(manifest.extra),
    )
    return data, []


class _Checker(TableChecker):
    def __init__(self, manifest: Manifest, tables: Mapping[str, Table]) -> None:
        super().__init__(tables)
        self.manifest = manifest
        self.units = tables["explanations"]
        given = self.units.frame.columns
        self.keys = tuple(manifest.keys or (k for k in KEYS if k in given))
        self.with_users = bool(manifest.keys) or "user_id" in given

    def run(self) -> dict[str, pd.DataFrame]:
        self._check_columns()
        if self.problems:
            return {}
        frames = {
            kind: self.read(kind, (*self.keys, *_OWN_COLUMNS.get(kind, ())), {_VALUES.get(kind, "")})
            for kind in self.tables
        }
        for kind, frame in frames.items():
            self._check_keys(kind, frame)
        codes = _unit_codes({k: f for k, f in frames.items() if k != "users"}, self.keys)
        self._check_units(frames["explanations"], codes["explanations"])
        for kind in (k for k in _VALUES if k in frames):
            self._check_values(kind, frames[kind], codes[kind], codes["explanations"], frames["explanations"])
        if "users" in frames:
            self._check_users(frames["users"], frames["explanations"])
        return frames

    def _own_columns(self, kind: str) -> list[str]:
        if kind == "users":
            return ["user_id"]
        keys = self.manifest.keys or (k for k in KEYS if k != "user_id" or self.with_users)
        return [*keys, *(c for c in _OWN_COLUMNS[kind] if c != "explanation" or self.manifest.texts)]

    def _check_columns(self) -> None:
        where = self.units.name
        for kind, table in self.tables.items():
            needed = self._own_columns(kind)
            self.check_columns(kind, needed)
            if not self.with_users and "user_id" in table.frame.columns:
                has_it = f"{table.name} has it; a study without users has it nowhere"
                why = "there are profiles" if kind == "users" else has_it
                hint = nearest("user_id", [str(c) for c in self.units.frame.columns if c not in needed])
                self.problems.append(Problem(where, None, "user_id", f"is missing, but {why}{hint}"))
        if not self.with_users and not self.problems:
            # A study without users is fine; one that spells ``user_id`` otherwise is not.
            for column in map(str, self.units.frame.columns):
                if "".join(filter(str.isalnum, column.casefold())) in {"user", "users", "userid", "uid"}:
                    message = f"is missing; did you mean {column!r}?"
                    self.problems.append(Problem(where, None, "user_id", message))

    def _check_keys(self, kind: str, frame: pd.DataFrame) -> None:
        names = [k for k in self.keys if kind != "users" or k == "user_id"]
        names += [_RATER[kind]] if kind in _RATER else []
        names += ["aspect"] if kind == "ratings" else []
        self.check_filled(kind, frame, names)

    def _check_units(self, frame: pd.DataFrame, codes: NDArray[np.int64]) -> None:
        if not len(frame):
            self.report_table("explanations", "has a header but no rows")
        self.problems += duplicates(self.units, frame[list(self.keys)], "the unit", codes)
        if self.manifest.texts and "explanation" in frame:
            self.report(
                "explanations", "explanation", blank(frame["explanation"]), "is empty; it needs a text"
            )

    def _check_values(
        self,
        kind: str,
        frame: pd.DataFrame,
        codes: NDArray[np.int64],
        units: NDArray[np.int64],
        explanations: pd.DataFrame,
    ) -> None:
        table, value, rater = self.tables[kind], _VALUES[kind], _RATER[kind]
        known = list(self.manifest.aspects)
        for given in map(str, frame["aspect"].unique()):
            # An empty aspect of a rating was reported already, of a score it means all.
            if given not in known and given.strip():
                message = unknown("unknown aspect", given, known, "allowed")
                self.report(kind, "aspect", (frame["aspect"] == given).to_numpy(dtype=bool), message)
        unnamed = np.logical_or.reduce([blank(frame[k]) for k in self.keys])
        for i in np.flatnonzero(~np.isin(codes, units) & ~unnamed).tolist():
            self.problems.append(self._unknown_unit(table, frame, i, explanations))
        names = [*self.keys, rater, "aspect"]
        cells = combine(codes, frame[rater], frame["aspect"])
        self.problems += duplicates(table, frame[names], f"the {value} of", cells)
        if kind == "ratings":
            scale, aspects = self.manifest.scales, frame["aspect"].to_numpy()
            for name, own in scale.own or [("", scale)]:
                self.check_scale("ratings", frame["rating"], own, aspects == name if name else None)

    def _unknown_unit(self, table: Table, frame: pd.DataFrame, i: int, explanations: pd.DataFrame) -> Problem:
        for key in self.keys:
            given, known = str(frame[key].iloc[i]), explanations[key].unique()
            if given not in set(known):
                hint = nearest(given, map(str, known)) if len(known) <= _MAX_HINTED else ""
                return table.problem(i, key, f"is {given!r}, which {self.units.name} does not have{hint}")
        message = f"there is no unit ({row_text(frame, i, self.keys)}) in {self.units.name}"
        return table.problem(i, None, message)

    def _check_users(self, users: pd.DataFrame, explanations: pd.DataFrame) -> None:
        self.problems += duplicates(self.tables["users"], users[["user_id"]], "the user")
        message = f"has no explanation in {self.units.name}; leave the row out"
        self.check_known("users", users, "user_id", explanations["user_id"], message)


def _unit_codes(frames: Mapping[str, pd.DataFrame], keys: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Return the units of all tables as numbers that are equal if and only if the keys are."""
    lengths = [len(f) for f in frames.values()]
    columns = [pd.concat([f[k] for f in frames.values()], ignore_index=True) for k in keys]
    codes = combine(np.zeros(sum(lengths), dtype=np.int64), *columns)
    parts = np.split(codes, np.cumsum(lengths)[:-1])
    return dict(zip(frames, parts, strict=True))
