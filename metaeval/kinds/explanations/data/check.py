"""What is wrong with the tables of a data set, cell by cell; and the clean frames, if nothing is.

All checks work on whole columns: only a row that is wrong costs Python time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import Problem, nearest, unknown
from metaeval.base.frames import row_text, shown
from metaeval.kinds.explanations.data.explanation_set import KEYS, ExplanationSet
from metaeval.kinds.explanations.data.manifest import about
from metaeval.sources.tables.columns import number_column, text_column

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
    """Check the tables of a data set and put them together.

    Parameters
    ----------
    manifest
        What ``dataset.yaml`` says.
    tables
        ``explanations`` and ``ratings``, and where there are any ``scores`` and ``users``.

    Returns
    -------
    tuple
        The data set and no problem, or None and every problem found.
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


@dataclass
class _Checker:
    manifest: Manifest
    tables: Mapping[str, Table]
    problems: list[Problem] = field(default_factory=list)

    def run(self) -> dict[str, pd.DataFrame]:
        if not self._columns_are_there():
            return {}
        frames = {kind: self._read(kind, table) for kind, table in self.tables.items()}
        for kind, frame in frames.items():
            self._keys_are_filled(kind, frame)
        codes = _unit_codes({k: f for k, f in frames.items() if k != "users"}, self.keys)
        self._units(frames["explanations"], codes["explanations"])
        for kind in ("ratings", "scores"):
            if kind in frames:
                self._values(kind, frames[kind], codes[kind], codes["explanations"], frames["explanations"])
        if "users" in frames:
            self._users(frames["users"], frames["explanations"])
        return frames

    @property
    def keys(self) -> tuple[str, ...]:
        given = self.tables["explanations"].frame.columns
        return tuple(self.manifest.keys or (k for k in KEYS if k in given))

    def _own_columns(self, kind: str) -> tuple[str, ...]:
        return ("user_id",) if kind == "users" else (*(self.manifest.keys or KEYS), *_OWN_COLUMNS[kind])

    def _columns_are_there(self) -> bool:
        before = len(self.problems)
        with_users = bool(self.manifest.keys) or "user_id" in self.tables["explanations"].frame.columns
        for kind, table in self.tables.items():
            needed = [c for c in self._own_columns(kind) if c != "user_id" or with_users or kind == "users"]
            if not self.manifest.texts:
                needed = [c for c in needed if c != "explanation"]
            given = [str(c) for c in table.frame.columns]
            self.problems += [_missing_column(table, c, given) for c in needed if c not in given]
            self.problems += [
                Problem(
                    table.name, None, c, "has a line break in its name, which stands in prompts; rename it"
                )
                for c in given
                if len(c.splitlines()) > 1
            ]
            if not with_users and "user_id" in given:
                why = (
                    "there are profiles"
                    if kind == "users"
                    else f"{table.name} has it; a study without users has it nowhere"
                )
                spare = [str(c) for c in self.tables["explanations"].frame.columns if c not in needed]
                message = f"is missing, but {why}{nearest('user_id', spare)}"
                self.problems.append(Problem(self.tables["explanations"].name, None, "user_id", message))
        if not with_users and len(self.problems) == before:
            self._misspelt_user_id()
        return len(self.problems) == before

    def _misspelt_user_id(self) -> None:
        """Tell a study without users, which is fine, from one that spells ``user_id`` otherwise."""
        table = self.tables["explanations"]
        for column in table.frame.columns:
            if "".join(filter(str.isalnum, str(column).casefold())) in {"user", "users", "userid", "uid"}:
                self.problems.append(
                    Problem(table.name, None, "user_id", f"is missing; did you mean {column!r}?")
                )

    def _read(self, kind: str, table: Table) -> pd.DataFrame:
        value = _VALUES.get(kind)
        columns: dict[str, NDArray[np.object_] | NDArray[np.float64]] = {}
        own = [c for c in self._own_columns(kind) if c in table.frame.columns]
        for column in [*own, *(c for c in table.frame.columns if c not in own)]:
            values, problems = (number_column if column == value else text_column)(table, column)
            columns[column] = values
            self.problems += problems
        return pd.DataFrame(columns, index=pd.RangeIndex(len(table.frame)), copy=False)

    def _keys_are_filled(self, kind: str, frame: pd.DataFrame) -> None:
        names = [k for k in self.keys if kind != "users" or k == "user_id"]
        names += [_RATER[kind]] if kind in _RATER else []
        names += ["aspect"] if kind == "ratings" else []
        for column in names:
            self._each(kind, column, _blank(frame[column]), "is empty; every row needs one")

    def _each(self, kind: str, column: str | None, wrong: NDArray[np.bool_], message: str) -> None:
        table = self.tables[kind]
        self.problems += [table.problem(int(i), column, message) for i in np.flatnonzero(wrong)]

    def _units(self, frame: pd.DataFrame, codes: NDArray[np.int64]) -> None:
        table = self.tables["explanations"]
        if not len(frame):
            self.problems.append(Problem(table.name, None, None, "has a header but no rows"))
        self.problems += duplicates(table, frame[list(self.keys)], "the unit", codes)
        if self.manifest.texts and "explanation" in frame:
            self._each(
                "explanations", "explanation", _blank(frame["explanation"]), "is empty; it needs a text"
            )

    def _values(
        self,
        kind: str,
        frame: pd.DataFrame,
        codes: NDArray[np.int64],
        units: NDArray[np.int64],
        explanations: pd.DataFrame,
    ) -> None:
        table, value, rater = self.tables[kind], _VALUES[kind], _RATER[kind]
        self._aspects(kind, frame)
        strangers = ~np.isin(codes, units) & ~_any_blank(frame, self.keys)
        for i in np.flatnonzero(strangers):
            self.problems.append(self._stranger(table, frame, int(i), explanations))
        cells = _combine(codes, frame[rater], frame["aspect"])
        names = [*self.keys, rater, "aspect"]
        self.problems += duplicates(table, frame[names], f"the {value} of", cells)
        if kind == "ratings":
            self._scale(frame["rating"].to_numpy())

    def _stranger(self, table: Table, frame: pd.DataFrame, i: int, explanations: pd.DataFrame) -> Problem:
        where = self.tables["explanations"].name
        for key in self.keys:
            given, known = str(frame[key].iloc[i]), explanations[key].unique()
            if given not in set(known):
                hint = nearest(given, map(str, known)) if len(known) <= _MAX_HINTED else ""
                return table.problem(i, key, f"is {given!r}, which {where} does not have{hint}")
        return table.problem(i, None, f"there is no unit ({row_text(frame, i, self.keys)}) in {where}")

    def _aspects(self, kind: str, frame: pd.DataFrame) -> None:
        known = list(self.manifest.aspects)
        allowed = {*known, ""}  # an empty aspect of a rating was reported already, of a score it means all
        for given in map(str, frame["aspect"].unique()):
            if given not in allowed and given.strip():
                message = unknown("unknown aspect", given, known, "allowed")
                self._each(kind, "aspect", (frame["aspect"] == given).to_numpy(dtype=bool), message)

    def _scale(self, ratings: NDArray[np.float64]) -> None:
        scale, table = self.manifest.scale.scale(), self.tables["ratings"]
        given = ~np.isnan(ratings)
        wrong = given & ((ratings < scale.min) | (ratings > scale.max))
        if scale.integer:
            wrong |= given & (ratings != np.round(ratings))
        for i in np.flatnonzero(wrong):
            message = f"the rating {ratings[i]:g} is not on the scale; allowed are {scale}"
            self.problems.append(table.problem(int(i), "rating", message))

    def _users(self, users: pd.DataFrame, explanations: pd.DataFrame) -> None:
        table = self.tables["users"]
        self.problems += duplicates(table, users[["user_id"]], "the user")
        unknown = ~users["user_id"].isin(explanations["user_id"].unique()) & ~_blank(users["user_id"])
        where = self.tables["explanations"].name
        for i in np.flatnonzero(unknown):
            message = (
                f"the user {shown(users['user_id'].iloc[i])} has no explanation in {where}; leave the row out"
            )
            self.problems.append(table.problem(int(i), "user_id", message))


def duplicates(
    table: Table, frame: pd.DataFrame, what: str, codes: NDArray[np.int64] | None = None
) -> list[Problem]:
    """Return a problem for each row of ``frame`` that an earlier row equals.

    Parameters
    ----------
    table
        Where the rows come from.
    frame
        The columns that name a row.
    what
        What a row is, for the message.
    codes
        The rows as numbers, if known: two are equal if and only if the rows are.
    """
    if codes is None:
        codes = _combine(np.zeros(len(frame), dtype=np.int64), *(frame[c] for c in frame))
    again = pd.Series(codes).duplicated().to_numpy()
    if not again.any():
        return []
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return [
        table.problem(
            int(i),
            None,
            f"{what} ({row_text(frame, int(i), frame.columns)}) is already in row "
            f"{table.rows[first[inverse[i]]]}; keep one",
        )
        for i in np.flatnonzero(again)
    ]


def _missing_column(table: Table, column: str, given: Sequence[str]) -> Problem:
    hint = nearest(table.labels.get(column, column), given)
    return Problem(table.name, None, column, f"is missing{hint or '; there are: ' + ', '.join(given)}")


def _blank(texts: pd.Series[str]) -> NDArray[np.bool_]:
    codes, values = pd.factorize(texts)
    # Each distinct text is looked at once: of keys there are few.
    blank = np.array([not str(v).strip() for v in np.asarray(values, dtype=object)], dtype=np.bool_)
    return blank[codes] if len(blank) else np.zeros(len(texts), dtype=np.bool_)


def _any_blank(frame: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.bool_]:
    blank = np.zeros(len(frame), dtype=np.bool_)
    for column in columns:
        blank |= _blank(frame[column])
    return blank


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
