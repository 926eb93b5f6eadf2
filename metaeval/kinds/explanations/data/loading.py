"""Load a data set: from a folder, the hub or a ``datasets.DatasetDict``; or say all that is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from metaeval.base.counts import counted, plural_of
from metaeval.base.errors import DataError
from metaeval.base.keys import noun
from metaeval.base.resources import to_read
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.kinds.explanations.data.folder import checked_by, read_folder, save
from metaeval.kinds.explanations.data.frames import from_frames
from metaeval.sources.hub.repository import hub_folder, hub_name

if TYPE_CHECKING:
    import datasets

    from metaeval.base.errors import Problem
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

__all__ = ["Inspection", "counts", "from_frames", "inspect", "load", "save", "summary"]

_SAVED = "dataset_dict.json"
"""What the `datasets` library leaves in a folder that it saved a DatasetDict to."""


class Inspection(NamedTuple):
    """The outcome of a check: a data set, or every problem found."""

    data: ExplanationSet | None
    problems: tuple[Problem, ...]

    def lines(self) -> list[str]:
        """Return one line per problem, or the summary if there is none."""
        return [str(p) for p in self.problems] if self.data is None else [summary(self.data)]

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain JSON values."""
        found: dict[str, Any] = {
            "ok": self.data is not None,
            "problems": [p._asdict() for p in self.problems],
        }
        if self.data is not None:
            found |= {
                "name": self.data.name,
                "simulated": self.data.simulated,
                "counts": {k.replace(" ", "_"): v for k, v in counts(self.data).items()},
                "fingerprint": self.data.fingerprint,
            }
        return found


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
    found = inspect(path)
    if found.data is None:
        raise DataError(found.problems, listed_by=checked_by(path))
    return found.data


def inspect(path: str | os.PathLike[str] | datasets.DatasetDict) -> Inspection:
    """Return the data set that `load` takes, or everything that is wrong with it."""
    data, problems = _read(path)
    return Inspection(data, tuple(problems))


def _read(
    path: str | os.PathLike[str] | datasets.DatasetDict,
) -> tuple[ExplanationSet | None, list[Problem]]:
    if isinstance(path, Mapping):
        from metaeval.kinds.explanations.data.hf_datasets import read_datasets

        return read_datasets(path)
    if not isinstance(path, str | os.PathLike):
        raise DataError(
            f"a data set is loaded from its folder, its hub name or a datasets.DatasetDict, not from {path!r}"
        )
    name = hub_name(path := to_read(path))
    folder = Path(path) if name is None else hub_folder(name)
    if (folder / _SAVED).is_file():
        from metaeval.kinds.explanations.data.hf_datasets import load_saved

        return load_saved(folder)
    return read_folder(folder)


def counts(data: ExplanationSet) -> dict[str, int]:
    """Return how many units, values of each key, aspects, raters, evaluators and gaps there are."""
    scores, given = data.scores, data.ratings["rating"].notna()
    return {
        "units": len(data),
        **({} if data.named_by else {plural_of(noun(k)): 0 for k in KEYS}),
        **{plural_of(noun(k)): data.units[k].nunique() for k in data.keys},
        "aspects": len(data.aspects),
        "raters": len(data.raters),
        "recorded evaluators": 0 if scores is None else scores["evaluator"].nunique(),
        "ratings": int(given.sum()),
        "missing ratings": int((~given).sum()),
    }


def summary(data: ExplanationSet) -> str:
    """Return the counts as one line; it says so if the study is simulated."""
    one = {plural_of(noun(k)): noun(k) for k in (*KEYS, *data.keys)}
    told = (counted(n, one.get(what, what.removesuffix("s"))) for what, n in counts(data).items())
    return f"{data.name}{' (simulated)' if data.simulated else ''}: {', '.join(told)}"
