"""A collection as a folder: ``dataset.yaml`` and its tables, loaded, saved, made and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from metaeval.kinds.files.checks import FURTHER, NAME, NUMBER, DataColumn, DataTable, TableChecker, combine
from metaeval.kinds.files.folder import DataFolder
from metaeval.kinds.files.manifest import DataManifest, ScaleModel, about
from metaeval.kinds.relevance.data.collection import ITEM, KEYS, RELEVANCE, USER, Collection
from metaeval.sources.tables.entries import Name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from metaeval.base.errors import Problem
    from metaeval.sources.tables.table import Table

QUESTION = "How interested is the user in the item?"
_PAIR = dict.fromkeys(KEYS, NAME)
_LABEL = DataColumn(number=True, filled=False)
_KNOWN = ("labels", "runs", "histories"), "has no labels; leave the row out"
_TABLES = {
    "labels": DataTable({**_PAIR, "rater": NAME, "label": _LABEL}, "the label of", rows=True),
    "runs": DataTable({"system": NAME, **_PAIR, "rank": NUMBER, "score": FURTHER}, "the rank of"),
    "items": DataTable({ITEM: NAME}, "the item"),
    "histories": DataTable({**_PAIR, "rating": FURTHER, "timestamp": FURTHER}),
    "profiles": DataTable({USER: NAME}, "the user", refers={USER: _KNOWN}),
}


class CollectionManifest(DataManifest):
    """The keys of ``dataset.yaml`` of a collection: what raters were asked, the labels, what is a unit."""

    kind: Literal["relevance"] = Field()
    statement: Name = QUESTION
    scale: ScaleModel
    labels: dict[Name, Name] = Field(default_factory=dict)
    relevant: int | float = 1
    depth: int = Field(default=0, ge=0)
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
            raise ValueError(f"relevant: {self.relevant:g} is not on the scale; allowed are {scale}")
        return self

    @classmethod
    def of(cls, data: Collection) -> CollectionManifest:
        """Return the manifest of a collection in memory."""
        return cls(
            **about(data),
            kind="relevance",
            statement=data.aspects[RELEVANCE],
            scale=ScaleModel.of(data.scale),
            labels={str(label): name for label, name in data.labels.items()},
            relevant=data.relevant,
            depth=data.depth,
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
    labels.insert(3, "aspect", pd.Series(RELEVANCE, labels.index, "str"))
    no_runs = pd.DataFrame({name: pd.Series(dtype="str") for name in ("system", *KEYS)} | {"rank": []})
    runs = frames.get("runs", no_runs).astype({"rank": np.int64})
    units = [labels[[*KEYS]], runs.loc[runs["rank"] <= manifest.depth, [*KEYS]]]
    pairs = pd.concat(units if manifest.depth else units[:1], ignore_index=True)
    return Collection(
        table=pairs[~pd.Series(_codes(pairs, KEYS)).duplicated()].reset_index(drop=True),
        ratings=labels.rename(columns={"label": "rating"}),
        runs=runs,
        items=frames.get("items"),
        histories=frames.get("histories"),
        profiles=frames.get("profiles"),
        **about(manifest),
        aspects={RELEVANCE: manifest.statement},
        scale=manifest.scale.scale(),
        labels={int(label): name for label, name in manifest.labels.items()},
        relevant=manifest.relevant,
        depth=manifest.depth,
        models=tuple(manifest.models),
        scales={rater: scale.scale() for rater, scale in manifest.scales.items()},
        extra=dict(manifest.extra),
    ), []


def _codes(frame: pd.DataFrame, columns: tuple[str, ...]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return combine(np.zeros(len(frame), np.int64), *(frame[column] for column in columns))


def _check(checker: TableChecker, frames: Mapping[str, pd.DataFrame], manifest: CollectionManifest) -> None:
    """Check what the columns do not say: labels of people are on the scale, and runs have no gap."""
    labels = frames["labels"]
    # What a model said beside the scale is kept, and counts as missing.
    people = ~labels["rater"].isin(list(manifest.models)).to_numpy(dtype=bool)
    checker.check_scale("labels", labels["label"], manifest.scale.scale(), people)
    if "runs" in frames:
        runs = frames["runs"]
        checker.check_places("runs", runs, "rank", _codes(runs, ("system", USER)), "the user's list")
        if not manifest.depth:
            message = "has no labels; leave the user out, or give a `depth`"
            checker.check_known("runs", runs, USER, labels[USER], message)


def _frames(data: Collection) -> dict[str, pd.DataFrame | None]:
    labels = data.ratings.drop(columns="aspect").rename(columns={"rating": "label"})
    known = {name: getattr(data, name) for name in ("items", "histories", "profiles")}
    return {"labels": labels, "runs": data.runs if len(data.runs) else None, **known}


FOLDER: DataFolder[Collection] = DataFolder(CollectionManifest, tuple(_TABLES), ("labels",), _build, _frames)
save = FOLDER.save
load = FOLDER.load
collection_of = FOLDER.make
