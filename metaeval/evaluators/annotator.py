"""People's ratings as evaluators: annotators, and the users themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from metaeval.base.errors import DataError, SpecError, nearest
from metaeval.base.records import USER_RATER, DataSet, Kind
from metaeval.evaluators.base import BaseEvaluator, check_text
from metaeval.evaluators.grid import Grid, grid_of


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

    name: str

    @classmethod
    def found_in(cls, data: DataSet) -> list[str]:
        """Return those of the data."""
        return sorted({str(r) for r in data.ratings["rater"].unique()} - {USER_RATER})

    def __post_init__(self) -> None:
        check_text("Annotator", "name", self.name)
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
