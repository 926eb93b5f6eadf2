"""Duels of slates as a folder: ``dataset.yaml`` and its tables, checked, loaded, saved and made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from metaeval.base.errors import Problem, shown
from metaeval.base.frames import row_text
from metaeval.base.records import FIRST, SECOND
from metaeval.base.validation import Strict
from metaeval.data.checks import (
    FURTHER,
    NAME,
    NUMBER,
    DataColumn,
    DataTable,
    TableChecker,
    blank,
    combine,
)
from metaeval.data.folder import DataFolder
from metaeval.data.hub import FILE
from metaeval.data.manifest import DataManifest, ScaleModel, about
from metaeval.data.tables.entries import Name
from metaeval.data.tables.table import Table
from metaeval.kinds.slates.data.slate_set import (
    ANY,
    ASKED,
    DUEL,
    ITEM,
    KEYS,
    ORDER,
    ORDERING,
    POSITION,
    PREFERENCE,
    QUESTION,
    SLATE,
    USER,
    Domain,
    SlateSet,
    units_of,
    utilities_of,
)


class DomainModel(Strict):
    """The words of the domain."""

    platform: Name = ANY.platform
    noun: Name = ANY.noun
    plural: Name = ANY.plural
    liked: Name = ANY.liked
    popularity: Name = ANY.popularity
    diversity: Name = ANY.diversity


class SlateManifest(DataManifest):
    """The keys of ``dataset.yaml`` of duels of slates."""

    kind: Literal["slates"] = Field()
    statement: Name = QUESTION
    tasks: dict[Name, Name] = Field(default_factory=dict)
    domain: DomainModel = DomainModel()
    history_scale: ScaleModel | None = None
    extra: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def of(cls, data: SlateSet) -> SlateManifest:
        """Return the manifest of a data set in memory."""
        scale = data.history_scale
        return cls(
            **about(data),
            kind="slates",
            statement=data.aspects[PREFERENCE],
            tasks=dict(data.tasks),
            domain=DomainModel(**data.domain._asdict()),
            history_scale=None if scale is None else ScaleModel.of(scale),
            extra=dict(data.extra),
        )


_UTILITIES = ("utility_first", "utility_second")
_WHOLE = DataColumn(
    number=True,
    needed=False,
    filled=False,
    wrong=lambda values: ~((values >= 0) & (values == np.round(values))),
    says="is {}; it may be a whole number from 0 on",
)
_VERDICT = DataColumn(
    number=True,
    filled=False,
    wrong=lambda values: ~np.isin(values, (-1, 0, 1)),
    says="is {}; a verdict is -1, 0 or 1",
)
_SPECIFIED = {
    "duels": DataTable(
        dict.fromkeys((USER, DUEL, "task", FIRST, SECOND), NAME)
        | dict.fromkeys(_UTILITIES, NUMBER)
        | {"repeat": _WHOLE, "similarity": FURTHER},
        row="the duel",
        unique=(USER, DUEL),
        closed=True,
        rows=True,
    ),
    "slates": DataTable(
        {**dict.fromkeys((USER, SLATE, ITEM), NAME), POSITION: NUMBER}, row="the item of the slate"
    ),
    "items": DataTable({ITEM: NAME}, row="the item"),
    "histories": DataTable(
        {USER: NAME, ITEM: NAME, "rating": FURTHER, "timestamp": FURTHER._replace(time=True)}
    ),
    "profiles": DataTable(
        {USER: NAME},
        row="the user",
        refers={USER: (("duels", "histories"), "has no duels; leave the row out")},
    ),
    "scores": DataTable(
        {
            USER: NAME,
            DUEL: NAME,
            ORDER: DataColumn(words=(FIRST, SECOND)),
            "evaluator": NAME,
            "aspect": DataColumn(filled=False, words=(PREFERENCE,)),
            "score": _VERDICT,
        },
        row="the score of",
        unique=(*KEYS, "evaluator", "aspect"),
    ),
}


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
        frames = self.read_all(_SPECIFIED)
        if not frames:
            return {}
        duels = frames["duels"]
        duels["repeat"] = duels.get("repeat", pd.Series(0.0, duels.index)).fillna(0)
        self._check_tasks(duels)
        self._check_duels(duels, frames["slates"])
        if "scores" in frames:
            self._check_scores(frames["scores"], duels)
        if "histories" in frames:
            self._check_ratings(frames["histories"])
        return frames

    def _check_tasks(self, duels: pd.DataFrame) -> None:
        used = set(duels["task"])
        self.tasks = {t: asked for t, asked in ASKED.items() if t in used} | self.manifest.tasks
        self.check_words("duels", duels["task"], ASKED | self.tasks, f"; describe it under `tasks` in {FILE}")

    def _check_duels(self, duels: pd.DataFrame, slates: pd.DataFrame) -> None:
        users = pd.concat([slates[USER], duels[USER], duels[USER]], ignore_index=True)
        names = pd.concat([slates[SLATE], duels[FIRST], duels[SECOND]], ignore_index=True)
        codes = combine(np.zeros(len(users), np.int64), users, names)
        listed, first, second = np.split(codes, len(slates) + len(duels) * np.arange(2))
        self.check_places("slates", slates, POSITION, listed, "the slate")
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
        pairs = combine(low, pd.Series(high), duels["task"])
        alone = (number > 0) & ~pd.Series(pairs).duplicated().to_numpy()
        self.report(
            "duels",
            "repeat",
            alone & (number == np.round(number)),
            "no row above is about the same two slates and task",
        )
        again = pd.Series(combine(pairs, duels["repeat"])).duplicated().to_numpy()
        doubled = duels[[USER, DUEL]].duplicated().to_numpy()
        message = "an earlier duel has the same two slates, task and repeat; number the repetitions: 1, 2, …"
        self.report("duels", "repeat", again & ~doubled, message)

    def _check_scores(self, scores: pd.DataFrame, duels: pd.DataFrame) -> None:
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


_TABLES = tuple(_SPECIFIED)


def _frames(data: SlateSet) -> dict[str, pd.DataFrame | None]:
    duels = data.table[data.table[ORDER] == FIRST].drop(columns=ORDER)
    if not duels["repeat"].any():
        duels = duels.drop(columns="repeat")
    if duels["similarity"].isna().all():
        duels = duels.drop(columns="similarity")
    return {"duels": duels, **{name: getattr(data, name) for name in _TABLES[1:]}}


FOLDER: DataFolder[SlateSet] = DataFolder(SlateManifest, _TABLES, _TABLES[:2], build, _frames)
save = FOLDER.save
load = FOLDER.load
slate_set_of = FOLDER.make
