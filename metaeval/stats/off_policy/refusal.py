"""When an off-policy estimate is withheld: the rule, and typed reasons with their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from metaeval.stats.off_policy.support import OFTEN, THIN, WORST
from metaeval.stats.off_policy.terms import CHOSEN

if TYPE_CHECKING:
    from metaeval.stats.off_policy.overlap import WeightTotals
    from metaeval.stats.off_policy.support import Support
    from metaeval.stats.off_policy.terms import Estimator


class Reason(StrEnum):
    """What fails."""

    EFFECTIVE_SIZE = "effective_size"
    EFFECTIVE_SHARE = "effective_share"
    MEAN_WEIGHT = "mean_weight"
    CUT_OFF = "cut_off"
    SUPPORT = "support"
    EXTRAPOLATION = "extrapolation"
    PROPENSITIES = "propensities"
    BALANCE = "balance"
    OUTCOMES = "outcomes"


class Refusal(NamedTuple):
    """One reason, and a sentence with its numbers."""

    reason: Reason
    text: str


@dataclass(frozen=True, slots=True)
class Rule:
    """The limits of overlap; beyond them an estimate is withheld."""

    effective_size: float = 100
    """The least effective sample size."""
    effective_share: float = 0.01
    """The least effective sample size as a share of the rounds."""
    noise: float = 4
    """Standard errors beyond which a difference is no chance."""
    mean_weight: float = 0.01
    """How far the mean weight may be off 1 beyond its noise."""
    cut_off: float = 0.1
    """The largest share of the weight that clipping or trimming takes away."""
    unshown: float = 0.02
    """The largest share of the policy on actions that the log never shows, beyond what chance leaves out."""
    thin: float = 0.2
    """The largest share of the policy on actions that the log hardly shows."""
    propensity: float = 0.05
    """The largest share of the policy that logged propensities misplace."""
    balance: float = 0.1
    """The largest weighted difference of a covariate, in its standard deviations, beyond its noise."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """What is known of the overlap of two policies, whatever the estimator."""

    support: Support
    misplaced: float
    """The share that logged propensities misplace: `metaeval.stats.off_policy.support.Showings.misplaced`."""
    imbalance: tuple[float, float]
    """The largest difference of a covariate's weighted mean from its mean, in its standard deviations, and in
    standard errors."""
    weights: WeightTotals
    varied: bool = True
    """Whether there is more than one outcome."""


def refusals(estimator: Estimator, changed: WeightTotals, overlap: Overlap, rule: Rule) -> list[Refusal]:
    """Return why an estimate is withheld; nothing if it is not.

    The naive mean is no estimate of another policy and needs no overlap. The direct method uses no weights;
    but where their effective size is small, its model has not seen what the policy does. Clipping and
    trimming change the effective size, and may not cut off much of the policy; they do not mend propensities.
    Switch-DR and DRos are judged as DR is: what their data choose to cut off, the model must know.

    Parameters
    ----------
    changed
        Totals of the weights as the estimator clips or trims them.
    """
    if estimator.name == "naive":
        return []
    chosen = estimator.name in CHOSEN
    found = _size(overlap.weights if chosen else changed, rule) + _support(overlap, rule)
    if estimator.name != "direct":
        found += _weights(overlap, rule)
        cut = 1 - changed.total / overlap.weights.total if overlap.weights.total and not chosen else 0.0
        if cut > rule.cut_off:
            how = {"clip": "clipping", "trim": "trimming"}[estimator.weighting.change]
            text = f"{how} takes away {cut:.1%} of the weight (at most {rule.cut_off:.0%})"
            found.append(Refusal(Reason.CUT_OFF, text))
    if not overlap.varied:
        text = "all outcomes are the same, so that nothing says how sure this is"
        found.append(Refusal(Reason.OUTCOMES, text))
    return found


def _size(weights: WeightTotals, rule: Rule) -> list[Refusal]:
    found, size, share = [], weights.effective, weights.effective / weights.expected
    if size < rule.effective_size:
        text = f"the effective sample size is {size:,.1f} (at least {rule.effective_size:,.0f})"
        found.append(Refusal(Reason.EFFECTIVE_SIZE, text))
    if share < rule.effective_share:
        text = f"the effective sample size is {share:.2%} of the rounds (at least {rule.effective_share:.0%})"
        found.append(Refusal(Reason.EFFECTIVE_SHARE, text))
    return found


def _support(overlap: Overlap, rule: Rule) -> list[Refusal]:
    found, of = [], overlap.support
    if of.unshown > of.by_chance + rule.noise * of.error + rule.unshown:
        text = f"{of.unshown:.1%} of the policy is on what the log never shows; chance would leave out"
        found.append(Refusal(Reason.SUPPORT, f"{text} {of.by_chance:.1%} (at most {rule.unshown:.0%} more)"))
    if of.thin > rule.thin:
        text = f"{of.thin:.1%} of the policy is on what it shows {OFTEN} times or more and the log fewer than"
        found.append(Refusal(Reason.EXTRAPOLATION, f"{text} {THIN} times (at most {rule.thin:.0%})"))
    return found


def _weights(overlap: Overlap, rule: Rule) -> list[Refusal]:
    found, plain = [], overlap.weights
    if not abs(plain.mean - 1) <= rule.noise * plain.error + rule.mean_weight:  # nor if the error is NaN
        noise = f"± {plain.error:.3f}" if plain.error >= 0 else "from a single user, whose noise is not known"
        found.append(Refusal(Reason.MEAN_WEIGHT, f"the mean weight is {plain.mean:.3f} {noise}, not 1"))
    if overlap.misplaced > rule.propensity:
        text = f"logged propensities misplace {overlap.misplaced:.1%} of the policy: they are not how often"
        found.append(Refusal(Reason.PROPENSITIES, f"{text} items were shown (at most {rule.propensity:.0%})"))
    off, z = overlap.imbalance
    if abs(z) > WORST and abs(off) > rule.balance:
        text = f"the weights move a covariate by {off:+.2f} of its standard deviations"
        found.append(Refusal(Reason.BALANCE, f"{text} (at most {rule.balance:g})"))
    return found
