"""Whole labels of each evaluator on the same units, from its scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.kinds.relevance.data.collection import ITEM, USER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.base.records import Scale
    from metaeval.stats.coefficients.tables import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Judgements:
    """Labels of evaluators, the truth among them."""

    units: pd.DataFrame
    """``user_id`` and ``item_id``, no pair twice."""
    labels: Mapping[str, Floats]
    """Evaluator → its label of each unit; NaN where it has none."""
    notes: tuple[str, ...] = ()
    """What was rounded, and who was left out, in sentences."""

    @classmethod
    def of(cls, units: pd.DataFrame, scores: Mapping[str, Floats], scale: Scale) -> Judgements:
        """Make labels of scores.

        A score that is no label is rounded to the nearest one, halves up. An evaluator with a score outside
        the scale is left out, as its scores are no labels.

        Parameters
        ----------
        units
            ``user_id`` and ``item_id``, no pair twice.
        scores
            Evaluator → its score of each unit; NaN where it has none.
        scale
            The scale of the labels.
        """
        labels, notes = {}, []
        for name, given in scores.items():
            there = ~np.isnan(given)
            outside = there & ~((given >= scale.min) & (given <= scale.max))
            if outside.any():
                notes.append(
                    f"{name} cannot measure systems: {outside.sum():,} of its "
                    f"{counted(int(there.sum()), 'score')} lie outside the scale of the labels ({scale})."
                )
                continue
            whole = np.floor(given + 0.5)
            rounded = int((there & (whole != given)).sum())
            if rounded:
                notes.append(
                    f"{counted(rounded, 'score')} of {name} (of {int(there.sum()):,}) are rounded to the "
                    "nearest label, halves up."
                )
            labels[name] = whole
        return cls(units.reset_index(drop=True), labels, tuple(notes))

    @classmethod
    def of_study(
        cls, units: pd.DataFrame, scores: pd.DataFrame, truth: pd.DataFrame, name: str, scale: Scale
    ) -> Judgements:
        """Make labels of the scores and the truth of a study.

        Parameters
        ----------
        units
            ``user_id`` and ``item_id``: all units of the collection.
        scores, truth
            Long, as in `metaeval.kinds.scored.Scored`.
        name
            What the truth is called; an evaluator of that name is it.
        """
        index = pd.MultiIndex.from_frame(units[[USER, ITEM]])
        given = {name: truth.rename(columns={"rating": "score"})}
        given |= {str(e): of for e, of in scores.groupby("evaluator", sort=False) if e != name}
        found = {}
        for evaluator, frame in given.items():
            own = frame[[USER, ITEM]]
            whole = len(own) == len(units) and bool((own.to_numpy() == units[[USER, ITEM]].to_numpy()).all())
            at = np.arange(len(units)) if whole else index.get_indexer(pd.MultiIndex.from_frame(own))
            found[evaluator] = np.full(len(units), np.nan)
            found[evaluator][at[at >= 0]] = frame["score"].to_numpy(dtype=np.float64)[at >= 0]
        return cls.of(units[[USER, ITEM]], found, scale)
