"""A collection as a folder: ``dataset.yaml`` and its tables, loaded, saved, made, checked and imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from metaeval.base.counts import counted
from metaeval.base.errors import Problem, exact
from metaeval.base.keys import noun
from metaeval.base.records import Scale
from metaeval.base.validation import Strict
from metaeval.data.checks import FURTHER, NAME, NUMBER, DataColumn, DataTable, TableChecker, combine
from metaeval.data.folder import DataFolder
from metaeval.data.imports import Files, Imported, importer
from metaeval.data.manifest import DataManifest, ScaleModel, about
from metaeval.data.tables.columns import text_column
from metaeval.data.tables.entries import Name
from metaeval.data.tables.table import Table, from_frame
from metaeval.kinds.relevance.data.collection import ITEM, KEYS, RELEVANCE, USER, Collection
from metaeval.stats.resampling.weights import permutation

QUESTION = "How interested is the user in the item?"
_PAIR = dict.fromkeys(KEYS, NAME)
_LABEL = DataColumn(number=True, filled=False)
_KNOWN = ("labels", "runs", "histories"), "has no labels; leave the row out"
_TABLES = {
    "labels": DataTable(
        {**_PAIR, "rater": NAME, "label": _LABEL, "aspect": NAME._replace(needed=False)},
        "the label of",
        rows=True,
    ),
    "runs": DataTable({"system": NAME, **_PAIR, "rank": NUMBER, "score": FURTHER}, "the rank of"),
    "items": DataTable({ITEM: NAME}, "the item"),
    "histories": DataTable({**_PAIR, "rating": FURTHER, "timestamp": FURTHER._replace(time=True)}),
    "profiles": DataTable({USER: NAME}, "the user", refers={USER: _KNOWN}),
}


class AspectModel(Strict):
    """What raters were asked beside the relevance of an item, and the scale of their answers."""

    statement: Name
    scale: ScaleModel


class CollectionManifest(DataManifest):
    """The keys of ``dataset.yaml`` of a collection: what raters were asked, the labels, what is a unit."""

    kind: Literal["relevance"] = Field()
    statement: Name = QUESTION
    scale: ScaleModel
    aspects: dict[Name, AspectModel] = Field(default_factory=dict)
    labels: dict[Name, Name] = Field(default_factory=dict)
    relevant: int | float = 1
    depth: int = Field(default=0, ge=0)
    drawn: int = Field(default=0, ge=0)
    models: list[Name] = Field(default_factory=list)
    scales: dict[Name, ScaleModel] = Field(default_factory=dict)
    extra: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _labels_are_on_the_scale(self) -> Self:
        scale = self.scale.scale()
        if not (scale.min in scale and scale.max in scale):
            raise ValueError("the scale of labels has whole numbers; set min and max to whole numbers")
        for label in self.labels:
            if not label.lstrip("-").isdecimal() or int(label) not in scale:
                raise ValueError(f"labels: {label} is not on the scale; allowed are {scale}")
        if self.relevant not in scale:
            raise ValueError(f"relevant: {exact(self.relevant)} is not on the scale; allowed are {scale}")
        if self.relevant < 0:
            raise ValueError(f"relevant: {exact(self.relevant)} is below 0, and no such label is relevant")
        if RELEVANCE in self.aspects:
            raise ValueError(f"aspects: {RELEVANCE!r} is what `statement` asks; name the others alone")
        return self

    @classmethod
    def of(cls, data: Collection) -> CollectionManifest:
        """Return the manifest of a collection in memory."""
        return cls(
            **about(data),
            kind="relevance",
            statement=data.aspects[RELEVANCE],
            scale=ScaleModel.of(data.scale.of(RELEVANCE)),
            aspects={
                aspect: AspectModel(statement=said, scale=ScaleModel.of(data.scale.of(aspect)))
                for aspect, said in data.aspects.items()
                if aspect != RELEVANCE
            },
            labels={str(label): name for label, name in data.labels.items()},
            relevant=data.relevant,
            depth=data.depth,
            drawn=data.drawn,
            models=list(data.models),
            scales={rater: ScaleModel.of(scale) for rater, scale in data.scales.items()},
            extra=dict(data.extra),
        )


def _build(
    manifest: CollectionManifest, tables: Mapping[str, Table]
) -> tuple[Collection | None, list[Problem]]:
    """Return the collection that the tables make and no problem, or None and every problem."""
    checker = TableChecker(tables)
    frames = checker.read_all(_TABLES)
    if frames:
        _check(checker, frames, manifest)
    if checker.problems:
        return None, checker.problems
    labels = frames["labels"]
    aspect = labels.pop("aspect") if "aspect" in labels else pd.Series(RELEVANCE, labels.index, "str")
    labels.insert(3, "aspect", aspect)
    further = manifest.aspects
    no_runs = pd.DataFrame({name: pd.Series(dtype="str") for name in ("system", *KEYS)} | {"rank": []})
    runs = frames.get("runs", no_runs).astype({"rank": np.int64})
    units = [labels[[*KEYS]], runs.loc[runs["rank"] <= manifest.depth, [*KEYS]], _drawn(runs, manifest.drawn)]
    pairs = pd.concat([frame for frame in units if len(frame)], ignore_index=True)
    return Collection(
        table=pairs[~pd.Series(_codes(pairs, KEYS)).duplicated()].reset_index(drop=True),
        ratings=labels.rename(columns={"label": "rating"}),
        runs=runs,
        items=frames.get("items"),
        histories=frames.get("histories"),
        profiles=frames.get("profiles"),
        **about(manifest),
        aspects={RELEVANCE: manifest.statement, **{name: of.statement for name, of in further.items()}},
        scale=Scale.over(_scales(manifest)),
        labels={int(label): name for label, name in manifest.labels.items()},
        relevant=manifest.relevant,
        depth=manifest.depth,
        drawn=manifest.drawn,
        models=tuple(manifest.models),
        scales={rater: scale.scale() for rater, scale in manifest.scales.items()},
        extra=dict(manifest.extra),
    ), []


def _drawn(runs: pd.DataFrame, count: int) -> pd.DataFrame:
    """Return so many of the items in each user's lists, drawn by the names of users and items alone."""
    pairs = runs[[*KEYS]].drop_duplicates().sort_values([*KEYS], ignore_index=True) if count else runs[:0]
    at = [
        place
        for user, places in pairs.groupby(USER).indices.items()
        for place in np.asarray(places)[permutation(len(places), 0, "pool", str(user))[:count]]
    ]
    return pairs.loc[at, [*KEYS]]


def _codes(frame: pd.DataFrame, columns: tuple[str, ...]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return combine(np.zeros(len(frame), np.int64), *(frame[column] for column in columns))


def _check(checker: TableChecker, frames: Mapping[str, pd.DataFrame], manifest: CollectionManifest) -> None:
    """Check what the columns do not say: labels of people are on the scale, and runs have no gap."""
    labels = frames["labels"]
    # What a model said beside the scale is kept, and counts as missing.
    people = ~labels["rater"].isin(list(manifest.models)).to_numpy(dtype=bool)
    scales = _scales(manifest)
    of = labels["aspect"] if "aspect" in labels else pd.Series(RELEVANCE, labels.index)
    if unknown := [aspect for aspect in of.unique() if aspect not in scales]:
        at = (of == unknown[0]).to_numpy()
        message = f"the aspect {unknown[0]!r} is not among the `aspects` of dataset.yaml"
        checker.report("labels", "aspect", at, lambda _: message)
    for aspect, scale in scales.items():
        checker.check_scale("labels", labels["label"], scale, people & (of == aspect).to_numpy(dtype=bool))
    if "runs" in frames:
        runs = frames["runs"]
        checker.check_places("runs", runs, "rank", _codes(runs, ("system", USER)), "the user's list")
        if not manifest.depth and not manifest.drawn:
            message = "has no labels; leave the user out, or give a `depth`"
            checker.check_known("runs", runs, USER, labels[USER], message)


def _scales(manifest: CollectionManifest) -> dict[str, Scale]:
    """Return the scale of each aspect."""
    further = {name: of.scale.scale() for name, of in manifest.aspects.items()}
    return {RELEVANCE: manifest.scale.scale(), **further}


def _frames(data: Collection) -> dict[str, pd.DataFrame | None]:
    labels = data.ratings.rename(columns={"rating": "label"})
    if len(data.aspects) == 1:
        labels = labels.drop(columns="aspect")
    known = {name: getattr(data, name) for name in ("items", "histories", "profiles")}
    return {"labels": labels, "runs": data.runs if len(data.runs) else None, **known}


def importer_of_labels(read: Callable[..., Files]) -> Callable[..., Imported[Collection]]:
    """Return a function that saves what ``read`` makes of files; see `importer`."""

    @wraps(read)
    def named(*arguments: object, **options: object) -> Files:
        return _named(read(*arguments, **options))

    return importer(FOLDER, named, _notes)


def _named(files: Files) -> Files:
    """Leave out items and profiles that no label, run or history names."""
    kept = {kind: t if isinstance(t, Table) else from_frame(t, kind) for kind, t in files.tables.items()}
    left_out = []
    for kind, key in (("items", ITEM), ("profiles", USER)):
        if kind not in kept or key not in kept[kind].frame.columns:
            continue
        table, others = kept[kind], [kept[k] for k in ("labels", "runs", "histories") if k in kept]
        named = pd.concat([_names(t, key) for t in others])
        known = pd.Series(text_column(table, key)[0], dtype="str").isin(named).to_numpy(dtype=bool)
        kept[kind] = Table(table.name, table.frame[known].reset_index(drop=True), table.rows[known])
        if not known.all():
            what = f"{counted(int((~known).sum()), 'row')} of {noun(key)}s"
            left_out.append(f"{table.name}: {what} that no other table names, left out")
    return Files(files.about, kept, (*files.notes, *left_out))


def _names(table: Table, key: str) -> pd.Series[str]:
    """Return the different values of a key column, as text; none if there is no such column."""
    if key not in table.frame.columns:
        return pd.Series(dtype="str")
    distinct = table.frame[[key]].drop_duplicates()
    return pd.Series(text_column(Table(table.name, distinct, table.rows), key)[0], dtype="str")


def _notes(data: Collection) -> list[str]:
    """Say what a judge would lack, and what it would see of the truth."""
    notes = []
    if data.histories is not None:
        without = ~data.units[USER].drop_duplicates().isin(data.histories[USER].unique())
        if without.any():
            notes.append(f"{counted(int(without.sum()), 'user')} with labels but without a history")
        judged = data.histories[[USER, ITEM]].merge(data.units, how="inner")
        if len(judged):
            rows = counted(len(judged), "row of histories", "rows of histories")
            notes.append(f"{rows} about items that the user labelled; judges do not see them")
    if data.items is not None:
        bare = ~data.units[ITEM].drop_duplicates().isin(data.items[ITEM])
        if bare.any():
            notes.append(f"{counted(int(bare.sum()), 'item')} with labels but without fields")
    if not len(data.runs):
        notes.append("no runs of systems: a study compares labels only")
    return notes


FOLDER: DataFolder[Collection] = DataFolder(CollectionManifest, tuple(_TABLES), ("labels",), _build, _frames)
save = FOLDER.save
load = FOLDER.load
collection_of = FOLDER.make
