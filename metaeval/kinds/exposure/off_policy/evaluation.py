"""The value of a policy by each estimator, with intervals, the overlap of the policies, and refusals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from metaeval.base.validation import Count, Options, Seed
from metaeval.kinds.exposure.off_policy.model import predictions
from metaeval.kinds.exposure.propensity.options import Source
from metaeval.stats.off_policy.estimators import policy_sums
from metaeval.stats.off_policy.refusal import Overlap, Refusal, Rule, refusals
from metaeval.stats.off_policy.support import Showings, worst_imbalance
from metaeval.stats.off_policy.terms import (
    CHOSEN,
    MODELLED,
    PLAIN,
    UNWEIGHTED,
    Estimator,
    EstimatorName,
    Rounds,
    Weighting,
)
from metaeval.stats.resampling.bootstrap import Estimate, Resampler, bootstrap, each
from metaeval.stats.resampling.threads import one_thread

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metaeval.kinds.exposure.off_policy.arrays import LogArrays
    from metaeval.kinds.exposure.off_policy.model import Predictions
    from metaeval.kinds.exposure.off_policy.policies import Policy
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.off_policy.estimators import PolicySums, WeightTotals

RULE = Rule()
Above = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=False)]


class OffPolicy(Options):
    """How a policy is evaluated."""

    called = "off-policy"
    estimators: Annotated[
        tuple[EstimatorName, ...], Field(strict=False, min_length=1, description="names of estimators")
    ] = ("naive", "ips", "snips", "dr")
    clip: Annotated[tuple[Above, ...], Field(strict=False, description="numbers above 0")] = ()
    """Largest weights; IPS, SNIPS and DR are given once more with each."""
    trim: Annotated[tuple[Above, ...], Field(strict=False, description="numbers above 0")] = ()
    """Weights above which a round is left out; IPS, SNIPS and DR are given once more with each."""
    propensity: Annotated[Source, Field(description="logged or fitted")] = "logged"
    resamples: Count = 10_000
    seed: Seed = 0

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
    least_propensity: float
    n_clusters: int
    of_users: bool
    """Whether clusters are users, not rounds."""


@one_thread()
def evaluate(log: LogArrays, policy: Policy, wanted: OffPolicy, rule: Rule = RULE) -> Evaluation:
    """Estimate the value of a policy, the mean outcome that it would have had.

    Intervals are of resampled users, or of rounds where the log has no users; the model of outcomes and the
    numbers that Switch-DR and DRos choose are found once. The direct method has no interval: its error is
    that of its model.
    """
    estimators = wanted.list()
    model = None
    if any(e.name in MODELLED for e in estimators):
        model = predictions(log, policy, wanted.seed)
    sums = policy_sums(_parts(log, policy, model), log.n_clusters, estimators)
    found = each(bootstrap(sums.statistic, Resampler(sums.n_clusters, wanted.resamples, wanted.seed)))
    overlap = overlap_of(log, policy, sums)
    values = []
    for estimator, estimate in zip(sums.estimators, found, strict=True):
        plain = estimator.name in UNWEIGHTED
        weights = sums.weights[PLAIN if plain else estimator.weighting]
        reasons = refusals(estimator, weights, overlap, rule)
        if estimator.name == "direct":
            estimate = Estimate(estimate.value, np.nan, np.nan, estimate.n)  # noqa: PLW2901
        values.append(PolicyValue(estimator, estimate, weights, reasons))
    return Evaluation(
        policy.name, values, overlap, float(log.propensity.min()), log.n_clusters, bool(log.users)
    )


def _weights(log: LogArrays, policy: Policy, part: slice) -> Floats:
    return policy.table[policy.row[part], log.item[part]] / log.propensity[part]


def _parts(log: LogArrays, policy: Policy, model: Predictions | None) -> Iterator[tuple[Rounds, Ints]]:
    for part in log.parts():
        predicted, expected = model.of(part) if model else (None, None)
        count = None if log.count is None else log.count[part]
        weight = _weights(log, policy, part)
        yield Rounds(log.outcome[part], weight, predicted, expected, count), log.cluster[part]


def overlap_of(log: LogArrays, policy: Policy, sums: PolicySums) -> Overlap:
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
    weight = np.concatenate([_weights(log, policy, part) for part in log.parts()])
    contexts = [log.position, *log.context.values()]
    off = max((worst_imbalance(code, weight) for code in contexts), key=lambda found: abs(found[1]))
    return Overlap(
        showings.support(mass),
        showings.misplaced(mass),
        off,
        sums.weights[PLAIN],
        sums.varied,
    )
