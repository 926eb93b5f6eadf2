"""What each round adds to each off-policy estimate.

A round is one exposure: an action, an item at a position, that the logging policy chose with probability p
and that the evaluated policy would choose with probability π. Its weight is w = π / p; y is its outcome, q
the outcome that a model predicts for the action, v the mean prediction over the evaluated policy's actions.
Every estimate is a sum over rounds divided by another one:

============  ===================  =====  ==========================================================
estimator     above                below  source
============  ===================  =====  ==========================================================
naive         y                    1      the mean outcome of the log: of the policy that made it
direct        v                    1      Dudík, Langford & Li 2011
ips           ŵ y                  1      Horvitz & Thompson 1952; Dudík et al. 2011
snips         ŵ y                  ŵ      Swaminathan & Joachims 2015
dr            v + ŵ (y - q)        1      Dudík et al. 2011
switch-dr     v + ŵ (y - q)        1      Wang, Agarwal & Dudík 2017
dros          v + ŵ (y - q)        1      Su, Dimakopoulou, Krishnamurthy & Dudík 2020
============  ===================  =====  ==========================================================

ŵ is w, or a function of it: clipped, min(w, c); trimmed, w where w ≤ c and else 0; shrunk, λ w / (w² + λ).
Switch-DR trims, DRos shrinks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats

EstimatorName: TypeAlias = Literal["naive", "direct", "ips", "snips", "dr", "switch-dr", "dros"]
ESTIMATORS: tuple[EstimatorName, ...] = get_args(EstimatorName)
Change: TypeAlias = Literal["none", "clip", "trim", "shrink"]
CHOSEN: dict[EstimatorName, Change] = {"switch-dr": "trim", "dros": "shrink"}
"""Estimators whose weights are changed by a number that the data choose."""
MODELLED: tuple[EstimatorName, ...] = ("direct", "dr", "switch-dr", "dros")
"""Estimators that need a model of outcomes."""
UNWEIGHTED: tuple[EstimatorName, ...] = ("naive", "direct")


class Weighting(NamedTuple):
    """How weights are changed: at most ``at`` (clip), 0 above it (trim), or shrunk by λ = ``at``."""

    change: Change = "none"
    at: float = np.inf

    def of(self, weight: Floats) -> Floats:
        """Return the changed weights."""
        match self.change:
            case "clip":
                return np.minimum(weight, self.at)
            case "trim":
                return np.where(weight <= self.at, weight, 0.0)
            case "shrink":
                return self.at * weight / (weight**2 + self.at)
            case "none":
                return weight


PLAIN = Weighting()


class Estimator(NamedTuple):
    """An estimator and what it does to weights."""

    name: EstimatorName
    weighting: Weighting = PLAIN


@dataclass(frozen=True, slots=True, eq=False)
class Rounds:
    """Rounds of a log, shape (n,) each.

    Parameters
    ----------
    outcome
        What came of the round.
    weight
        The evaluated policy's probability of the logged action, divided by the logging policy's.
    predicted, expected
        A model's outcome of the logged action, and its mean over the evaluated policy's actions; None
        without a model.
    count
        How often a round counts among those in which the policy would act; None: each once. Where a log has
        rows of users at their own pace, and the policy serves users alike, it is less than 1 for busy ones.
    """

    outcome: Floats
    weight: Floats
    predicted: Floats | None = None
    expected: Floats | None = None
    count: Floats | None = None

    @property
    def counts(self) -> Floats:
        """How often each round counts."""
        return np.ones(len(self.outcome)) if self.count is None else self.count

    def terms(self, estimator: Estimator) -> tuple[Floats, Floats]:
        """Return what the rounds add above and below the division, shape (n,) each."""
        y = self.outcome
        if estimator.name == "naive":
            return y, np.ones(len(y))
        changed = estimator.weighting.of(self.weight)
        if estimator.name in ("ips", "snips"):
            return changed * y, self.counts if estimator.name == "ips" else changed
        if self.predicted is None or self.expected is None:
            raise ValueError(f"the estimator {estimator.name} needs predicted and expected outcomes")
        expected = self.expected * self.counts
        if estimator.name == "direct":
            return expected, self.counts
        return expected + changed * (y - self.predicted), self.counts

    def bias(self, weighting: Weighting) -> Floats:
        """Return what the rounds add to the estimated bias of changed weights, (w - ŵ) (y - q)."""
        if self.predicted is None:
            raise ValueError("the bias of changed weights is judged by predicted outcomes")
        return (self.weight - weighting.of(self.weight)) * (self.outcome - self.predicted)
