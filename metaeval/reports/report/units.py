"""The units in a report: which are shown, their texts, the truth, and every evaluator's score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.evaluators.grid import NO_ROW, OK, STATUSES, Grid, grid_of, rows_of
from metaeval.kinds.explanations.text.texts import reference_columns
from metaeval.reports.report.encode import Texts, coded

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from metaeval.analysis.agreement.by_group import Groups
    from metaeval.base.records import ExplanationSet, ScoreTable
    from metaeval.stats.coefficients.tables import Floats, Ints

MOST_UNITS = 5_000
"""So many units a page holds; of more, a sample."""
MOST_GROUPS = 5_000
"""So many groups of a level a page lists."""
_NOT_THERE = len(STATUSES)
_STATUS_NAMES = [*map(str, STATUSES), "no row"]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The units that a page shows."""

    at: Ints
    """Their positions in the data, rising."""
    total: int
    note: str
    """A sentence on what is left out; empty if nothing is."""


def sample(data: ExplanationSet, most: int = MOST_UNITS, seed: int = 0) -> Sample:
    """Choose the units to show: all, or those of users (or items) drawn at random.

    Units are drawn one by one where even a single user has too many.
    """
    total = len(data)
    if total <= most:
        return Sample(np.arange(total), total, "")
    column, who = ("user_id", "users") if "user_id" in data.keys else ("item_id", "items")
    names, of_unit, sizes = np.unique(
        data.explanations[column].to_numpy(dtype=object).astype(str), return_inverse=True, return_counts=True
    )
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(names))
    drawn = order[np.cumsum(sizes[order]) <= most]
    if len(drawn):
        at = np.flatnonzero(np.isin(of_unit, drawn))
        how = f"all those of {len(drawn):,} of {len(names):,} {who}, drawn at random"
    else:
        at = np.sort(rng.choice(total, most, replace=False))
        how = "drawn at random"
    note = (
        f"A sample of {len(at):,} of {total:,} units is shown: {how} (seed {seed}). Numbers are of all units."
    )
    return Sample(at, total, note)


def listed_groups(groups: Groups, data: ExplanationSet, shown: Sample, most: int = MOST_GROUPS) -> Ints:
    """Choose the groups to list: all, or those of the shown units, then the first by name.

    Returns
    -------
    ndarray
        Their places, rising.
    """
    if len(groups.names) <= most:
        return np.arange(len(groups.names))
    frame = data.explanations.take(shown.at)
    here = set(zip(*(frame[key].astype(str) for key in groups.keys), strict=True))
    elsewhere = np.array([names not in here for names in groups.names])
    return np.sort(np.argsort(elsewhere, kind="stable")[:most])


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The units of a run, with all that is known of each."""

    data: ExplanationSet
    aspects: tuple[str, ...]
    truth: Grid
    """Ratings, shape (units, aspects)."""
    scores: tuple[Grid, ...]
    """Of each evaluator, shape (units, aspects)."""

    @classmethod
    def of(
        cls, data: ExplanationSet, scores: ScoreTable, truth: pd.DataFrame, aspects: Sequence[str]
    ) -> Units:
        """Lay scores and truth out over the units of the data.

        Raises
        ------
        DataError
            If a row is about a unit that the data do not have.
        """
        frames = dict(iter(scores.frame.groupby("evaluator", sort=False, observed=True)))
        return cls(
            data,
            tuple(aspects),
            grid_of(truth.rename(columns={"rating": "score"}), data, aspects, "the truth"),
            tuple(grid_of(frames[name], data, aspects, name) for name in scores.evaluators),
        )

    def difference(self, evaluator: int) -> Floats:
        """Return score − truth, shape (aspects, units); NaN where either is missing."""
        return np.asarray(self.scores[evaluator].scores - self.truth.scores).T

    def payload(self, shown: Sample) -> dict[str, Any]:
        """Return the units of a sample as JSON values."""
        frame = self.data.explanations.take(shown.at)
        texts = Texts()
        named = [c for c in (*self.data.keys, "item_title") if c in frame.columns]
        explanation = (
            texts.places(frame["explanation"]) if "explanation" in frame.columns else [-1] * len(frame)
        )
        references = [{"name": c, "texts": texts.places(frame[c])} for c in reference_columns(self.data)]
        return {
            "total": shown.total,
            "note": shown.note,
            "keys": list(self.data.keys),
            "columns": {c: _column(frame, c) for c in named},
            "explanation": explanation,
            "references": references,
            "texts": texts.all,
            "truth": [coded(column) for column in self.truth.scores[shown.at].T],
            "scores": [[coded(column) for column in grid.scores[shown.at].T] for grid in self.scores],
            "statusNames": _STATUS_NAMES,
            "statuses": [[_failures(column) for column in grid.codes[shown.at].T] for grid in self.scores],
        }


def _column(frame: pd.DataFrame, name: str) -> dict[str, list[Any]]:
    texts = Texts()
    codes = texts.places(value for (value,) in rows_of(frame, [name]))
    return {"values": texts.all, "codes": codes}


def _failures(codes: Any) -> dict[str, list[int]]:  # noqa: ANN401 - int8 of shape (units,)
    """Return which units have no score, and why."""
    unit = np.flatnonzero(codes != OK)
    why = np.where(codes[unit] == NO_ROW, _NOT_THERE, codes[unit])
    return {"unit": unit.tolist(), "status": why.tolist()}
