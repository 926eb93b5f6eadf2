"""A collection as a folder: ``dataset.yaml`` and its tables, loaded, saved, made and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.kinds.files.folder import DataFolder
from metaeval.kinds.relevance.data.check import build
from metaeval.kinds.relevance.data.manifest import CollectionManifest

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.kinds.relevance.data.collection import Collection

_TABLES = ("labels", "runs", "items", "histories", "profiles")


def _frames(data: Collection) -> dict[str, pd.DataFrame | None]:
    labels = data.ratings.drop(columns="aspect").rename(columns={"rating": "label"})
    known = {name: getattr(data, name) for name in _TABLES[2:]}
    return {"labels": labels, "runs": data.runs if len(data.runs) else None, **known}


_FOLDER: DataFolder[Collection] = DataFolder(CollectionManifest, _TABLES, _TABLES[:1], build, _frames)
refuse_if_in_the_way = _FOLDER.refuse_if_in_the_way
save = _FOLDER.save
load = _FOLDER.load
collection_of = _FOLDER.make
