"""What is wrong with the tables of a data set, cell by cell; and the clean frames, if nothing is.

All checks work on whole columns: only a row that is wrong costs Python time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import Problem, nearest, unknown
from metaeval.base.frames import row_text, shown
from metaeval.kinds.explanations.data.explanation_set import KEYS, ExplanationSet
from metaeval.kinds.explanations.data.manifest import about
from metaeval.sources.tables.columns import number_column, text_column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
        aspects=dict(manifest.aspects),
        scale=manifest.scale.scale(),
        texts=manifest.texts,
        named_by=tuple(manifest.keys),
        extra=dict(manifest.extra),
    )
    return data, []


class _Checker:
    def __init__(self, manifest: Manifest, tables: Mapping[str, Table]) -> None:
        self.manifest, self.tables = manifest, tables
        self.problems: list[Problem] = []
        self.units = tables["explanations"]
        given = self.units.frame.columns
        self.keys = tuple(manifest.keys or (k for k in KEYS if k in given))
        self.with_users = bool(manifest.keys) or "user_id" in given

    def run(self) -> dict[str, pd.DataFrame]:
        self._check_columns()
        if self.problems:
            return {}
        frames = {kind: self._read(kind, table) for kind, table in self.tables.items()}
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
            needed, given = self._own_columns(kind), [str(c) for c in table.frame.columns]
            for column in (c for c in needed if c not in given):
                hint = nearest(table.labels.get(column, column), given)
                message = f"is missing{hint or '; there are: ' + ', '.join(given)}"
                self.problems.append(Problem(table.name, None, column, message))
            message = "has a line break in its name, which stands in prompts; rename it"
            broken = [c for c in given if len(c.splitlines()) > 1]
            self.problems += [Problem(table.name, None, c, message) for c in broken]
            if not self.with_users and "user_id" in given:
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

    def _read(self, kind: str, table: Table) -> pd.DataFrame:
        columns: dict[str, NDArray[np.object_] | NDArray[np.float64]] = {}
        own = [c for c in (*self.keys, *_OWN_COLUMNS.get(kind, ())) if c in table.frame.columns]
        for column in dict.fromkeys([*own, *table.frame.columns]):
            read = number_column if column == _VALUES.get(kind) else text_column
            columns[column], problems = read(table, column)
            self.problems += problems
        return pd.DataFrame(columns, index=pd.RangeIndex(len(table.frame)), copy=False)

    def _report(
        self, kind: str, column: str | None, wrong: NDArray[np.bool_], message: str | Callable[[int], str]
    ) -> None:
        """Add a problem for each row that is wrong."""
        self.problems += [
            self.tables[kind].problem(i, column, message if isinstance(message, str) else message(i))
            for i in np.flatnonzero(wrong).tolist()
        ]

    def _check_keys(self, kind: str, frame: pd.DataFrame) -> None:
        names = [k for k in self.keys if kind != "users" or k == "user_id"]
        names += [_RATER[kind]] if kind in _RATER else []
        names += ["aspect"] if kind == "ratings" else []
        for column in names:
            self._report(kind, column, _blank(frame[column]), "is empty; every row needs one")

    def _check_units(self, frame: pd.DataFrame, codes: NDArray[np.int64]) -> None:
        if not len(frame):
            self.problems.append(Problem(self.units.name, None, None, "has a header but no rows"))
        self.problems += duplicates(self.units, frame[list(self.keys)], "the unit", codes)
        if self.manifest.texts and "explanation" in frame:
            blank = _blank(frame["explanation"])
            self._report("explanations", "explanation", blank, "is empty; it needs a text")

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
                self._report(kind, "aspect", (frame["aspect"] == given).to_numpy(dtype=bool), message)
        blank = np.logical_or.reduce([_blank(frame[k]) for k in self.keys])
        for i in np.flatnonzero(~np.isin(codes, units) & ~blank).tolist():
            self.problems.append(self._unknown_unit(table, frame, i, explanations))
        names = [*self.keys, rater, "aspect"]
        cells = _combine(codes, frame[rater], frame["aspect"])
        self.problems += duplicates(table, frame[names], f"the {value} of", cells)
        if kind == "ratings":
            self._check_scale(frame["rating"].to_numpy())

    def _unknown_unit(self, table: Table, frame: pd.DataFrame, i: int, explanations: pd.DataFrame) -> Problem:
        for key in self.keys:
            given, known = str(frame[key].iloc[i]), explanations[key].unique()
            if given not in set(known):
                hint = nearest(given, map(str, known)) if len(known) <= _MAX_HINTED else ""
                return table.problem(i, key, f"is {given!r}, which {self.units.name} does not have{hint}")
        message = f"there is no unit ({row_text(frame, i, self.keys)}) in {self.units.name}"
        return table.problem(i, None, message)

    def _check_scale(self, ratings: NDArray[np.float64]) -> None:
        scale = self.manifest.scale.scale()
        wrong = (ratings < scale.min) | (ratings > scale.max)
        if scale.integer:
            wrong |= ~np.isnan(ratings) & (ratings != np.round(ratings))
        self._report(
            "ratings",
            "rating",
            wrong,
            lambda i: f"the rating {ratings[i]:g} is not on the scale; allowed are {scale}",
        )

    def _check_users(self, users: pd.DataFrame, explanations: pd.DataFrame) -> None:
        named = users["user_id"]
        self.problems += duplicates(self.tables["users"], users[["user_id"]], "the user")
        strange = ~named.isin(explanations["user_id"].unique()).to_numpy() & ~_blank(named)
        message = f"has no explanation in {self.units.name}; leave the row out"
        self._report("users", "user_id", strange, lambda i: f"the user {shown(named.iloc[i])} {message}")


def duplicates(
    table: Table, frame: pd.DataFrame, what: str, codes: NDArray[np.int64] | None = None
) -> list[Problem]:
    """Return a problem for each row of ``table`` that an earlier row equals in the columns of ``frame``.

    ``what`` says what a row is; ``codes``, if known, are equal if and only if the rows are.
    """
    if codes is None:
        codes = _combine(np.zeros(len(frame), dtype=np.int64), *(frame[c] for c in frame))
    again = np.flatnonzero(pd.Series(codes).duplicated()).tolist()
    if not again:
        return []
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return [
        table.problem(
            i,
            None,
            f"{what} ({row_text(frame, i, frame.columns)}) is already in row "
            f"{table.rows[first[inverse[i]]]}; keep one",
        )
        for i in again
    ]


def _blank(texts: pd.Series[str]) -> NDArray[np.bool_]:
    codes, values = pd.factorize(texts)
    # Each distinct text is looked at once: of keys there are few.
    blank = np.array([not str(v).strip() for v in np.asarray(values, dtype=object)], dtype=np.bool_)
    return blank[codes] if len(blank) else np.zeros(len(texts), dtype=np.bool_)


def _unit_codes(frames: Mapping[str, pd.DataFrame], keys: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Return the units of all tables as numbers that are equal if and only if the keys are."""
    lengths = [len(f) for f in frames.values()]
    columns = [pd.concat([f[k] for f in frames.values()], ignore_index=True) for k in keys]
    codes = _combine(np.zeros(sum(lengths), dtype=np.int64), *columns)
    parts = np.split(codes, np.cumsum(lengths)[:-1])
    return dict(zip(frames, parts, strict=True))


def _combine(codes: NDArray[np.int64], *columns: pd.Series[str]) -> NDArray[np.int64]:
    for column in columns:
        own, values = pd.factorize(column)
        # Numbered anew after each column, so that the product stays far below 2**63.
        codes = pd.factorize(codes * (len(values) + 1) + own)[0].astype(np.int64)
    return codes
