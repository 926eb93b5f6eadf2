"""The value of a policy by each estimator, with intervals, the overlap of the policies, and refusals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from metaeval.base.validation import Options
from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.exposure.off_policy.model import outcomes_of
from metaeval.kinds.exposure.off_policy.sums import Evaluated, Refitted, weights_of
from metaeval.kinds.exposure.propensity.options import REFITS
from metaeval.stats.off_policy.refusal import Overlap, Refusal, Rule, refusals
from metaeval.stats.off_policy.support import Showings, worst_imbalance
from metaeval.stats.off_policy.terms import (
    CHOSEN,
    MODELLED,
    PLAIN,
    UNWEIGHTED,
    Estimator,
    EstimatorName,
    Weighting,
)
from metaeval.stats.resampling.bootstrap import Estimate, bootstrap, each, refitted_interval
from metaeval.stats.resampling.threads import one_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.kinds.exposure.off_policy.arrays import LogArrays
    from metaeval.kinds.exposure.off_policy.policies import TargetPolicy
    from metaeval.stats.off_policy.estimators import PolicySums
    from metaeval.stats.off_policy.overlap import WeightTotals

_BOOTSTRAP = Bootstrap()
RULE = Rule()
Above = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=False)]
Names = Annotated[
    tuple[EstimatorName, ...], Field(strict=False, min_length=1, description="names of estimators")
]
Thresholds = Annotated[tuple[Above, ...], Field(strict=False, description="numbers above 0")]


class OffPolicy(Options):
    """How a policy is evaluated."""

    called = "off-policy"
    estimators: Names = ("naive", "ips", "snips", "dr")
    clip: Thresholds = ()
    """Largest weights; IPS, SNIPS and DR are given once more with each."""
    trim: Thresholds = ()
    """Weights above which a round is left out; IPS, SNIPS and DR are given once more with each."""

    def list(self) -> list[Estimator]:
        """Return every estimator with each of its weightings."""
        return estimators_of(self.estimators, self.clip, self.trim)


def estimators_of(
    names: Sequence[EstimatorName], clip: Sequence[float], trim: Sequence[float]
) -> list[Estimator]:
    """Return every estimator, and those with weights once more with each change of the weights."""
    sweep = [PLAIN, *(Weighting("clip", c) for c in clip), *(Weighting("trim", t) for t in trim)]
    return [
        Estimator(name, weighting)
        for name in dict.fromkeys(names)
        for weighting in ([PLAIN] if name in (*UNWEIGHTED, *CHOSEN) else dict.fromkeys(sweep))
    ]


@dataclass(frozen=True, slots=True, eq=False)
class PolicyValue:
    """The value of a policy by one estimator; given also where it is refused."""

    estimator: Estimator
    found: Estimate[float]
    weights: WeightTotals
    """Of the weights as the estimator uses them."""
    refusals: list[Refusal]


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """What the log of one policy says of another."""

    policy: str
    estimates: list[PolicyValue]
    overlap: Overlap
    log: LogArrays


@one_thread()
def evaluate(
    log: LogArrays,
    policy: TargetPolicy,
    wanted: OffPolicy,
    how: Bootstrap | None = _BOOTSTRAP,
    *,
    refits: int = REFITS,
) -> Evaluation:
    """Estimate the value of a policy, the mean outcome that it would have had.

    Parameters
    ----------
    how
        How users are resampled, or rounds where the log has no users; None for no intervals. The model of
        outcomes is fitted once.
    refits
        Resamples in which propensities, if they are fitted, and the model of the direct method are fitted
        again. They are few, so that the interval is the estimate ± the t quantile × their standard deviation;
        fewer than two give no interval.
    """
    estimators = wanted.list()
    modelled = any(e.name in MODELLED for e in estimators)
    of = Evaluated(log, policy, outcomes_of(log, policy, how.seed if how else 0) if modelled else None)
    sums = of.sums(estimators)
    found = _estimates(of, estimators, sums, how, refits)
    overlap, estimates = overlap_of(log, policy, sums), []
    for estimator, estimate in zip(sums.estimators, found, strict=True):
        weights = sums.weights[PLAIN if estimator.name in UNWEIGHTED else estimator.weighting]
        reasons = refusals(estimator, weights, overlap, RULE)
        estimates.append(PolicyValue(estimator, estimate, weights, reasons))
    return Evaluation(policy.name, estimates, overlap, log)


def _estimates(
    of: Evaluated, estimators: Sequence[Estimator], sums: PolicySums, how: Bootstrap | None, refits: int
) -> list[Estimate[float]]:
    n = sums.n_clusters
    values = sums.statistic.at(np.ones((n, 1)))[:, 0]
    nothing = np.full(len(values), np.nan)
    bare = each(Estimate(values, nothing, nothing, n))
    if how is None:
        return bare
    found = each(bootstrap(sums.statistic, how.resampler(n)))
    anew = [
        i for i, e in enumerate(estimators) if e.name == "direct" or (of.log.fitted and e.name != "naive")
    ]
    few = [bare[i] for i in anew]
    if anew and refits > 1:
        resampler = how.model_copy(update={"resamples": refits}).resampler(n)
        few = each(refitted_interval(Refitted(of, [estimators[i] for i in anew]), resampler))
    for i, estimate in zip(anew, few, strict=True):
        found[i] = estimate
    return found


def overlap_of(log: LogArrays, policy: TargetPolicy, sums: PolicySums) -> Overlap:
    """Return how far the log shows what the policy would do, by position; and what weights do to contexts."""
    places, items = len(log.positions), len(policy.items)
    cell = log.position.astype(np.int64) * items + log.item
    shown, inverse, squares = (
        np.bincount(cell, by, places * items).reshape(places, items).astype(np.float64)
        for by in (None, 1 / log.propensity, 1 / log.propensity**2)
    )
    rows, of_row = len(policy.table), log.position.astype(np.int64) * len(policy.table) + policy.row
    mass = np.bincount(of_row, minlength=places * rows).reshape(places, rows) @ policy.table
    showings = Showings(shown, inverse, squares)
    weight = np.concatenate([weights_of(log, policy, part) for part in log.parts()])
    contexts = [log.position, *log.context.values()]
    off = max((worst_imbalance(code, weight) for code in contexts), key=lambda found: abs(found[1]))
    return Overlap(
        showings.support(mass),
        showings.misplaced(mass),
        off,
        sums.weights[PLAIN],
        sums.varied,
    )
