"""When an off-policy estimate is withheld: the rule, and typed reasons with their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from metaeval.stats.off_policy.estimators import CHOSEN, Estimator
from metaeval.stats.off_policy.overlap import OFTEN, THIN, WORST, Support, WeightTotals

Reason: TypeAlias = Literal[
    "effective_size",
    "effective_share",
    "support",
    "extrapolation",
    "mean_weight",
    "propensities",
    "balance",
    "cut_off",
    "outcomes",
    "random_sample",
    "predictions",
]
"""What fails."""


class Refusal(NamedTuple):
    """One reason, and a sentence with its numbers."""

    reason: Reason
    text: str


@dataclass(frozen=True, slots=True)
class Rule:
    """The limits of overlap; beyond them an estimate is withheld."""

    effective_size: float = 100
    """The least effective sample size, and as a share of the rounds."""
    effective_share: float = 0.01
    noise: float = 4
    """Standard errors beyond which a difference is no chance; what follows counts beyond this noise."""
    mean_weight: float = 0.01
    """How far the mean weight may be off 1."""
    unshown: float = 0.02
    """The largest share of the policy on actions that the log never shows, or hardly shows."""
    thin: float = 0.2
    cut_off: float = 0.1
    """The largest share of the weight that clipping or trimming takes away."""
    propensity: float = 0.05
    """The largest share of the policy that logged propensities misplace."""
    balance: float = 0.1
    """The largest weighted difference of a covariate, in its standard deviations."""
    contradicted: float = 0.05
    """How far the mean outcome may be off that of a random sample, in standard deviations of outcomes."""


RULE = Rule()


@dataclass(frozen=True, slots=True)
class Overlap:
    """What is known of the overlap of two policies, whatever the estimator."""

    support: Support
    imbalance: tuple[float, float]
    """The largest difference of a covariate's weighted mean from its mean, in its standard deviations, and in
    standard errors."""
    weights: WeightTotals
    varied: bool = True
    """Whether there is more than one outcome."""
    contradicted: str = ""
    """How a random sample contradicts the propensities."""


def refusals(estimator: Estimator, changed: WeightTotals, overlap: Overlap) -> list[Refusal]:
    """Return why an estimate is withheld; nothing if it is not.

    The naive mean is no estimate of another policy and needs no overlap. The direct method uses no weights;
    but where their effective size is small, its model has not seen what the policy does. Clipping and
    trimming, after which the weights add up to ``changed``, change the effective size, and may not cut off
    much of the policy; they do not mend propensities. Switch-DR and DRos are judged as DR is: what their data
    choose to cut off, the model must know.
    """
    return [] if estimator.name == "naive" else [*_reasons(estimator, changed, overlap)]


def _reasons(estimator: Estimator, changed: WeightTotals, overlap: Overlap) -> Iterator[Refusal]:
    rule, plain, support = RULE, overlap.weights, overlap.support
    used = plain if estimator.name in CHOSEN else changed
    size, share = used.effective, used.effective / used.expected
    if size < rule.effective_size:
        text = f"the effective sample size is {size:,.1f} (at least {rule.effective_size:,.0f})"
        yield Refusal("effective_size", text)
    if share < rule.effective_share:
        text = f"the effective sample size is {share:.2%} of the rounds (at least {rule.effective_share:.0%})"
        yield Refusal("effective_share", text)
    if support.unshown > support.by_chance + rule.noise * support.error + rule.unshown:
        text = f"{support.unshown:.1%} of the policy is on what the log never shows; chance would leave out"
        yield Refusal("support", f"{text} {support.by_chance:.1%} (at most {rule.unshown:.0%} more)")
    if support.thin > rule.thin:
        text = f"{support.thin:.1%} of the policy is on what it shows {OFTEN} times or more and the log"
        yield Refusal("extrapolation", f"{text} fewer than {THIN} times (at most {rule.thin:.0%})")
    if estimator.name != "direct":
        if not abs(plain.mean - 1) <= rule.noise * plain.error + rule.mean_weight:  # nor if the error is NaN
            known = plain.error >= 0
            noise = f"± {plain.error:.3f}" if known else "from a single user, whose noise is not known"
            yield Refusal("mean_weight", f"the mean weight is {plain.mean:.3f} {noise}, not 1")
        if support.misplaced > rule.propensity:
            text = f"logged propensities misplace {support.misplaced:.1%} of the policy: they are not how"
            yield Refusal("propensities", f"{text} often items were shown (at most {rule.propensity:.0%})")
        off, z = overlap.imbalance
        if abs(z) > WORST and abs(off) > rule.balance:
            text = f"the weights move a covariate by {off:+.2f} of its standard deviations"
            yield Refusal("balance", f"{text} (at most {rule.balance:g})")
        cut = 1 - used.total / plain.total if plain.total else 0.0
        if cut > rule.cut_off:
            how = {"clip": "clipping", "trim": "trimming"}[estimator.weighting.change]
            yield Refusal("cut_off", f"{how} takes away {cut:.1%} of the weight (at most {rule.cut_off:.0%})")
    if overlap.contradicted:
        yield Refusal("random_sample", overlap.contradicted)
    if not overlap.varied:
        yield Refusal("outcomes", "all outcomes are the same, so that nothing says how sure this is")
