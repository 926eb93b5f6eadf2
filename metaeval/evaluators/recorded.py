"""Scores that another tool gave, as they stand in the data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, SpecError, nearest
from metaeval.base.records import SAMPLES, SHARE, DataSet, Kind, ScoreTable
from metaeval.evaluators.base import BaseEvaluator, text
from metaeval.evaluators.grid import NO_ROW, FloatArray, Grid, grid_of
from metaeval.evaluators.people import Shared, check_shares, middle_of, shares_of

ORIGINS = "recorded_from"
"""The key under `extra` of a data set that says of recorded evaluators where their scores come from."""
_ALL_ASPECTS = ""
_LISTED = 20  # names in an error


@dataclass(frozen=True, repr=False)
class Recorded(BaseEvaluator):
    """The scores recorded in the data set under a name.

    There is a row for each unit and aspect that has one in the data; NaN is ``missing``. A score with an
    empty aspect holds for every aspect that has no score of its own. A column ``confidence`` (0 … 1) says how
    sure the tool was: `metaeval calibrate` and `metaeval escalate` use it. Columns ``p(1)``, ``p(2)``, … have
    the probability of each value, and ``sample_values`` several draws with blanks between them: the
    distribution that `truth: People()` compares; a score that is empty is then its mean.

    Parameters
    ----------
    name
        The evaluator's name in the recorded scores.
    """

    kind: ClassVar[Kind] = Kind.RECORDED
    needs: ClassVar[str] = "scores in the data set"

    name: str = text()

    @classmethod
    def found_in(cls, data: DataSet) -> list[str]:
        """Return those of the data."""
        return [] if data.scores is None else [str(n) for n in data.scores["evaluator"].unique()]

    def grid(self, data: DataSet, aspects: Sequence[str]) -> Grid:
        """Return the recorded scores."""
        frame = self.rows(data, aspects)
        what = f"the recorded scores of {self.name!r}"
        for_all = grid_of(frame, data, [_ALL_ASPECTS], what)
        own = grid_of(frame, data, aspects, what)
        codes = np.where(own.codes == NO_ROW, for_all.codes, own.codes)
        return Grid(np.where(own.codes == NO_ROW, for_all.scores, own.scores), codes)

    def score(self, data: DataSet, aspects: Sequence[str]) -> ScoreTable:
        """Return the recorded scores, with confidence, draws and probabilities if they have any."""
        table, recorded = super().score(data, aspects), self.rows(data, aspects)
        keys = [*data.keys, "aspect"]
        wanted = pd.MultiIndex.from_frame(table.frame[keys])
        for_all = pd.MultiIndex.from_frame(table.frame[keys].assign(aspect=_ALL_ASPECTS))
        beside = [c for c in map(str, recorded) if c in ("confidence", SAMPLES) or c.startswith(SHARE)]
        for column in beside:
            of_unit = recorded.set_index(keys)[column]
            if column != SAMPLES:
                of_unit = pd.to_numeric(of_unit, errors="coerce").astype(np.float64)
            found = of_unit.reindex(wanted).fillna(
                pd.Series(of_unit.reindex(for_all).to_numpy(), index=wanted)
            )
            table.frame[column] = found.to_numpy()
        return table

    def rows(self, data: DataSet, aspects: Sequence[str]) -> pd.DataFrame:
        """Return the rows of the evaluator; `DataError` if there are none for these aspects."""
        if data.scores is None or data.scores.empty:
            raise DataError(f"{self}: data set {data.name!r} has no recorded scores")
        frame = data.scores[data.scores["evaluator"] == self.name]
        if frame.empty:
            names = sorted(map(str, data.scores["evaluator"].unique()))
            listed = ", ".join(map(repr, names[:_LISTED])) + (", …" if len(names) > _LISTED else "")
            raise DataError(
                f"{self}: data set {data.name!r} has no scores of {self.name!r}; "
                f"recorded are {listed}{nearest(self.name, names)}"
            )
        if not frame["aspect"].isin([_ALL_ASPECTS, *aspects]).any():
            scored = ", ".join(map(repr, frame["aspect"].unique()))
            raise DataError(f"{self} has scores for {scored}, not for {', '.join(map(repr, aspects))}")
        if not any(str(c).startswith(SHARE) for c in frame):
            return frame
        frame = frame.copy()
        for aspect in {*frame["aspect"]} & {_ALL_ASPECTS, *aspects}:
            rows, scale = frame["aspect"] == aspect, data.scale.of(aspect)
            check_shares(frame[rows], scale, f"{self}, {aspect}" if aspect else str(self))
            of_shares = pd.Series(middle_of(shares_of(frame[rows], scale), scale), index=frame.index[rows])
            frame.loc[rows, "score"] = frame.loc[rows, "score"].fillna(of_shares)
        return frame

    def signature(self, data: DataSet) -> Mapping[str, Any]:
        """Return where the scores come from: the data set, and the tool and file if they were added to it."""
        return {**origin(data, self.name), "recorded_in": data.name, "name": self.name}


@dataclass(frozen=True, repr=False)
class Probabilities(Shared):
    """The distribution whose probabilities are recorded as scores, a name for each value of the scale.

    So a map of a table brings them: ``columns: "p_{value}"`` and ``evaluator: "gpt p({value})"``. A value
    that is not recorded has none.

    Parameters
    ----------
    name
        The names, with ``{value}`` in place of the value or word: ``Probabilities('gpt p({value})')``.
    """

    kind: ClassVar[Kind] = Kind.RECORDED
    needs: ClassVar[str] = "probabilities in the data set"

    name: str = text()

    def __post_init__(self) -> None:
        super().__post_init__()
        if _VALUE not in self.name:
            raise SpecError(
                f"{self}: write {_VALUE} where the names have the value, such as 'gpt p({_VALUE})'"
            )

    def shares(self, data: DataSet, aspect: str) -> FloatArray:
        """Return the recorded probabilities; `DataError` if there are none, or they do not sum up to 1."""
        scale, known = data.scale.of(aspect), Recorded.found_in(data)
        columns = dict(zip(scale.share_columns, scale.labels or (f"{v:g}" for v in scale.steps), strict=True))
        named = {column: self.name.replace(_VALUE, value) for column, value in columns.items()}
        none = np.full(len(data), np.nan)
        frame = pd.DataFrame(
            {
                column: Recorded(name).grid(data, [aspect]).scores[:, 0] if name in known else none
                for column, name in named.items()
            }
        )
        if frame.isna().to_numpy().all():
            near = nearest(next(iter(named.values()), ""), known)
            raise DataError(
                f"{self}: data set {data.name!r} has no scores called {', '.join(named.values())}{near}"
            )
        check_shares(frame, scale, f"{self}, {aspect}")
        return shares_of(frame.assign(score=np.nan), scale)

    def signature(self, data: DataSet) -> Mapping[str, Any]:
        """Return where they are recorded."""
        return {"recorded_in": data.name, "name": self.name}


_VALUE = "{value}"


def origin(data: DataSet, evaluator: str) -> dict[str, Any]:
    """Return which tool and file the recorded scores of an evaluator are from; empty if no one said."""
    held = data.extra.get(ORIGINS)
    found = held.get(evaluator) if isinstance(held, dict) else None
    return dict(found) if isinstance(found, dict) else {}
