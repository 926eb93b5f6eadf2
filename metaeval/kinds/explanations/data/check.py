"""What is wrong with the tables of a data set, cell by cell; and the clean frames, if nothing is.

All checks work on whole columns: only a row that is wrong costs Python time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from metaeval.base.errors import Problem, nearest
from metaeval.base.frames import row_text
from metaeval.data.checks import NAME, DataColumn, DataTable, TableChecker, blank, coded
from metaeval.data.labels import ASKING, LabelTable
from metaeval.data.manifest import about
from metaeval.data.tables.maps import KEYS
from metaeval.data.tables.table import Table
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet, Manifest

_TEXT, _VALUE = DataColumn(filled=False), DataColumn(number=True, filled=False)
REPEATS = LabelTable().repeated.name
"""The table of the ratings of a second asking."""
_VALUES = {"ratings": "rating", "scores": "score", REPEATS: "rating"}
_MAX_HINTED = 5000  # the search for the nearest name is quadratic, so it is left out for huge sets


def build(manifest: Manifest, tables: Mapping[str, Table]) -> tuple[ExplanationSet | None, list[Problem]]:
    """Return the data set that the tables make and no problem, or None and every problem found.

    The tables are ``explanations`` and ``ratings`` and, where there are any, ``scores``, ``users`` and
    ``repeated_ratings``.
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
        repeats=frames.get(REPEATS),
        **about(manifest),
        aspects=manifest.statements,
        scale=manifest.scales,
        texts=manifest.texts,
        named_by=tuple(manifest.keys),
        extra=dict(manifest.extra),
    )
    return data, []


def _specified(manifest: Manifest, keys: Sequence[str]) -> dict[str, DataTable]:
    names = dict.fromkeys(keys, NAME)
    texts = {"explanation": _TEXT} if manifest.texts else {}
    rated = {**names, "rater": NAME, "aspect": NAME, "rating": _VALUE}
    scored = {**names, "evaluator": NAME, "aspect": _TEXT, "score": _VALUE}
    return {
        "explanations": DataTable({**names, **texts}, "the unit", keys, rows=True),
        "ratings": DataTable(rated, "the rating of", (*keys, "rater", "aspect")),
        "scores": DataTable(scored, "the score of", (*keys, "evaluator", "aspect")),
        REPEATS: DataTable(
            {**names, ASKING: NAME, **rated}, "the rating of", (*keys, ASKING, "rater", "aspect")
        ),
        "users": DataTable({"user_id": NAME}, "the user"),
    }


class _Checker(TableChecker):
    def __init__(self, manifest: Manifest, tables: Mapping[str, Table]) -> None:
        super().__init__(tables)
        self.manifest = manifest
        self.units = tables["explanations"]
        columns = self.units.frame.columns
        self.with_users = bool(manifest.keys) or "user_id" in columns
        self.keys = tuple(manifest.keys or (k for k in KEYS if k != "user_id" or self.with_users))

    def run(self) -> dict[str, pd.DataFrame]:
        words: list[Problem] = []
        for kind, value in _VALUES.items():
            if kind in self.tables and {"aspect", value} <= {*self.tables[kind].frame.columns}:
                self.tables[kind], wrong = coded(self.tables[kind], value, self.manifest.scales)
                words += wrong
        self._check_users_named()
        frames = self.read_all(_specified(self.manifest, self.keys))
        self.problems += words
        if not frames:
            return {}
        units = frames["explanations"]
        if self.manifest.texts:
            rated = frames["ratings"].dropna(subset=["rating"])[list(self.keys)]
            known = pd.MultiIndex.from_frame(units[list(self.keys)]).isin(pd.MultiIndex.from_frame(rated))
            message = "is empty, and nobody rated it; it needs a text"
            self.report("explanations", "explanation", blank(units["explanation"]) & ~known, message)
        for kind in (k for k in _VALUES if k in frames):
            self.check_words(kind, frames[kind]["aspect"], [*self.manifest.aspects])
            self._check_units(kind, frames[kind], units)
        scale = self.manifest.scales
        for kind in ("ratings", *([REPEATS] if REPEATS in frames else [])):
            ratings = frames[kind]
            for name, own in scale.own or [("", scale)]:
                among = (ratings["aspect"] == name).to_numpy() if name else None
                self.check_scale(kind, ratings["rating"], own, among)
        if "users" in frames:
            message = f"has no explanation in {self.units.name}; leave the row out"
            self.check_known("users", frames["users"], "user_id", units["user_id"], message)
        return frames

    def _check_users_named(self) -> None:
        """See that users are named in all tables, or in none, and that none spells ``user_id`` otherwise."""
        where, columns = self.units.name, [str(c) for c in self.units.frame.columns]
        if self.with_users:
            return
        for kind, table in self.tables.items():
            if "user_id" in table.frame.columns:
                has_it = f"{table.name} has it; a study without users has it nowhere"
                why = "there are profiles" if kind == "users" else has_it
                hint = nearest("user_id", [c for c in columns if c not in (*self.keys, "explanation")])
                self.problems.append(Problem(where, None, "user_id", f"is missing, but {why}{hint}"))
        for column in columns if not self.problems else ():
            if "".join(filter(str.isalnum, column.casefold())) in {"user", "users", "userid", "uid"}:
                message = f"is missing; did you mean {column!r}?"
                self.problems.append(Problem(where, None, "user_id", message))

    def _check_units(self, kind: str, frame: pd.DataFrame, units: pd.DataFrame) -> None:
        """See that every row is about a unit; what is empty was reported."""
        names = list(self.keys)
        unnamed = np.logical_or.reduce([blank(frame[k]) for k in names])
        known = pd.MultiIndex.from_frame(units[names])
        strange = ~pd.MultiIndex.from_frame(frame[names]).isin(known) & ~unnamed
        for i in np.flatnonzero(strange).tolist():
            self.problems.append(self._unknown_unit(self.tables[kind], frame, i, units))

    def _unknown_unit(self, table: Table, frame: pd.DataFrame, i: int, explanations: pd.DataFrame) -> Problem:
        for key in self.keys:
            given, known = str(frame[key].iloc[i]), explanations[key].unique()
            if given not in set(known):
                hint = nearest(given, map(str, known)) if len(known) <= _MAX_HINTED else ""
                return table.problem(i, key, f"is {given!r}, which {self.units.name} does not have{hint}")
        message = f"there is no unit ({row_text(frame, i, self.keys)}) in {self.units.name}"
        return table.problem(i, None, message)
