"""People's ratings as evaluators: annotators, and the users themselves."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metaeval.base.errors import DataError, SpecError, nearest, needed
from metaeval.base.records import USER_RATER, DataSet, Kind
from metaeval.evaluators.base import BaseEvaluator, text
from metaeval.evaluators.ensemble import Ensemble
from metaeval.evaluators.grid import FloatArray, Grid, grid_of


@dataclass(frozen=True, repr=False)
class Annotator(BaseEvaluator):
    """The ratings of one annotator.

    There is a row for each unit and aspect that the annotator was asked about; an unanswered question is
    ``missing``.

    Parameters
    ----------
    name
        The rater's name in the ratings.
    """

    kind: ClassVar[Kind] = Kind.ANNOTATOR
    needs: ClassVar[str] = "ratings of that rater"

    name: str = text()

    @classmethod
    def found_in(cls, data: DataSet) -> list[str]:
        """Return those of the data."""
        return sorted({str(r) for r in data.ratings["rater"].unique()} - {USER_RATER})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name == USER_RATER:
            raise SpecError(f"Annotator({USER_RATER!r}): the users' own ratings are written User()")

    def grid(self, data: DataSet, aspects: Sequence[str]) -> Grid:
        """Return the annotator's ratings."""
        return ratings_of(data, aspects, self.name, self)

    def signature(self, data: DataSet) -> Mapping[str, Any]:
        """Return the rater and the scale."""
        return {"rater": self.name, "scale": str(data.scale)}


@dataclass(frozen=True, repr=False)
class User(BaseEvaluator):
    """The ratings of the person whom the item was recommended to; mostly the truth of a study."""

    kind: ClassVar[Kind] = Kind.ANNOTATOR
    needs: ClassVar[str] = "ratings of the users"

    def grid(self, data: DataSet, aspects: Sequence[str]) -> Grid:
        """Return the users' ratings."""
        return ratings_of(data, aspects, USER_RATER, self)

    def signature(self, data: DataSet) -> Mapping[str, Any]:
        """Return the rater and the scale."""
        return {"rater": USER_RATER, "scale": str(data.scale)}


def ratings_of(data: DataSet, aspects: Sequence[str], rater: str, evaluator: object) -> Grid:
    """Return the ratings of one rater; raise `DataError` for ``evaluator`` if there are none."""
    by_rater = data.ratings[data.ratings["rater"] == rater]
    if by_rater.empty:
        raters = sorted(map(str, data.ratings["rater"].unique()))
        there_are = f"its raters are {', '.join(map(repr, raters))}" if raters else "it has no ratings"
        raise DataError(
            f"{evaluator}: data set {data.name!r} has no ratings of {rater!r}; "
            f"{there_are}{nearest(rater, raters)}"
        )
    chosen = by_rater[by_rater["aspect"].isin(list(aspects))]
    if chosen.empty:
        rated = ", ".join(map(repr, by_rater["aspect"].unique()))
        raise DataError(f"{evaluator} rated {rated}, not {', '.join(map(repr, aspects))}")
    frame = chosen.rename(columns={"rating": "score"})
    if "status" in frame:
        frame = frame.drop(columns="status")
    return grid_of(frame, data, aspects, f"the ratings of {rater!r}")


@dataclass(frozen=True, repr=False, init=False)
class Crowd(Ensemble):
    """The label that a model of raters finds likeliest, of whole numbers or words.

    The model learns from all units of an aspect how reliable each part is; thousands take minutes. A unit
    that some parts have not labelled needs ``skip_missing=True``.
    """

    needs: ClassVar[str] = "other evaluators; metaeval[crowd]"
    options: ClassVar[dict[str, Any]] = {"n_iter": 25}

    def check(self, data: DataSet, aspects: Sequence[str]) -> None:
        """Raise `MissingExtraError` without crowd-kit."""
        del data, aspects
        needed("crowdkit.aggregation", type(self).__name__, "crowd")

    def middle(self, values: FloatArray, *, words: bool) -> FloatArray:
        """Return the likeliest label of each column; `DataError` if a value is no whole number."""
        import crowdkit.aggregation as models
        import pandas as pd

        name = type(self).__name__
        if (values[~np.isnan(values)] % 1).any():
            raise DataError(f"{name} takes labels, which are whole numbers or words; a rating is a fraction")
        worker, task = np.nonzero(~np.isnan(values))
        labels = values[worker, task].astype(np.int64)
        table = pd.DataFrame({"task": task, "worker": worker, "label": labels})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its use of pandas
            found = getattr(models, name)(**self.options).fit_predict(table)
        labelled: FloatArray = found.reindex(range(values.shape[1])).to_numpy(dtype=np.float64)
        return labelled


class DawidSkene(Crowd):
    """The likeliest label where each rater confuses labels in a way of their own (Dawid & Skene 1979)."""


class MACE(Crowd):
    """The likeliest label where each rater now and then does not look (Hovy et al. 2013)."""

    options: ClassVar[dict[str, Any]] = {"n_iter": 20, "n_restarts": 1, "random_state": 0}


class GLAD(Crowd):
    """The likeliest label where units are hard and raters able to some degree (Whitehill et al. 2009)."""

    options: ClassVar[dict[str, Any]] = {"n_iter": 10, "silent": True}
