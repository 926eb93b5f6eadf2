"""A log as a folder: ``dataset.yaml`` and its tables, checked by row and column, loaded, saved and made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, model_validator

from metaeval.base.errors import Problem, exact, shown
from metaeval.base.records import FIRST, SECOND
from metaeval.data.checks import (
    FURTHER,
    NAME,
    NUMBER,
    DataColumn,
    DataTable,
    TableChecker,
    blank,
    combine,
    strings,
)
from metaeval.data.folder import DataFolder
from metaeval.data.manifest import About, DataManifest, ScaleModel, about
from metaeval.data.tables.columns import text_column, time_column
from metaeval.data.tables.table import Table
from metaeval.kinds.exposure.data.log_set import (
    ITEM,
    KEYS,
    ORDER,
    OUTCOME,
    PAIR,
    POSITION,
    PREFERENCE,
    PROPENSITY,
    REASON,
    SOURCE,
    STEP,
    SYNTH,
    TIME,
    USER,
    WEIGHT,
    LogSet,
    SyntheticRows,
    is_policy,
    preferences_of,
    synthetic,
    units_of,
)

POLICIES = "policies"
"""The folder of a data set with policies that came with it: `metaeval.kinds.exposure.off_policy.policies`."""


class Described(About):
    """What a map of a table says of a log, too."""

    kind: Literal["exposure"] = Field()
    outcome: ScaleModel
    statement: str = ""
    positive: float | None = None
    exposure: Literal["choice", "pair"] = "choice"

    @property
    def least_positive(self) -> float:
        """The least outcome that is a success: the highest there is, unless the file says another."""
        return self.outcome.max if self.positive is None else self.positive

    @model_validator(mode="after")
    def _success_is_possible(self) -> Self:
        if not self.outcome.min < self.least_positive <= self.outcome.max:
            raise ValueError(
                f"positive: {exact(self.least_positive)} does not split the outcomes; give a value above "
                f"{self.outcome.min:g} and {self.outcome.max:g} at most"
            )
        return self


class LogManifest(DataManifest, Described):
    """The keys of ``dataset.yaml`` of a log."""

    extra: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def of(cls, data: LogSet) -> LogManifest:
        """Return the manifest of a log in memory."""
        return cls(
            **about(data),
            kind="exposure",
            outcome=ScaleModel.of(data.outcome),
            statement=data.statement,
            positive=None if data.positive == data.outcome.max else data.positive,
            exposure="pair" if data.exposure == "pair" else "choice",
            extra=dict(data.extra),
        )


_TIMES = (TIME, "released")
_TRUE = ("log", "pairs", "test")
"""Tables that truths are made of."""


def _number(
    name: str, allowed: Callable[[NDArray[np.float64]], NDArray[np.bool_]], text: str, *, filled: bool = False
) -> DataColumn:
    """Return a number that a table may lack."""
    return DataColumn(True, False, filled, (), lambda v: ~allowed(v), f"the {name} {{}} is not {text}")


def _share(name: str, *, filled: bool = False) -> DataColumn:
    return _number(name, lambda v: (v > 0) & (v <= 1), "above 0 and 1 at most", filled=filled)


_PLACE = _number(POSITION, lambda v: (v >= 1) & (v == np.round(v)), "a whole number from 1 on", filled=True)
_SIDES = {f"{PROPENSITY}_{side}": _share(f"{PROPENSITY}_{side}") for side in (FIRST, SECOND)}
_WEIGHT = _number(WEIGHT, lambda v: v > 0, "above 0")
_SHOWN = {USER: NAME, ITEM: NAME}
_OF_USERS = {USER: (("log",), "has no row in the log; leave the user out")}
_TABLES = {
    "log": DataTable(
        {
            USER: DataColumn(needed=False),
            ITEM: NAME,
            OUTCOME: NUMBER,
            POSITION: _PLACE,
            PROPENSITY: _share(PROPENSITY, filled=True),
        },
        rows=True,
    ),
    "items": DataTable({ITEM: NAME, "price": FURTHER}, "the item"),
    "profiles": DataTable({USER: NAME}, "the user", refers=_OF_USERS),
    "pairs": DataTable(
        {**dict.fromkeys((USER, PAIR, FIRST, SECOND), NAME), **_SIDES, WEIGHT: _WEIGHT},
        "the pair",
        (USER, PAIR),
        _OF_USERS,
    ),
    "runs": DataTable({"system": NAME, **_SHOWN, "rank": NUMBER, "score": FURTHER}, refers=_OF_USERS),
    "test": DataTable({**_SHOWN, OUTCOME: NUMBER}, "the outcome of", refers=_OF_USERS),
    "scores": DataTable(
        {**dict.fromkeys((*KEYS, "evaluator"), NAME), "score": DataColumn(number=True, filled=False)},
        "the score of",
        (*KEYS, "evaluator", "aspect"),
        _OF_USERS,
    ),
    "synthetic": DataTable({**_SHOWN, SOURCE: NAME, REASON: NAME, STEP: NUMBER}, refers=_OF_USERS),
}
TABLES = tuple(_TABLES)


def build(manifest: LogManifest, tables: Mapping[str, Table]) -> tuple[LogSet | None, list[Problem]]:
    """Return the log that the tables make and no problem, or None and every problem found."""
    checker = _Checker(manifest, tables)
    frames = checker.run()
    if checker.problems:
        return None, checker.problems
    log = frames["log"]
    if POSITION in log:
        log = log.astype({POSITION: np.int32})
    units = units_of(frames.get("pairs", _no_pairs()))
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
        items=frames.get("items"),
        profiles=frames.get("profiles"),
        test=frames.get("test"),
        scores=frames.get("scores"),
        **about(manifest),
        extra=dict(manifest.extra),
    ), []


def _no_pairs() -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(dtype="str") for name in (USER, PAIR, FIRST, SECOND)})


class _Checker(TableChecker):
    def __init__(self, manifest: LogManifest, tables: Mapping[str, Table]) -> None:
        super().__init__(tables)
        self.scale = manifest.outcome.scale()

    def run(self) -> dict[str, pd.DataFrame]:
        for kind, table in self.tables.items():
            if _TABLES[kind].refers and USER not in self.tables["log"].frame:
                self.report_table(kind, f"names users, but {self.tables['log'].name} does not; leave it out")
            if kind in _TRUE and {STEP, SOURCE, REASON} <= set(table.frame.columns):
                text = "has the columns of synthetic rows, which no truth may hold; put them into `synthetic`"
                self.report_table(kind, text)
        policies = {
            name: _number(name, lambda v: (v >= 0) & (v <= 1), "from 0 to 1")
            for name in map(str, self.tables["log"].frame.columns)
            if is_policy(name)
        }
        log_table = _TABLES["log"]._replace(columns={**_TABLES["log"].columns, **policies})
        frames = self.read_all({**_TABLES, "log": log_table}, _text) if not self.problems else {}
        if not frames:
            return frames
        log, pairs = frames["log"], frames.get("pairs", _no_pairs())
        for kind in {"log", "test"} & {*frames}:
            self.check_scale(kind, frames[kind][OUTCOME], self.scale)
        if "runs" in frames:
            runs = frames["runs"]
            lists = combine(np.zeros(len(runs), np.int64), runs["system"], runs[USER])
            self.check_places("runs", runs, "rank", lists, "the user's list")
        if "pairs" in frames:
            self._check_pairs(pairs, log)
        self._check_synthetic(frames)
        if "scores" in frames:
            scores = frames["scores"]
            frames["scores"] = scores if "aspect" in scores else scores.assign(aspect="")
            self._check_scores(frames["scores"], pairs)
        return frames

    def _check_pairs(self, pairs: pd.DataFrame, log: pd.DataFrame) -> None:
        """See that a pair's items are two, and that the user's own log has both."""
        alike = (pairs[FIRST] == pairs[SECOND]).to_numpy(dtype=bool) & ~blank(pairs[FIRST])
        self.report("pairs", SECOND, alike, "is the item of `first`; a pair has two different items")
        for side in (FIRST, SECOND):
            known = pairs[USER].isin(log[USER].cat.categories).to_numpy(dtype=bool) & ~blank(pairs[side])
            unshown = ~_in_log(pairs[USER], pairs[side], log) & known
            self._report_item("pairs", side, pairs, unshown, "has no row in the log; leave the pair out")

    def _report_item(
        self, kind: str, column: str, frame: pd.DataFrame, wrong: NDArray[np.bool_], text: str
    ) -> None:
        both = frame[[column, USER]]
        self.report(
            kind, column, wrong, lambda i: "is {!r}, of which the user {!r} {}".format(*both.iloc[i], text)
        )

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
        logged = _in_log(rows[USER], rows[ITEM], frames["log"])
        text = "has a row in the log; a synthetic row was never shown"
        self._report_item("synthetic", ITEM, rows, logged, text)

    def _check_scores(self, scores: pd.DataFrame, pairs: pd.DataFrame) -> None:
        """See that scores are of units, and of the one aspect."""
        odd = ~scores["aspect"].isin(["", PREFERENCE]).to_numpy(dtype=bool)
        text = f"is not an aspect; allowed is {PREFERENCE!r}, or leave it empty"
        self.report("scores", "aspect", odd, text)
        odd = ~scores[ORDER].isin([FIRST, SECOND]).to_numpy(dtype=bool) & ~blank(scores[ORDER])
        self.report("scores", ORDER, odd, f"is neither {FIRST!r} nor {SECOND!r}")
        both = pd.concat([pairs[[USER, PAIR]], scores[[USER, PAIR]]], ignore_index=True)
        codes = combine(np.zeros(len(both), np.int64), both[USER], both[PAIR])
        strange = ~np.isin(codes[len(pairs) :], codes[: len(pairs)]) & ~blank(scores[PAIR])
        self.report("scores", PAIR, strange, lambda i: f"the user has no pair {shown(scores[PAIR].iloc[i])}")


def _in_log(users: pd.Series[Any], items: pd.Series[Any], log: pd.DataFrame) -> NDArray[np.bool_]:
    """Return of which users and items the log has a row."""
    known, width = [log[key].cat for key in (USER, ITEM)], len(log[ITEM].cat.categories)
    columns = zip(known, (users, items), strict=True)
    user, item = (own.categories.get_indexer(pd.Index(values)) for own, values in columns)
    exposed = known[0].codes.to_numpy(np.int64) * width + known[1].codes.to_numpy(np.int64)
    return np.isin(user * width + item, exposed) & (user >= 0) & (item >= 0)


def _text(kind: str, table: Table, column: str) -> tuple[Any, list[Problem]]:
    """Read a column that is no number."""
    if column in _TIMES:
        return time_column(table, column)
    return category_column(table, column) if kind == "log" else strings(table, column)


def category_column(table: Table, column: str) -> tuple[pd.Series[Any], list[Problem]]:
    """Return a column of texts as a categorical, so that millions of rows fit in memory; "" for no value.

    Each distinct value is read once, as `metaeval.data.tables.columns.text_column` reads it: of users and
    items there are few. A problem names the first row of its value.
    """
    codes, distinct = pd.factorize(table.frame[column], use_na_sentinel=False)
    first = np.flatnonzero(~pd.Series(codes).duplicated())
    values = Table(table.name, pd.DataFrame({column: distinct}), table.rows[first], table.labels)
    texts, problems = text_column(values, column)
    again, names = pd.factorize(pd.Series(texts, dtype="str"))
    return pd.Series(pd.Categorical.from_codes(again[codes], pd.Index(names, dtype="str"))), problems


def pairs_of(data: LogSet) -> pd.DataFrame | None:
    """Return a row per pair, as the table ``pairs`` has it; None if there are none."""
    pairs = data.table[data.table[ORDER] == FIRST].drop(columns=ORDER).reset_index(drop=True)
    return pairs.dropna(axis="columns", how="all") if len(pairs) else None


def _frames(data: LogSet) -> dict[str, pd.DataFrame | None]:
    own = {"pairs": pairs_of(data), "synthetic": None if data.synthetic is None else data.synthetic.frame}
    return {name: own[name] if name in own else getattr(data, name) for name in TABLES}


FOLDER: DataFolder[LogSet] = DataFolder(LogManifest, TABLES, TABLES[:1], build, _frames, (POLICIES,))
refuse_if_in_the_way = FOLDER.refuse_if_in_the_way
save = FOLDER.save
load = FOLDER.load
log_of = FOLDER.make
put = FOLDER.put
