"""A log and a policy to evaluate → what each estimator sums; once more, with all models fitted again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.off_policy.estimators import blocks, policy_sums
from metaeval.stats.off_policy.terms import MODELLED, Rounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metaeval.kinds.exposure.off_policy.arrays import LogArrays
    from metaeval.kinds.exposure.off_policy.model import Outcomes, Predictions
    from metaeval.kinds.exposure.off_policy.policies import TargetPolicy
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.off_policy.estimators import PolicySums
    from metaeval.stats.off_policy.terms import Estimator


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """A log, the policy that is evaluated, and outcomes to fit a model to; None if no estimator has one."""

    log: LogArrays
    policy: TargetPolicy
    outcomes: Outcomes | None

    def sums(self, estimators: Sequence[Estimator], users: Floats | None = None) -> PolicySums:
        """Return the sums of estimators.

        Parameters
        ----------
        users
            How often each cluster counts in the fits of propensities and of outcomes; None: once, in those
            propensities that there are.
        """
        log = self.log if users is None else self.log.refitted(users)
        model = None
        if self.outcomes is not None and any(e.name in MODELLED for e in estimators):
            model = self.outcomes.predictions(users)
        return policy_sums(self._parts(log, model), log.n_clusters, estimators)

    def _parts(self, log: LogArrays, model: Predictions | None) -> Iterator[tuple[Rounds, Ints]]:
        for part in log.parts():
            predicted, expected = model.of(part) if model else (None, None)
            count = None if log.count is None else log.count[part]
            weight = weights_of(log, self.policy, part)
            yield Rounds(log.outcome[part], weight, predicted, expected, count), log.cluster[part]


@dataclass(frozen=True, slots=True, eq=False)
class Refitted:
    """Estimates whose propensities and model of outcomes are fitted again under each column of weights."""

    of: Evaluated
    estimators: Sequence[Estimator]

    def at(self, weights: Floats) -> Floats:
        """Return the estimates, shape (estimators, columns); weights are of blocks of clusters."""
        block = blocks(self.of.log.n_clusters)
        columns = [
            self.of.sums(self.estimators, weight[block]).statistic.at(weight[:, None]) for weight in weights.T
        ]
        return np.concatenate(columns, axis=1)


def weights_of(log: LogArrays, policy: TargetPolicy, part: slice) -> Floats:
    """Return the weight of each round of a part: the policy's probability, divided by the propensity."""
    return np.asarray(policy.table[policy.row[part], log.item[part]] / log.propensity[part])
