"""Files, hub data sets and public studies → `ExplanationSet`; what is wrong is said with row and column."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import DataError
from metaeval.base.resources import to_read
from metaeval.kinds.explanations.data.folder import checked_by, read_folder, save
from metaeval.kinds.explanations.data.frames import from_frames
from metaeval.kinds.explanations.data.recorded import add_scores
from metaeval.kinds.explanations.data.summary import Inspection, counts, summary

if TYPE_CHECKING:
    import datasets

    from metaeval.base.errors import Problem
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

SAVED = "dataset_dict.json"
"""What the `datasets` library leaves in a folder that it saved a DatasetDict to."""

__all__ = ["Inspection", "add_scores", "check", "counts", "from_frames", "inspect", "load", "save", "summary"]


def load(path: str | os.PathLike[str] | datasets.DatasetDict) -> ExplanationSet:
    """Load a data set.

    Parameters
    ----------
    path
        A data-set folder, a folder that ``DatasetDict.save_to_disk`` wrote, the ``datasets.DatasetDict``
        itself (see `metaeval.to_datasets`), or the name of a data set on the Hugging Face hub:
        ``hf://owner/name``, with ``@`` and a branch, tag or commit if it is not to be the newest.
        ``owner/name`` does as well, unless it begins with the name of a folder that is there.
        ``data/sample`` is the sample that ships with the package, unless there is such a folder.

    Raises
    ------
    DataError
        With every problem found in its ``problems``.
    """
    data, problems = _read(path)
    if data is None:
        raise DataError(problems, listed_by=checked_by(path))
    return data


def check(path: str | os.PathLike[str] | datasets.DatasetDict) -> list[Problem]:
    """Return everything that is wrong with a data set; an empty list if it can be loaded.

    Raises
    ------
    DataError
        If ``path`` is nothing that `load` takes.
    """
    return _read(path)[1]


def inspect(path: str | os.PathLike[str] | datasets.DatasetDict) -> Inspection:
    """Return a data set, or everything that is wrong with it.

    Raises
    ------
    DataError
        If ``path`` is nothing that `load` takes.
    """
    data, problems = _read(path)
    return Inspection(data, tuple(problems))


def _read(
    path: str | os.PathLike[str] | datasets.DatasetDict,
) -> tuple[ExplanationSet | None, list[Problem]]:
    from metaeval.sources.hub.repository import hub_folder, hub_name

    if isinstance(path, Mapping):
        from metaeval.kinds.explanations.data.hf_datasets import read_datasets

        return read_datasets(path)
    if not isinstance(path, str | os.PathLike):
        raise DataError(
            f"a data set is loaded from its folder, its hub name or a datasets.DatasetDict, not from {path!r}"
        )
    path = to_read(path)
    name = hub_name(path)
    folder = Path(path) if name is None else hub_folder(name)
    if (folder / SAVED).is_file():
        from metaeval.kinds.explanations.data.hf_datasets import load_saved

        return load_saved(folder)
    return read_folder(folder)
