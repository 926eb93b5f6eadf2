"""What is wrong with the tables of a log, cell by cell; and the log, if nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.errors import shown
from metaeval.base.records import FIRST, SECOND
from metaeval.kinds.exposure.data.columns import category_column, time_column
from metaeval.kinds.exposure.data.log_set import (
    ITEM,
    KEYS,
    ORDER,
    OUTCOME,
    PAIR,
    POSITION,
    PREFERENCE,
    PROPENSITY,
    TIME,
    USER,
    WEIGHT,
    LogSet,
    preferences_of,
    units_of,
)
from metaeval.kinds.exposure.data.synthetic import REASON, SOURCE, STEP, SYNTH, SyntheticRows, synthetic
from metaeval.kinds.files.checks import TableChecker, blank, combine, duplicates, strings
from metaeval.kinds.files.manifest import about

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from metaeval.base.errors import Problem
    from metaeval.kinds.exposure.data.manifest import LogManifest
    from metaeval.sources.tables.table import Table

_NAMES = {
    "log": (ITEM,),
    "items": (ITEM,),
    "profiles": (USER,),
    "pairs": (USER, PAIR, FIRST, SECOND),
    "runs": ("system", USER, ITEM),
    "test": (USER, ITEM),
    "scores": (*KEYS, "evaluator"),
    "synthetic": (USER, ITEM, SOURCE, REASON),
}
"""Columns of a table that say what a row is about; none may be empty."""
_SIDES = tuple(f"{PROPENSITY}_{side}" for side in (FIRST, SECOND))
_NUMBERS = {
    "log": (OUTCOME, POSITION, PROPENSITY),
    "items": ("price",),
    "pairs": (*_SIDES, WEIGHT),
    "runs": ("rank", "score"),
    "test": (OUTCOME,),
    "scores": ("score",),
    "synthetic": (STEP,),
}
_NEEDED = {
    "log": (OUTCOME,),
    "runs": ("rank",),
    "test": (OUTCOME,),
    "scores": ("score",),
    "synthetic": (STEP,),
}
"""Columns of numbers that a table may not lack; but for scores, none of them may be empty."""
_ONCE = {
    "items": ((ITEM,), "the item"),
    "profiles": ((USER,), "the user"),
    "pairs": ((USER, PAIR), "the pair"),
    "test": ((USER, ITEM), "the outcome of"),
    "scores": ((*KEYS, "evaluator", "aspect"), "the score of"),
}
"""Tables in which no two rows are about the same, by which columns, and what a row is."""
_TIMES = (TIME, "released")
_MADE_UP = {STEP, SOURCE, REASON}
"""Columns that only synthetic rows have."""
_TRUE = ("log", "pairs", "test")
"""Tables that truths are made of."""


def build(manifest: LogManifest, tables: Mapping[str, Table]) -> tuple[LogSet | None, list[Problem]]:
    """Return the log that the tables make and no problem, or None and every problem found.

    The tables are ``log`` and, where there are any, ``items``, ``profiles``, ``pairs``, ``runs``, ``test``,
    ``scores`` and ``synthetic``.
    """
    checker = _Checker(manifest, tables)
    frames = checker.run()
    if checker.problems:
        return None, checker.problems
    log = frames["log"]
    if POSITION in log:
        log = log.astype({POSITION: np.int32})
    units = units_of(frames.get("pairs", _no_pairs()))
    known = {name: frames.get(name) for name in ("items", "profiles", "test", "scores")}
    return LogSet(
        table=units,
        ratings=preferences_of(units, log),
        log=log,
        outcome=manifest.outcome.scale(),
        positive=manifest.least_positive,
        statement=manifest.statement,
        exposure=manifest.exposure,
        synthetic=SyntheticRows(frames["synthetic"]) if "synthetic" in frames else None,
        runs=frames["runs"].astype({"rank": np.int64}) if "runs" in frames else None,
        **about(manifest),
        extra=dict(manifest.extra),
        **known,  # type: ignore[arg-type]
    ), []


def _no_pairs() -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(dtype="str") for name in _NAMES["pairs"]})


class _Checker(TableChecker):
    def __init__(self, manifest: LogManifest, tables: Mapping[str, Table]) -> None:
        super().__init__(tables)
        self.scale = manifest.outcome.scale()

    def run(self) -> dict[str, pd.DataFrame]:
        for kind, table in self.tables.items():
            self.check_columns(kind, (*_NAMES[kind], *_NEEDED.get(kind, ())))
            if USER in _NAMES[kind] and USER not in self.tables["log"].frame:
                self.report_table(kind, f"names users, but {self.tables['log'].name} does not; leave it out")
            if kind in _TRUE and set(table.frame.columns) >= _MADE_UP:
                message = (
                    "has the columns of synthetic rows, which no truth may hold; put them into `synthetic`"
                )
                self.report_table(kind, message)
        if self.problems:
            return {}
        frames = {kind: self._read(kind) for kind in self.tables}
        log = frames["log"]
        for kind, frame in frames.items():
            users = (USER,) if kind == "log" and USER in frame else ()
            numbers = () if kind == "scores" else _NEEDED.get(kind, ())
            self.check_filled(kind, frame, (*users, *_NAMES[kind], *numbers))
            self._check_numbers(kind, frame)
            if kind in _ONCE:
                of, what = _ONCE[kind]
                self.problems += duplicates(self.tables[kind], frame[[*of]], what)
            if kind != "log" and USER in frame:
                known = pd.Series(log[USER].cat.categories)
                self.check_known(kind, frame, USER, known, "has no row in the log; leave the user out")
        if not len(log):
            self.report_table("log", "has a header but no rows")
        if "runs" in frames:
            runs = frames["runs"]
            lists = combine(np.zeros(len(runs), np.int64), runs["system"], runs[USER])
            self.check_places("runs", runs, "rank", lists, "the user's list")
        if "pairs" in frames:
            self._check_pairs(frames["pairs"], log)
        self._check_synthetic(frames)
        if "scores" in frames:
            self._check_scores(frames["scores"], frames.get("pairs", _no_pairs()))
        return frames

    def _read(self, kind: str) -> pd.DataFrame:
        first, numbers = [*_NAMES[kind], *_NUMBERS.get(kind, ())], _NUMBERS.get(kind, ())
        if kind == "log":
            first = [USER, *first]
        texts = category_column if kind == "log" else strings

        def read(table: Table, column: str) -> tuple[Any, list[Problem]]:
            return time_column(table, column) if column in _TIMES else texts(table, column)

        frame = self.read(kind, first, numbers, read)
        return frame.assign(aspect="") if kind == "scores" and "aspect" not in frame else frame

    def _check_numbers(self, kind: str, frame: pd.DataFrame) -> None:
        """See that outcomes are on their scale, propensities in (0, 1], weights above 0, positions from 1."""
        for column in (OUTCOME, POSITION, PROPENSITY, WEIGHT, *_SIDES):
            if column not in frame or column not in _NUMBERS.get(kind, ()):
                continue
            values = frame[column].to_numpy()
            if column == OUTCOME:
                off, says = self._off_scale(values), f"is not on the scale; allowed are {self.scale}"
            elif column == POSITION:
                off, says = ~((values >= 1) & (values == np.round(values))), "is not a whole number from 1 on"
            elif column == WEIGHT:
                off, says = values <= 0, "is not above 0"
            else:
                off, says = ~((values > 0) & (values <= 1)), "is not above 0 and 1 at most"
            self._report_numbers(kind, column, values, off, says)
            if kind == "log" and column != OUTCOME:
                self.check_filled(kind, frame, (column,))

    def _report_numbers(
        self, kind: str, column: str, values: NDArray[np.float64], off: NDArray[np.bool_], says: str
    ) -> None:
        self.report(kind, column, off & ~np.isnan(values), lambda i: f"the {column} {values[i]:g} {says}")

    def _off_scale(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        off: NDArray[np.bool_] = (values < self.scale.min) | (values > self.scale.max)
        return off | (values != np.round(values)) if self.scale.integer else off

    def _check_pairs(self, pairs: pd.DataFrame, log: pd.DataFrame) -> None:
        """See that a pair's items are two, and that the user's own log has both."""
        alike = (pairs[FIRST] == pairs[SECOND]).to_numpy(dtype=bool) & ~blank(pairs[FIRST])
        self.report("pairs", SECOND, alike, "is the item of `first`; a pair has two different items")
        for side in (FIRST, SECOND):
            known = pairs[USER].isin(log[USER].cat.categories).to_numpy(dtype=bool) & ~blank(pairs[side])
            self._report_unexposed(side, pairs, ~self._in_log(pairs[USER], pairs[side], log) & known)

    def _in_log(self, users: pd.Series[Any], items: pd.Series[Any], log: pd.DataFrame) -> NDArray[np.bool_]:
        """Return of which users and items the log has a row."""
        known, width = [log[key].cat for key in (USER, ITEM)], len(log[ITEM].cat.categories)
        user, item = (
            of.categories.get_indexer(pd.Index(names))
            for of, names in zip(known, (users, items), strict=True)
        )
        exposed = known[0].codes.to_numpy(np.int64) * width + known[1].codes.to_numpy(np.int64)
        return np.isin(user * width + item, exposed) & (user >= 0) & (item >= 0)

    def _check_synthetic(self, frames: Mapping[str, pd.DataFrame]) -> None:
        """See that synthetic rows say so and are in their own table alone."""
        message = "is that of synthetic rows, which no truth may hold; put the row into `synthetic`"
        for kind in _TRUE:
            if kind in frames:
                self.report(kind, SOURCE, synthetic(frames[kind]), f"{shown(SYNTH)} {message}")
        if (rows := frames.get("synthetic")) is None:
            return
        strange = ~synthetic(rows) & ~blank(rows[SOURCE])
        self.report("synthetic", SOURCE, strange, f"is not {SYNTH!r}, as it is of every synthetic row")
        message = "has a row in the log; a synthetic row was never shown"
        of = rows[[ITEM, USER]]
        self.report(
            "synthetic",
            ITEM,
            self._in_log(rows[USER], rows[ITEM], frames["log"]),
            lambda i: "is {!r}, of which the user {!r} {}".format(*of.iloc[i], message),
        )

    def _report_unexposed(self, side: str, pairs: pd.DataFrame, wrong: NDArray[np.bool_]) -> None:
        of = pairs[[side, USER]]
        message = "has no row in the log; leave the pair out"
        self.report(
            "pairs", side, wrong, lambda i: "is {!r}, of which the user {!r} {}".format(*of.iloc[i], message)
        )

    def _check_scores(self, scores: pd.DataFrame, pairs: pd.DataFrame) -> None:
        """See that scores are of units, and of the one aspect."""
        odd = ~scores["aspect"].isin(["", PREFERENCE]).to_numpy(dtype=bool)
        self.report(
            "scores", "aspect", odd, f"is not an aspect; allowed is {PREFERENCE!r}, or leave it empty"
        )
        odd = ~scores[ORDER].isin([FIRST, SECOND]).to_numpy(dtype=bool) & ~blank(scores[ORDER])
        self.report("scores", ORDER, odd, f"is neither {FIRST!r} nor {SECOND!r}")
        both = pd.concat([pairs[[USER, PAIR]], scores[[USER, PAIR]]], ignore_index=True)
        codes = combine(np.zeros(len(both), np.int64), both[USER], both[PAIR])
        strange = ~np.isin(codes[len(pairs) :], codes[: len(pairs)]) & ~blank(scores[PAIR])
        self.report("scores", PAIR, strange, lambda i: f"the user has no pair {shown(scores[PAIR].iloc[i])}")
