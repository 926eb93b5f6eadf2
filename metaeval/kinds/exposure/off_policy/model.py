"""A model of a log's outcomes: what it predicts of the logged items, and under a policy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.stats.regression.outcomes import OutcomeCells, fit_outcomes

if TYPE_CHECKING:
    from metaeval.kinds.exposure.off_policy.arrays import LogArrays
    from metaeval.kinds.exposure.off_policy.policies import TargetPolicy
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.regression.outcomes import OutcomeModel

FOLDS = 5
"""Folds of users; each is predicted by a model of the others."""
_LARGEST = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """What a model predicts, round by round."""

    model: OutcomeModel
    situation: Ints
    """Of each round: its context, position and fold, as the model counts them."""
    item: Ints
    each: Floats
    """Means under the policy, of each situation and row of the policy that meet."""
    meeting: Ints
    """Of each round: which of those."""

    def of(self, part: slice) -> tuple[Floats, Floats]:
        """Return the predicted outcomes of the logged items, and the means under the policy."""
        return self.model.at(self.situation[part], self.item[part]), self.each[self.meeting[part]]


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Outcomes of a log by situation and item, to which models are fitted."""

    log: LogArrays
    policy: TargetPolicy
    cells: OutcomeCells
    situation: Ints
    cell: Ints
    meeting: Ints
    """Of each round: which situation and row of the policy meet."""
    first: Ints
    """The first round of each meeting."""

    def predictions(self, users: Floats | None = None) -> Predictions:
        """Fit outcomes, with each user counted so many times, and predict each by a fit to other users."""
        log, table, row = self.log, self.policy.table, self.policy.row[self.first]
        times = np.ones(len(log)) if users is None else users[log.cluster]
        n, total = (np.bincount(self.cell, by).astype(np.float64) for by in (times, times * log.outcome))
        logistic = bool(np.isin(log.outcome, (0.0, 1.0)).all())
        model = fit_outcomes(replace(self.cells, n=n, total=total), table.shape[1], logistic=logistic)
        each = model.under(self.situation[self.first], table, row)
        return Predictions(model, self.situation, log.item, each, self.meeting)


def outcomes_of(log: LogArrays, policy: TargetPolicy, seed: int = 0) -> Outcomes:
    """Return outcomes by item, position and context, in random folds of users."""
    folds = min(FOLDS, log.n_clusters)
    fold = (np.random.default_rng([seed, 2]).permutation(log.n_clusters) % folds).astype(np.int8)[log.cluster]
    fields = [log.position, *log.context.values()]
    situation, first = numbered([fold, *fields])
    cell, of_cell = numbered([situation, log.item])
    context = np.stack([field[first] for field in fields], axis=1)
    n, total = (np.bincount(cell, by).astype(np.float64) for by in (None, log.outcome))
    cells = OutcomeCells(context, fold[first], situation[of_cell], log.item[of_cell], n, total)
    meeting = situation
    if len(policy.table) > 1:
        meeting, first = numbered([situation, policy.row])
    return Outcomes(log, policy, cells, situation, cell, meeting, first)


def numbered(codes: list[Ints]) -> tuple[Ints, Ints]:
    """Return a number for each combination of codes that there is, and the first round that has it."""
    combined, width = np.zeros(len(codes[0]), dtype=np.int64), 1
    for code in codes:
        n = int(code.max()) + 1
        if width * n > _LARGEST:
            combined, names = pd.factorize(combined)
            width = len(names)
        combined *= n
        combined += code
        width *= n
    found, names = pd.factorize(combined)
    first = np.empty(len(names), dtype=np.int64)
    first[found[::-1]] = np.arange(len(found) - 1, -1, -1)
    return found.astype(np.int32), first
