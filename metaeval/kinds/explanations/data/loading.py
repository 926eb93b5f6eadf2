"""Load a data set of explanations: from a folder, the hub or a ``datasets.DatasetDict``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, Problem, shown, sound
from metaeval.base.frames import flat
from metaeval.base.records import Scale
from metaeval.base.validation import model_of
from metaeval.data.checks import worded
from metaeval.data.folder import DataFolder, checked_by, folder_of
from metaeval.data.manifest import RatingScale
from metaeval.data.tables.columns import number_column
from metaeval.data.tables.maps import KEYS
from metaeval.data.tables.table import Table, from_frame
from metaeval.kinds.explanations.data.check import REPEATS, build
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet, Manifest

if TYPE_CHECKING:
    from pathlib import Path

    import datasets


_COLUMNS = (*KEYS, "explanation", "rater", "aspect", "rating", "evaluator", "score")


def from_frames(
    explanations: pd.DataFrame,
    ratings: pd.DataFrame,
    *,
    aspects: Mapping[str, Any] | None = None,
    scale: Scale | tuple[float, float] | Sequence[str] | None = None,
    users: pd.DataFrame | None = None,
    scores: pd.DataFrame | None = None,
    name: str = "unnamed",
    licence: str = "",
    source: str = "",
    language: str = "",
    simulated: bool = False,
    keys: Sequence[str] = (),
) -> ExplanationSet:
    """Return a data set from DataFrames with the columns of the files of the same names.

    Parameters
    ----------
    explanations
        One row per unit: ``user_id`` (left out in a study without users), ``item_id``, ``generator``,
        ``explanation`` (left out in a study without texts) and any further columns.
    ratings
        Long: the key columns, ``rater``, ``aspect``, ``rating``.
    aspects
        Name → the statement that raters saw, or ``{"statement": …, "scale": {"min": …, "max": …}}`` for an
        aspect with a scale of its own. Left out: the aspects found in ``ratings``, in the order of
        their first row, each with its name as its statement.
    scale
        The scale of the ratings; a pair of whole numbers is a scale of whole numbers. If ratings are words
        in no order: a list of all of them. Left out: from the
        least to the greatest rating, in whole numbers if all ratings are whole. That is a guess: a value
        that no one chose is not seen.
    users, scores
        Profiles, and scores recorded from other tools.
    name, licence, source, language, simulated
        What ``dataset.yaml`` would say.
    keys
        The columns that name a unit, if they are others than ``user_id``, ``item_id`` and ``generator``.

    Raises
    ------
    DataError
        With every problem found; rows are counted as in a spreadsheet, the first has number 2.
    """
    given = {"explanations": explanations, "ratings": ratings, "scores": scores, "users": users}
    tables: dict[str, Table] = {}
    for kind, frame in given.items():
        if frame is None:
            continue
        if not isinstance(frame, pd.DataFrame):
            raise DataError(f"{kind} must be a DataFrame, not a {type(frame).__name__}")
        tables[kind] = from_frame(flat(frame, (*_COLUMNS, *keys)), kind)
    names = _aspects(tables["ratings"]) if aspects is None else dict(aspects)
    whole = scale is None and all(isinstance(a, Mapping) and "scale" in a for a in names.values())
    on = Scale(0, 1) if whole else _scale(tables["ratings"], scale)
    ends = {"min": on.min, "max": on.max, "integer": on.integer}
    about: dict[str, Any] = {
        "name": name,
        "licence": licence,
        "source": source,
        "language": language,
        "simulated": simulated,
        "keys": list(keys),
        "texts": "explanation" in tables["explanations"].frame.columns,
        "aspects": names | {n: {"statement": names[n], "scale": RatingScale.of(s)} for n, s in on.own},
        "scale": None if whole else {"labels": [*on.labels]} if on.labels else ends,
    }
    return sound(build(model_of(about, Manifest), tables))


def of_explanations(explanations: pd.DataFrame, aspects: Sequence[str] | None = None) -> ExplanationSet:
    """Return a data set of explanations without ratings: the questions and the scale are unknown.

    Without ``aspects`` its one aspect is "", which stands for all of them.
    """
    plain = flat(explanations, _COLUMNS)
    columns = [*(k for k in KEYS if k in plain.columns), "rater", "aspect", "rating"]
    ratings = pd.DataFrame(columns=columns, dtype=object).astype({"rating": "float64"})
    # No scale is known; any will do for ratings that are not there.
    names = {name: name for name in aspects or ["all"]}
    data = from_frames(plain, ratings, aspects=names, scale=Scale(0, 1, integer=False))
    return data if aspects else replace(data, aspects={"": ""})


def _aspects(ratings: Table) -> dict[str, str]:
    if "aspect" not in ratings.frame.columns:
        return {"unknown": "unknown"}  # the missing column is reported by the check
    names = [str(a) for a in ratings.frame["aspect"].dropna().unique() if str(a).strip()]
    if not names:
        raise DataError("ratings has no rows to take the aspects from; give aspects={'name': 'statement'}")
    return {name: name for name in names}


def _scale(ratings: Table, given: Scale | tuple[float, float] | Sequence[str] | None) -> Scale:
    if isinstance(given, Scale):
        return given
    if given is not None:
        if any(isinstance(word, str) for word in given):
            return Scale(0, len(given) - 1, labels=tuple(map(str, given)))
        low, high = map(float, given)
        return Scale(low, high, low.is_integer() and high.is_integer())
    if "rating" not in ratings.frame.columns:
        return Scale(0, 1, integer=False)  # the missing column is reported by the check
    numbers = sound(number_column(ratings, "rating"))
    observed = np.unique(numbers[~np.isnan(numbers)])
    if len(observed) < 2:
        raise DataError(
            "the scale cannot be inferred from fewer than two different ratings; give scale=(1, 5)"
        )
    whole = bool((observed == np.round(observed)).all())
    return Scale(float(observed[0]), float(observed[-1]), whole)


__all__ = ["from_frames", "load", "read_folder", "refuse_if_in_the_way", "save"]

_SAVED = "dataset_dict.json"
"""What the `datasets` library leaves in a folder that it saved a DatasetDict to."""
_TABLES = ("explanations", "ratings", "scores", "users", REPEATS)
FOLDER: DataFolder[ExplanationSet] = DataFolder(
    Manifest,
    _TABLES,
    _TABLES[:2],
    build,
    lambda data: {
        "explanations": data.explanations,
        "ratings": worded(data.ratings, "rating", data.scale),
        "scores": worded(data.scores, "score", data.scale),
        "users": data.users,
        REPEATS: worded(data.repeats, "rating", data.scale),
    },
)
read_folder = FOLDER.read
refuse_if_in_the_way = FOLDER.refuse_if_in_the_way
save = FOLDER.save


def load(path: str | os.PathLike[str] | datasets.DatasetDict) -> ExplanationSet:
    """Load a data set from what `metaeval.load` takes; `DataError` has every problem found."""
    return sound(_read(path), listed_by=checked_by(path))


def load_beside(folder: Path, scores: pd.DataFrame) -> ExplanationSet:
    """Load a data set from its folder with these recorded scores; errors are those of `load`."""
    held = {"scores": from_frame(scores, "scores.parquet")}
    return sound(read_folder(folder, held), listed_by=checked_by(folder))


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
