"""A collection as a folder: ``dataset.yaml`` and its tables, loaded, saved and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.errors import DataError
from metaeval.kinds.files.folder import DataFolder, checked_by, folder_of
from metaeval.kinds.relevance.data.check import build
from metaeval.kinds.relevance.data.manifest import CollectionManifest

if TYPE_CHECKING:
    import os

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


def load(place: str | os.PathLike[str]) -> Collection:
    """Load a collection from its folder, or from the hub.

    Raises
    ------
    DataError
        With every problem found in its ``problems``.
    """
    data, problems = _FOLDER.read(folder_of(place))
    if data is None:
        raise DataError(problems, listed_by=checked_by(place))
    return data
