"""A data set of explanations as a folder: ``dataset.yaml`` and its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.kinds.explanations.data.check import build
from metaeval.kinds.explanations.data.manifest import Manifest
from metaeval.kinds.files.folder import FORMATS, DataFolder, Format, checked_by

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

__all__ = ["FORMATS", "Format", "checked_by", "read_folder", "refuse_if_in_the_way", "save"]

_TABLES = ("explanations", "ratings", "scores", "users")
_FOLDER: DataFolder[ExplanationSet] = DataFolder(
    Manifest, _TABLES, _TABLES[:2], build, lambda data: {name: getattr(data, name) for name in _TABLES}
)
read_folder = _FOLDER.read
refuse_if_in_the_way = _FOLDER.refuse_if_in_the_way


def save(
    data: ExplanationSet,
    folder: str | os.PathLike[str],
    format: Format = "parquet",  # noqa: A002 the word a caller expects
    *,
    force: bool = False,
) -> Path:
    """Write a data set as a folder; the folder is there in full or not at all.

    Parameters
    ----------
    data
        What to write.
    folder
        Where to. It may be absent or empty.
    format
        Of the tables: ``parquet``, ``csv`` or ``jsonl``.
    force
        Replace a data set that is there. A folder that holds anything else is never replaced.

    Raises
    ------
    DataError
        If the folder is in the way, or the format is none of the three.
    """
    return _FOLDER.save(data, folder, format, force=force)
