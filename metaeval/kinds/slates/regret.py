"""Regret and accuracy of verdicts on duels, by task: what the board of a study of slates holds.

A verdict's regret is the utility of the better slate less that of the preferred one; a tie counts as either
in half of the cases. With the gap g, the utility of the slate that is shown first less that of the other one,
and the verdict v (1, -1 or 0 for a tie), that is (|g| - g v) / 2. The regret of a judge is the mean over its
duels in both orders, by user, then over users: equation 2 of Bonin et al. (2025) without pairs of a slate and
itself, which add nothing. A coin has the regret |g| / 2.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from metaeval.engine.measures import Measure, MeasuredCells, MeasuredUnits
from metaeval.kinds.slates.files import UNITS
from metaeval.stats.resampling.cluster_sums import ratio

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from metaeval.engine.alignment.aligned import Bools
    from metaeval.kinds.scored import Scored
    from metaeval.kinds.slates.study import SlatesStudy
    from metaeval.stats.coefficients.tables import Floats


def regrets(verdicts: Floats, gap: Floats) -> Floats:
    """Return the regret of each verdict.

    Parameters
    ----------
    verdicts
        Above 0 for the slate that is shown first, below 0 for the other one, 0 for a tie.
    gap
        The utility of the slate that is shown first less that of the other one.
    """
    return (np.abs(gap) - gap * np.sign(verdicts)) / 2


def _right(verdicts: Floats, gap: Floats) -> Floats:
    """Return 1 for a verdict for the better slate, one half for a tie, 0 else."""
    return (1 + np.sign(verdicts) * np.sign(gap)) / 2


def _ratio(sums: Floats) -> Floats:
    return ratio(sums[0], sums[1])


REGRET = Measure(
    "regret",
    lambda verdicts, gap: [regrets(verdicts, gap), np.ones_like(gap)],
    _ratio,
    (0.0, np.inf),
    alike=True,
    lower_is_better=True,
)
ACCURACY = Measure(
    "accuracy",
    lambda verdicts, gap: [_right(verdicts, gap) * (gap != 0), (gap != 0).astype(float)],
    _ratio,
    (0.0, 1.0),
    alike=True,
)
WEIGHTED = Measure(
    "weighted accuracy",
    lambda verdicts, gap: [_right(verdicts, gap) * np.abs(gap), np.abs(gap)],
    _ratio,
    (0.0, 1.0),
)
MEASURES = (REGRET, ACCURACY, WEIGHTED)


class DuelCells(MeasuredCells):
    """Measures of verdicts on duels; a cell is a task and a measure.

    Pairs of a slate and itself, and duels that are asked again, are no part of any measure.
    """

    by = "task"
    form = "decimal"
    swapped = "verdicts"

    def __init__(self, scored: Scored[SlatesStudy]) -> None:
        super().__init__(scored.matched, MEASURES, intervals=scored.study.bootstrap)
        self.table = scored.units(UNITS)

    @cached_property
    def parts(self) -> Mapping[str, tuple[int, Bools | slice]]:
        """Each task → its duels, in both orders."""
        tasks, duels = self.table["task"].astype(str), measured(self.table)
        return {t: (0, (duels & (tasks == t)).to_numpy()) for t in sorted(tasks[duels].unique())}


def measured(units: pd.DataFrame) -> pd.Series[bool]:
    """Say which units are part of measures: neither a slate against itself nor a duel that is asked again."""
    return (units["repeat"] == 0) & (units["first"].astype(object) != units["second"].astype(object))


def regret_by_user(units: MeasuredUnits) -> Floats:
    """Return the mean regret of each evaluator and user, shape (E, users)."""
    found: Floats = units.sums(REGRET)[0]
    return found


def chance_by_user(units: MeasuredUnits) -> Floats:
    """Return the mean regret of a coin by user, shape (users,)."""
    found: Floats = regret_by_user(replace(units, scores=np.zeros((1, len(units.truth)))))[0]
    return found
