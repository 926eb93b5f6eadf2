"""Means, medians and majorities of other evaluators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metaeval.base.errors import SpecError
from metaeval.base.records import DataSet, Evaluator, Kind, ScoreTable, Status
from metaeval.base.spec import Argument, EvaluatorSpec
from metaeval.evaluators.base import BaseEvaluator, flag
from metaeval.evaluators.grid import CODES, NO_ROW, OK, FloatArray, Grid, frame_of, grid_of
from metaeval.stats.coefficients.tables import exact_mean

_EXAMPLE = CODES[Status.EXAMPLE]


@dataclass(frozen=True, repr=False, init=False)
class Ensemble(BaseEvaluator):
    """An evaluator made of others, unit by unit and aspect by aspect.

    Where a part has no score, neither has the ensemble: its status is that of the first such part, and
    ``missing`` where that part has no row. With ``skip_missing`` the parts that have a score are enough.
    A unit that is an ``example`` of any part is one of the ensemble.

    An ensemble of people only stands in the block of annotators.

    Parameters
    ----------
    *parts
        One evaluator or more; one given twice counts twice.
    skip_missing
        Whether to leave parts without a score out.
    """

    needs: ClassVar[str] = "other evaluators"

    parts: tuple[Evaluator, ...]
    skip_missing: bool = flag()

    def __init__(self, *parts: Evaluator, skip_missing: bool = False) -> None:
        name = type(self).__name__
        if not parts:
            raise SpecError(
                f"{name} takes one evaluator or more, such as {name}(Annotator('1'), Annotator('2'))"
            )
        for part in parts:
            if not (hasattr(part, "spec") and hasattr(part, "score")):
                raise SpecError(f"{name} takes evaluators, such as Annotator('1'), not {part!r}")
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "skip_missing", skip_missing)
        self.__post_init__()

    @property
    def kind(self) -> Kind:
        """Annotator if all parts are, else ensemble."""
        people = all(part.kind == Kind.ANNOTATOR for part in self.parts)
        return Kind.ANNOTATOR if people else Kind.ENSEMBLE

    def _derived_spec(self) -> EvaluatorSpec:
        kwargs: dict[str, Argument] = {"skip_missing": True} if self.skip_missing else {}
        return EvaluatorSpec(type(self).__name__, tuple(p.spec for p in self.parts), kwargs)

    def signature(self, data: DataSet) -> Mapping[str, Any]:
        """Return the parts' signatures by their specs."""
        return {
            "skip_missing": self.skip_missing,
            "parts": {str(p.spec): dict(p.signature(data)) for p in self.parts},
        }

    def grid(self, data: DataSet, aspects: Sequence[str]) -> Grid:
        """Score the parts and combine them."""
        return self._combined([p.score(data, aspects) for p in self.parts], data, aspects)

    def combine(self, tables: Sequence[ScoreTable], data: DataSet, aspects: Sequence[str]) -> ScoreTable:
        """Return the ensemble's scores from those of its parts, given in their order."""
        name = str(self.spec)
        frame = frame_of(self._combined(tables, data, aspects), data, aspects, name)
        return ScoreTable(frame, {}, {name: self.kind})

    def _combined(self, tables: Sequence[ScoreTable], data: DataSet, aspects: Sequence[str]) -> Grid:
        self.check(data, aspects)
        grids = [
            grid_of(table.frame, data, aspects, f"the scores of {part.spec}")
            for table, part in zip(tables, self.parts, strict=True)
        ]
        codes = np.stack([g.codes for g in grids])
        scored = codes == OK
        complete = scored.any(axis=0) if self.skip_missing else scored.all(axis=0)
        first_failing = np.take_along_axis(codes, np.argmin(scored, axis=0)[None], axis=0)[0]
        first_failing = np.where(first_failing == NO_ROW, CODES[Status.MISSING], first_failing)
        result = np.where(complete, OK, first_failing)
        result[(codes == _EXAMPLE).any(axis=0)] = _EXAMPLE
        result[(codes == NO_ROW).all(axis=0)] = NO_ROW
        scores = np.full(result.shape, np.nan)
        wanted = result == OK
        given = np.where(scored, np.stack([g.scores for g in grids]), np.nan)
        for a, aspect in enumerate(aspects):
            if (units := wanted[:, a]).any():
                words = bool(data.scale.of(aspect).labels)
                scores[units, a] = self.middle(given[:, units, a], words=words)
        result[wanted & np.isnan(scores)] = CODES[Status.MISSING]
        return Grid(scores, result.astype(np.int8))

    def check(self, data: DataSet, aspects: Sequence[str]) -> None:
        """Raise `DataError` if scores of these aspects cannot be combined."""
        data.scale.check_numbers(aspects, "mean")

    @abstractmethod
    def middle(self, values: FloatArray, *, words: bool) -> FloatArray:
        """Return a value per column of ``values`` (parts × units), of one aspect; NaN: there is none.

        NaN is left out; no column is all NaN. ``words``: values are codes of words.
        """


@dataclass(frozen=True, repr=False, init=False)
class Mean(Ensemble):
    """The mean of other evaluators' scores.

    Means that are equal on paper tie, whatever the parts and their order.
    """

    def middle(self, values: FloatArray, *, words: bool) -> FloatArray:
        """Return the mean of each column."""
        return exact_mean(values)


@dataclass(frozen=True, repr=False, init=False)
class Median(Ensemble):
    """The median of other evaluators' scores; for an even number of them the mean of the middle two."""

    def middle(self, values: FloatArray, *, words: bool) -> FloatArray:
        """Return the median of each column."""
        ordered = np.sort(values, axis=0)  # NaN last
        counts = np.count_nonzero(~np.isnan(values), axis=0)
        cells = np.arange(values.shape[1])
        return exact_mean(np.stack([ordered[(counts - 1) // 2, cells], ordered[counts // 2, cells]]))


@dataclass(frozen=True, repr=False, init=False)
class Majority(Ensemble):
    """The score that most of the other evaluators give; where several are as frequent, their mean.

    Words have no mean: a unit whose most frequent words are several has no score.
    """

    def check(self, data: DataSet, aspects: Sequence[str]) -> None:
        """Do nothing: words have a majority, too."""

    def middle(self, values: FloatArray, *, words: bool) -> FloatArray:
        """Return the most frequent value of each column."""
        votes = (values[:, None] == values[None]).sum(axis=1)  # how many parts gave what this part gave
        most = np.where(np.isnan(values), -1, votes).max(axis=0)
        winners = np.where((votes == most) & ~np.isnan(values), values, np.nan)
        # One of each value: those that an earlier part gave too are left out.
        repeated = np.array([(winners[:i] == winners[i]).any(axis=0) for i in range(len(winners))])
        distinct = np.where(repeated, np.nan, winners)
        found = exact_mean(distinct)
        return np.where((~np.isnan(distinct)).sum(axis=0) > 1, np.nan, found) if words else found
