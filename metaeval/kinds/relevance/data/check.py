"""What is wrong with the tables of a collection, cell by cell; and the collection, if nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.kinds.files.checks import TableChecker, combine, duplicates, strings
from metaeval.kinds.files.manifest import about
from metaeval.kinds.relevance.data.collection import ITEM, KEYS, RELEVANCE, USER, Collection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.base.errors import Problem
    from metaeval.kinds.relevance.data.manifest import CollectionManifest
    from metaeval.sources.tables.table import Table

_NAMES = {
    "labels": (*KEYS, "rater"),
    "runs": ("system", *KEYS),
    "items": (ITEM,),
    "histories": KEYS,
    "profiles": (USER,),
}
"""Columns of a table that say what a row is about; none may be empty."""
_NUMBERS = {"labels": ("label",), "runs": ("rank", "score"), "histories": ("rating", "timestamp")}
_NEEDED = {"labels": ("label",), "runs": ("rank",)}
_ONCE = {"labels": "the label of", "runs": "the rank of", "items": "the item", "profiles": "the user"}
"""Tables in which no two rows are about the same, and what a row is."""


def build(
    manifest: CollectionManifest, tables: Mapping[str, Table]
) -> tuple[Collection | None, list[Problem]]:
    """Return the collection that the tables make and no problem, or None and every problem found.

    The tables are ``labels`` and, where there are any, ``runs``, ``items``, ``histories`` and ``profiles``.
    """
    checker = _Checker(manifest, tables)
    frames = checker.run()
    if checker.problems:
        return None, checker.problems
    labels, runs = frames["labels"], frames.get("runs", _no_runs())
    labels.insert(len(_NAMES["labels"]), "aspect", pd.Series(RELEVANCE, labels.index, "str"))
    return Collection(
        table=_units(labels, runs, manifest.depth),
        ratings=labels.rename(columns={"label": "rating"}),
        runs=runs.astype({"rank": np.int64}),
        items=frames.get("items"),
        histories=frames.get("histories"),
        profiles=frames.get("profiles"),
        **about(manifest),
        aspects={RELEVANCE: manifest.statement},
        scale=manifest.scale.scale(),
        labels={int(label): called for label, called in manifest.labels.items()},
        relevant=manifest.relevant,
        depth=manifest.depth,
        models=tuple(manifest.models),
        extra=dict(manifest.extra),
    ), []


def _no_runs() -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(dtype="str") for name in _NAMES["runs"]} | {"rank": []})


def _units(labels: pd.DataFrame, runs: pd.DataFrame, depth: int) -> pd.DataFrame:
    pairs = pd.concat(
        [labels[[*KEYS]], runs.loc[runs["rank"] <= depth, [*KEYS]]] if depth else [labels[[*KEYS]]],
        ignore_index=True,
    )
    codes = pd.Series(combine(np.zeros(len(pairs), np.int64), *(pairs[k] for k in KEYS)))
    return pairs[~codes.duplicated()].reset_index(drop=True)


class _Checker(TableChecker):
    def __init__(self, manifest: CollectionManifest, tables: Mapping[str, Table]) -> None:
        super().__init__(tables)
        self.manifest = manifest

    def run(self) -> dict[str, pd.DataFrame]:
        for kind in self.tables:
            self.check_columns(kind, (*_NAMES[kind], *_NEEDED.get(kind, ())))
        if self.problems:
            return {}
        frames = {
            kind: self.read(kind, (*_NAMES[kind], *_NUMBERS.get(kind, ())), _NUMBERS.get(kind, ()), strings)
            for kind in self.tables
        }
        for kind, frame in frames.items():
            self.check_filled(kind, frame, _NAMES[kind])
            if kind in _ONCE:
                names = frame[list(_NAMES[kind])]
                self.problems += duplicates(self.tables[kind], names, _ONCE[kind])
        self._check_labels(frames["labels"])
        if "runs" in frames:
            self._check_runs(frames["runs"], frames["labels"])
        if "profiles" in frames:
            known = pd.concat([frames[k][USER] for k in ("labels", "runs", "histories") if k in frames])
            self.check_known("profiles", frames["profiles"], USER, known, "has no labels; leave the row out")
        return frames

    def _check_labels(self, frame: pd.DataFrame) -> None:
        if not len(frame):
            self.report_table("labels", "has a header but no rows")
        # What a model said beside the scale is kept, and counts as missing.
        people = ~frame["rater"].isin(list(self.manifest.models)).to_numpy(dtype=bool)
        self.check_scale("labels", frame["label"], self.manifest.scale.scale(), people)

    def _check_runs(self, frame: pd.DataFrame, labels: pd.DataFrame) -> None:
        self.check_filled("runs", frame, ["rank"])
        lists = combine(np.zeros(len(frame), np.int64), frame["system"], frame[USER])
        self.check_places("runs", frame, "rank", lists, "the user's list")
        if not self.manifest.depth:
            message = "has no labels; leave the user out, or give a `depth`"
            self.check_known("runs", frame, USER, labels[USER], message)
