"""Files, hub data sets and public studies → `ExplanationSet`; what is wrong is said with row and column."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.errors import DataError
from metaeval.sources.folder import read_folder, save
from metaeval.sources.frames import from_frames
from metaeval.sources.summary import Inspection, counts, summary

if TYPE_CHECKING:
    from metaeval.errors import Problem
    from metaeval.types import ExplanationSet

__all__ = ["Inspection", "check", "counts", "from_frames", "inspect", "load", "save", "summary"]


def load(path: str | os.PathLike[str]) -> ExplanationSet:
    """Load a data set.

    Parameters
    ----------
    path
        A data-set folder, or the name of one on the Hugging Face hub: ``owner/name``. What begins with the
        name of a folder that is there is taken for a path; ``hf://owner/name`` is always the hub.

    Raises
    ------
    DataError
        With every problem found in its ``problems``.
    """
    from metaeval.sources.hub import hub_folder, hub_name

    if not isinstance(path, str | os.PathLike):
        raise DataError(f"a data set is loaded from the path of its folder, not from {path!r}")
    name = hub_name(path)
    folder = Path(path) if name is None else hub_folder(name)
    data, problems = read_folder(folder)
    if data is None:
        raise DataError(problems)
    return data


def check(path: str | os.PathLike[str]) -> list[Problem]:
    """Return everything that is wrong with a data-set folder; an empty list if it can be loaded.

    Raises
    ------
    DataError
        If ``path`` is no folder.
    """
    return read_folder(Path(path))[1]


def inspect(path: str | os.PathLike[str]) -> Inspection:
    """Return the data set in a folder, or everything that is wrong with it.

    Raises
    ------
    DataError
        If ``path`` is no folder.
    """
    data, problems = read_folder(Path(path))
    return Inspection(data, tuple(problems))
