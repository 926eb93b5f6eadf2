"""Duels of slates as a folder: ``dataset.yaml`` and its tables, loaded, saved, made and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.records import FIRST
from metaeval.kinds.files.folder import DataFolder
from metaeval.kinds.slates.data.check import build
from metaeval.kinds.slates.data.manifest import SlateManifest
from metaeval.kinds.slates.data.slate_set import ORDER

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.kinds.slates.data.slate_set import SlateSet

_TABLES = ("duels", "slates", "items", "histories", "profiles", "scores")


def _frames(data: SlateSet) -> dict[str, pd.DataFrame | None]:
    duels = data.table[data.table[ORDER] == FIRST].drop(columns=ORDER)
    if not duels["repeat"].any():
        duels = duels.drop(columns="repeat")
    if duels["similarity"].isna().all():
        duels = duels.drop(columns="similarity")
    return {"duels": duels, **{name: getattr(data, name) for name in _TABLES[1:]}}


_FOLDER: DataFolder[SlateSet] = DataFolder(SlateManifest, _TABLES, _TABLES[:2], build, _frames)
refuse_if_in_the_way = _FOLDER.refuse_if_in_the_way
save = _FOLDER.save
load = _FOLDER.load
slate_set_of = _FOLDER.make
