"""A data set from DataFrames, checked like one from files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, sound
from metaeval.base.frames import flat
from metaeval.base.records import Scale
from metaeval.base.validation import model_of
from metaeval.kinds.explanations.data.check import build
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.kinds.explanations.data.manifest import Manifest
from metaeval.kinds.files.manifest import ScaleModel
from metaeval.sources.tables.columns import number_column
from metaeval.sources.tables.table import from_frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
    from metaeval.sources.tables.table import Table

_COLUMNS = (*KEYS, "explanation", "rater", "aspect", "rating", "evaluator", "score")


def from_frames(
    explanations: pd.DataFrame,
    ratings: pd.DataFrame,
    *,
    aspects: Mapping[str, Any] | None = None,
    scale: Scale | tuple[float, float] | None = None,
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
        The scale of the ratings; a pair of whole numbers is a scale of whole numbers. Left out: from the
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
    on = _scale(tables["ratings"], scale)
    about: dict[str, Any] = {
        "name": name,
        "licence": licence,
        "source": source,
        "language": language,
        "simulated": simulated,
        "keys": list(keys),
        "texts": "explanation" in tables["explanations"].frame.columns,
        "aspects": names | {n: {"statement": names[n], "scale": ScaleModel.of(s)} for n, s in on.own},
        "scale": {"min": on.min, "max": on.max, "integer": on.integer},
    }
    return sound(build(model_of(about, Manifest), tables))


def of_explanations(explanations: pd.DataFrame, aspects: Sequence[str] | None = None) -> ExplanationSet:
    """Return a data set without ratings, for which the questions and the scale are unknown.

    Parameters
    ----------
    explanations
        As for `from_frames`.
    aspects
        Names of aspects; "", which stands for all of them, if left out.
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


def _scale(ratings: Table, given: Scale | tuple[float, float] | None) -> Scale:
    if isinstance(given, Scale):
        return given
    if given is not None:
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
