"""What is wrong with the tables of duels of slates, cell by cell; and the data set, if nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.errors import Problem, nearest, shown, unknown
from metaeval.base.frames import row_text
from metaeval.base.records import FIRST, SECOND
from metaeval.kinds.files.checks import TableChecker, blank, combine, duplicates, strings
from metaeval.kinds.files.manifest import about
from metaeval.kinds.slates.data.slate_set import (
    ASKED,
    DUEL,
    ITEM,
    KEYS,
    ORDER,
    ORDERING,
    POSITION,
    PREFERENCE,
    SLATE,
    USER,
    Domain,
    SlateSet,
    units_of,
    utilities_of,
)
from metaeval.sources.hub.repository import FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from metaeval.kinds.slates.data.manifest import SlateManifest
    from metaeval.sources.tables.table import Table

_UTILITIES = ("utility_first", "utility_second")
_NAMES = {
    "duels": (USER, DUEL, "task", FIRST, SECOND),
    "slates": (USER, SLATE, ITEM),
    "items": (ITEM,),
    "histories": (USER, ITEM),
    "profiles": (USER,),
    "scores": (*KEYS, "evaluator"),
}
"""Columns of a table that say what a row is about; none may be empty."""
_NUMBERS = {
    "duels": (*_UTILITIES, "repeat", "similarity"),
    "slates": (POSITION,),
    "histories": ("rating", "timestamp"),
    "scores": ("score",),
}
_NEEDED = {"duels": _UTILITIES, "slates": (POSITION,), "scores": ("aspect", "score")}
_ONCE = {
    "duels": ("the duel", (USER, DUEL)),
    "items": ("the item", (ITEM,)),
    "profiles": ("the user", (USER,)),
    "scores": ("the score of", (*_NAMES["scores"], "aspect")),
}
"""Tables in which no two rows are about the same: what a row is, and by which columns."""


def build(manifest: SlateManifest, tables: Mapping[str, Table]) -> tuple[SlateSet | None, list[Problem]]:
    """Return the data set that the tables make and no problem, or None and every problem found.

    The tables are ``duels``, ``slates`` and, where there are any, ``items``, ``histories``, ``profiles`` and
    ``scores``.
    """
    checker = _Checker(manifest, tables)
    frames = checker.run()
    if checker.problems:
        return None, checker.problems
    units = units_of(frames["duels"])
    scale = manifest.history_scale
    return SlateSet(
        table=units.astype({"repeat": np.int64}),
        ratings=utilities_of(units),
        slates=frames["slates"].astype({POSITION: np.int64}),
        items=frames.get("items"),
        histories=frames.get("histories"),
        profiles=frames.get("profiles"),
        scores=frames.get("scores"),
        **about(manifest),
        tasks=checker.tasks,
        domain=Domain(**manifest.domain.model_dump()),
        history_scale=None if scale is None else scale.scale(),
        aspects={PREFERENCE: manifest.statement},
        extra=dict(manifest.extra),
    ), []


class _Checker(TableChecker):
    def __init__(self, manifest: SlateManifest, tables: Mapping[str, Table]) -> None:
        super().__init__(tables)
        self.manifest = manifest
        self.tasks: dict[str, str] = {}

    def run(self) -> dict[str, pd.DataFrame]:
        for kind in self.tables:
            self.check_columns(kind, (*_NAMES[kind], *_NEEDED.get(kind, ())))
        if self.problems:
            return {}
        frames = {
            kind: self.read(
                kind,
                (*_NAMES[kind], *_NEEDED.get(kind, ()), *_NUMBERS.get(kind, ())),
                _NUMBERS.get(kind, ()),
                strings,
            )
            for kind in self.tables
        }
        for kind, frame in frames.items():
            numbers = () if kind == "scores" else _NEEDED.get(kind, ())
            self.check_filled(kind, frame, (*_NAMES[kind], *numbers))
            if kind in _ONCE:
                what, columns = _ONCE[kind]
                self.problems += duplicates(self.tables[kind], frame[list(columns)], what)
        duels = frames["duels"]
        duels["repeat"] = duels.get("repeat", pd.Series(0.0, duels.index)).fillna(0)
        self._check_tasks(duels)
        self._check_duels(duels, frames["slates"])
        if "scores" in frames:
            self._check_scores(frames["scores"], duels)
        if "histories" in frames:
            self._check_ratings(frames["histories"])
        if "profiles" in frames:
            known = pd.concat([frames[k][USER] for k in ("duels", "histories") if k in frames])
            self.check_known("profiles", frames["profiles"], USER, known, "has no duels; leave the row out")
        return frames

    def _check_tasks(self, duels: pd.DataFrame) -> None:
        used = set(duels["task"])
        self.tasks = {t: asked for t, asked in ASKED.items() if t in used} | self.manifest.tasks
        self._check_words(
            "duels", duels["task"], ASKED | self.tasks, f"; describe it under `tasks` in {FILE}"
        )

    def _check_words(self, kind: str, given: pd.Series[str], allowed: Iterable[str], more: str = "") -> None:
        """Report what is neither empty nor one of the words that are allowed."""
        wrong = ~(given.isin([*allowed]).to_numpy(dtype=bool) | blank(given))
        said = f"unknown {given.name}"
        self.report(
            kind, str(given.name), wrong, lambda i: unknown(said, given.iloc[i], allowed, "allowed") + more
        )

    def _check_duels(self, duels: pd.DataFrame, slates: pd.DataFrame) -> None:
        columns = [*_NAMES["duels"], *_NUMBERS["duels"]]
        for column in (c for c in duels if c not in columns):
            message = f"is not known{nearest(str(column), columns)}; duels have {', '.join(columns)}"
            self.problems.append(Problem(self.tables["duels"].name, None, str(column), message))
        if not len(duels):
            self.report_table("duels", "has a header but no rows")
        users = pd.concat([slates[USER], duels[USER], duels[USER]], ignore_index=True)
        names = pd.concat([slates[SLATE], duels[FIRST], duels[SECOND]], ignore_index=True)
        codes = combine(np.zeros(len(users), np.int64), users, names)
        listed, first, second = np.split(codes, len(slates) + len(duels) * np.arange(2))
        self.check_places("slates", slates, POSITION, listed, "the slate")
        once = slates[[USER, SLATE, ITEM]]
        self.problems += duplicates(self.tables["slates"], once, "the item of the slate")
        known = np.isin(np.stack([first, second]), listed)
        for column, there in zip((FIRST, SECOND), known, strict=True):
            self._check_listed(duels[column], ~there & ~blank(duels[column]), duels[USER])
        items = _contents(listed, slates[ITEM])
        differ = (duels["task"] == ORDERING).to_numpy(dtype=bool) & known.all(axis=0)
        differ[differ] = items[first[differ]] != items[second[differ]]
        self.report(
            "duels",
            None,
            differ,
            f"the two slates hold different items; a duel of {ORDERING} is about the order of the same ones",
        )
        one, other = (duels[column].to_numpy() for column in _UTILITIES)
        unequal = (first == second) & ~((one == other) | np.isnan(one) | np.isnan(other))
        self.report("duels", None, unequal, "a slate is compared with itself and has two utilities; give one")
        self._check_repeats(duels, np.minimum(first, second), np.maximum(first, second))

    def _check_listed(self, names: pd.Series[str], missing: NDArray[np.bool_], users: pd.Series[str]) -> None:
        lacks = f"which {self.tables['slates'].name} does not have for the user"
        self.report(
            "duels",
            str(names.name),
            missing,
            lambda i: f"is {shown(names.iloc[i])}, {lacks} {shown(users.iloc[i])}",
        )

    def _check_repeats(self, duels: pd.DataFrame, low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
        """See that duels of the same two slates of a user are numbered, the first of them with 0."""
        number = duels["repeat"].to_numpy()
        wrong = ~((number >= 0) & (number == np.round(number)))
        self.report(
            "duels", "repeat", wrong, lambda i: f"is {number[i]:g}; it may be a whole number from 0 on"
        )
        pairs = combine(low, pd.Series(high), duels["task"])
        alone = (number > 0) & ~pd.Series(pairs).duplicated().to_numpy()
        self.report("duels", "repeat", alone & ~wrong, "no row above is about the same two slates and task")
        again = pd.Series(combine(pairs, duels["repeat"])).duplicated().to_numpy()
        doubled = duels[[USER, DUEL]].duplicated().to_numpy()
        message = "an earlier duel has the same two slates, task and repeat; number the repetitions: 1, 2, …"
        self.report("duels", "repeat", again & ~doubled, message)

    def _check_scores(self, scores: pd.DataFrame, duels: pd.DataFrame) -> None:
        values = scores["score"].to_numpy()
        wrong = ~(np.isin(values, (-1, 0, 1)) | np.isnan(values))
        self.report("scores", "score", wrong, lambda i: f"is {values[i]:g}; a verdict is -1, 0 or 1")
        self._check_words("scores", scores[ORDER], (FIRST, SECOND))
        self._check_words("scores", scores["aspect"], (PREFERENCE,))
        both = pd.concat([duels[[USER, DUEL]], scores[[USER, DUEL]]], ignore_index=True)
        codes = combine(np.zeros(len(both), np.int64), both[USER], both[DUEL])
        strange = ~np.isin(codes[len(duels) :], codes[: len(duels)])
        lacks = f"in {self.tables['duels'].name}"
        self.report(
            "scores",
            None,
            strange,
            lambda i: f"there is no duel ({row_text(scores, i, [USER, DUEL])}) {lacks}",
        )

    def _check_ratings(self, histories: pd.DataFrame) -> None:
        if "rating" not in histories or histories["rating"].isna().all():
            return
        if self.manifest.history_scale is None:
            message = f"is missing, and {self.tables['histories'].name} has ratings; give their min and max"
            self.problems.append(Problem(FILE, None, "history_scale", message))
            return
        self.check_scale("histories", histories["rating"], self.manifest.history_scale.scale())


def _contents(lists: NDArray[np.int64], items: pd.Series[Any]) -> NDArray[np.int64]:
    """Return a number for each list's code; two are equal if and only if the lists hold the same items."""
    item, _ = pd.factorize(items)
    order = np.lexsort((item, lists))
    place = pd.Series(lists[order]).groupby(lists[order]).cumcount().to_numpy()
    found = np.zeros(lists.max(initial=-1) + 1, np.int64)
    for at in range(place.max(initial=-1) + 1):
        column = np.full(len(found), -1, np.int64)
        here = order[place == at]
        column[lists[here]] = item[here]
        found = combine(found, pd.Series(column))
    return found
