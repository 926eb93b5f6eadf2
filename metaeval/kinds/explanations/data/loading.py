"""Load a data set of explanations: from a folder, the hub or a ``datasets.DatasetDict``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from metaeval.base.errors import DataError, shown
from metaeval.kinds.explanations.data.folder import checked_by, read_folder, save
from metaeval.kinds.explanations.data.frames import from_frames
from metaeval.kinds.files.folder import folder_of
from metaeval.sources.tables.table import from_frame

if TYPE_CHECKING:
    from pathlib import Path

    import datasets
    import pandas as pd

    from metaeval.base.errors import Problem
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

__all__ = ["from_frames", "load", "save"]

_SAVED = "dataset_dict.json"
"""What the `datasets` library leaves in a folder that it saved a DatasetDict to."""


def load(path: str | os.PathLike[str] | datasets.DatasetDict) -> ExplanationSet:
    """Load a data set from what `metaeval.load` takes.

    Raises
    ------
    DataError
        With every problem found in its ``problems``.
    """
    data, problems = _read(path)
    if data is None:
        raise DataError(problems, listed_by=checked_by(path))
    return data


def load_beside(folder: Path, scores: pd.DataFrame) -> ExplanationSet:
    """Load a data set from its folder with these recorded scores; errors are those of `load`."""
    data, problems = read_folder(folder, {"scores": from_frame(scores, "scores.parquet")})
    if data is None:
        raise DataError(problems, listed_by=checked_by(folder))
    return data


def _read(
    path: str | os.PathLike[str] | datasets.DatasetDict,
) -> tuple[ExplanationSet | None, list[Problem]]:
    if isinstance(path, Mapping):
        from metaeval.kinds.explanations.data.hf_datasets import read_datasets

        return read_datasets(path)
    if not isinstance(path, str | os.PathLike):
        raise DataError(
            "a data set is loaded from its folder, its hub name, a table or a datasets.DatasetDict, not from "
            f"{shown(path)}"
        )
    folder = folder_of(path)
    if (folder / _SAVED).is_file():
        from metaeval.kinds.explanations.data.hf_datasets import load_saved

        return load_saved(folder)
    return read_folder(folder)
