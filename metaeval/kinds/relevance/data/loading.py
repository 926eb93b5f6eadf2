"""A collection as a folder: ``dataset.yaml`` and its tables, loaded, saved and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.errors import DataError
from metaeval.kinds.files.folder import DataFolder, checked_by, folder_of
from metaeval.kinds.relevance.data.check import build
from metaeval.kinds.relevance.data.manifest import CollectionManifest

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pandas as pd

    from metaeval.kinds.files.folder import Format
    from metaeval.kinds.relevance.data.collection import Collection

_TABLES = ("labels", "runs", "items", "histories", "profiles")


def _frames(data: Collection) -> dict[str, pd.DataFrame | None]:
    labels = data.ratings.drop(columns="aspect").rename(columns={"rating": "label"})
    known = {name: getattr(data, name) for name in _TABLES[2:]}
    return {"labels": labels, "runs": data.runs if len(data.runs) else None, **known}


_FOLDER: DataFolder[Collection] = DataFolder(CollectionManifest, _TABLES, _TABLES[:1], build, _frames)
refuse_if_in_the_way = _FOLDER.refuse_if_in_the_way


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


def save(
    data: Collection,
    folder: str | os.PathLike[str],
    format: Format = "parquet",  # noqa: A002 the word a caller expects
    *,
    force: bool = False,
) -> Path:
    """Write a collection as a folder; the folder is there in full or not at all.

    Parameters
    ----------
    data
        What to write.
    folder
        Where to. It may be absent or empty.
    format
        Of the tables: ``parquet``, ``csv`` or ``jsonl``.
    force
        Replace a collection that is there. A folder that holds anything else is never replaced.

    Raises
    ------
    DataError
        If the folder is in the way, or the format is none of the three.
    """
    return _FOLDER.save(data, folder, format, force=force)
