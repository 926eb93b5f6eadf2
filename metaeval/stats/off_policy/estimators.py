"""Off-policy estimates as sums by cluster: what each round adds, then every resample is cheap.

A round is one exposure: an action, an item at a position, that the logging policy chose with probability p
and that the evaluated policy would choose with probability π. Its weight is w = π / p; y is its outcome, q
the outcome that a model predicts for the action, v the mean prediction over the evaluated policy's actions.
Every estimate but one is a sum over rounds divided by another one; SNDR adds two such ratios:

============  ===================  =====  ==========================================================
estimator     above                below  source
============  ===================  =====  ==========================================================
naive         y                    1      the mean outcome of the log: of the policy that made it
direct        v                    1      Dudík, Langford & Li 2011
ips           ŵ y                  1      Horvitz & Thompson 1952; Dudík et al. 2011
snips         ŵ y                  ŵ      Swaminathan & Joachims 2015
dr            v + ŵ (y - q)        1      Dudík et al. 2011
sndr          v                    1      Thomas & Brunskill 2016; plus Σ ŵ (y - q) / Σ ŵ
switch-dr     v + ŵ (y - q)        1      Wang, Agarwal & Dudík 2017
dros          v + ŵ (y - q)        1      Su, Dimakopoulou, Krishnamurthy & Dudík 2020
============  ===================  =====  ==========================================================

ŵ is w, or a function of it: clipped, min(w, c); trimmed, w where w ≤ c and else 0; shrunk, λ w / (w² + λ).
Switch-DR trims, DRos shrinks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.off_policy.overlap import OFTEN, THIN, WORST, Support, WeightTotals
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio

EstimatorName: TypeAlias = Literal["naive", "direct", "ips", "snips", "dr", "sndr", "switch-dr", "dros"]
ESTIMATORS: tuple[EstimatorName, ...] = get_args(EstimatorName)
Change: TypeAlias = Literal["none", "clip", "trim", "shrink"]
CHOSEN: dict[EstimatorName, Change] = {"switch-dr": "trim", "dros": "shrink"}
"""Estimators whose weights are changed by a number that the data choose."""
MODELLED: tuple[EstimatorName, ...] = ("direct", "dr", "sndr", "switch-dr", "dros")
"""Estimators that need a model of outcomes."""
UNWEIGHTED: tuple[EstimatorName, ...] = ("naive", "direct")
GRID = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 10_000.0)
"""Thresholds, and roots of λ, among which the data choose."""
_MOST = 2**14  # clusters that are resampled; of more, random ones stand together


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
    """Rounds of a log, shape (n,) each."""

    outcome: Floats
    weight: Floats
    """The evaluated policy's probability of the logged action, divided by the logging policy's."""
    predicted: Floats | None = None
    """A model's outcome of the logged action."""
    expected: Floats | None = None
    """Its mean over the evaluated policy's actions."""
    count: Floats | None = None
    """How often a round counts among those in which the policy would act; None: each once. Where a log has
    rows of users at their own pace, and the policy serves users alike, it is less than 1 for busy ones."""

    @property
    def counts(self) -> Floats:
        """How often each round counts."""
        return np.ones(len(self.outcome)) if self.count is None else self.count

    def terms(self, estimator: Estimator) -> tuple[Floats, Floats]:
        """Return what the rounds add above and below the division, shape (n,) each.

        Of SNDR these are the terms of its correction; `policy_sums` adds the direct method.
        """
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
        if estimator.name == "sndr":
            return changed * (y - self.predicted), changed
        return expected + changed * (y - self.predicted), self.counts

    def bias(self, weighting: Weighting) -> Floats:
        """Return what the rounds add to the estimated bias of changed weights, (w - ŵ) (y - q)."""
        if self.predicted is None:
            raise ValueError("the bias of changed weights is judged by predicted outcomes")
        return (self.weight - weighting.of(self.weight)) * (self.outcome - self.predicted)


@dataclass(frozen=True, slots=True, eq=False)
class PolicySums:
    """Sums by cluster of every estimator's terms, and totals of every weighting's weights."""

    estimators: tuple[Estimator, ...]
    """With the numbers that the data choose."""
    statistic: ClusterSums
    """The estimates, and then each divided by the naive mean (the value of the logging policy), as a function
    of cluster weights, under which the numbers are chosen again."""
    weights: dict[Weighting, WeightTotals]
    varied: bool
    """Whether there is more than one outcome among the rounds whose weight is not 0."""

    @property
    def n_clusters(self) -> int:
        """How many clusters there are to resample."""
        return int(self.statistic.by_cluster.shape[-1])


def blocks(n_clusters: int) -> Ints:
    """Return the block of each cluster, which is resampled whole: the cluster itself.

    More than 16,384 are put together at random: sums then fit in memory, and resamples are as good.
    """
    if n_clusters <= _MOST:
        return np.arange(n_clusters)
    return np.random.default_rng(0).permutation(n_clusters) % _MOST


def policy_sums(
    parts: Iterable[tuple[Rounds, Ints]], n_clusters: int, estimators: Sequence[Estimator]
) -> PolicySums:
    """Sum the terms of rounds and the cluster of each, a part of the log at a time.

    Switch-DR and DRos without a number get the one with the least estimated mean squared error among `GRID`
    (Su et al. 2020): the squared mean of (w - ŵ)(y - q), and the squared standard error.
    """
    bins, block = min(n_clusters, _MOST), blocks(n_clusters)
    candidates = [_candidates(e) for e in estimators]
    naive, direct = Estimator("naive"), Estimator("direct")
    corrected = [i for i, e in enumerate(estimators) if e.name == "sndr"]
    every = list(
        dict.fromkeys([naive, *([direct] if corrected else []), *(c for group in candidates for c in group)])
    )
    places = [[every.index(c) for c in group] for group in candidates]
    judged = {at for group in places if len(group) > 1 for at in group}
    weightings = list(dict.fromkeys([PLAIN, *(e.weighting for e in every)]))
    above, below, bias = np.zeros((3, len(every), bins))
    weight, n = np.zeros((len(weightings), bins)), np.zeros(bins)
    squares, largest = np.zeros((2, len(weightings)))
    least, most = np.inf, -np.inf
    for rounds, cluster in parts:
        at = block[cluster]
        n += np.bincount(at, rounds.counts, bins)
        for i, weighting in enumerate(weightings):
            changed = weighting.of(rounds.weight)
            weight[i] += np.bincount(at, changed, bins)
            squares[i] += changed @ changed
            largest[i] = max(largest[i], changed.max(initial=0.0))
        for i, estimator in enumerate(every):
            for sums, terms in zip((above, below), rounds.terms(estimator), strict=True):
                sums[i] += np.bincount(at, terms, bins)
            if i in judged:
                bias[i] += np.bincount(at, rounds.bias(estimator.weighting), bins)
        counted = rounds.outcome[rounds.weight > 0]
        least, most = min(least, counted.min(initial=np.inf)), max(most, counted.max(initial=-np.inf))
    noise = standard_error(weight, np.broadcast_to(n, weight.shape))
    totals = {
        weighting: WeightTotals(
            *map(float, (round(n.sum()), weight[i].sum(), squares[i], largest[i], noise[i]))
        )
        for i, weighting in enumerate(weightings)
    }
    varied = bool(least < most)
    first = np.array([[group[0]] for group in places])

    def chosen(sums: Floats) -> Ints:
        """Return the candidate of each estimator with the least error, shape (estimators, columns)."""
        if not judged:
            return np.repeat(first, sums.shape[-1], axis=1)
        above, below, bias, aa, ab, bb = sums
        value = ratio(above, below)
        squared = (aa - 2 * value * ab + value**2 * bb) * bins / max(1, bins - 1)
        error = bias**2 + squared  # of the sum: all candidates are divided by the same number
        return np.stack([np.array(group)[error[group].argmin(axis=0)] for group in places])

    def values(sums: Floats) -> Floats:
        means = ratio(sums[0], sums[1])
        found = np.take_along_axis(means, chosen(sums), axis=0)
        if corrected:
            found[corrected] += means[every.index(direct)]
        return np.concatenate([found, ratio(found, np.broadcast_to(means[:1], found.shape))])

    squared = [bias, above**2, above * below, below**2] if judged else []
    statistic = ClusterSums(np.stack([above, below, *squared]), values, smooth=not judged)
    best = chosen(statistic.sums(np.ones((bins, 1))))[:, 0]
    return PolicySums(tuple(every[at] for at in best), statistic, totals, varied)


def _candidates(estimator: Estimator) -> list[Estimator]:
    change = CHOSEN.get(estimator.name)
    if change is None or estimator.weighting != PLAIN:
        return [estimator]
    return [estimator._replace(weighting=Weighting(change, g if change == "trim" else g**2)) for g in GRID]


def standard_error(above: Floats, below: Floats) -> Floats:
    """Return standard errors of ratios of sums by cluster, shape (values, clusters), by linearisation.

    NaN of fewer than two clusters.
    """
    n = above.shape[1]
    if n < 2:
        return np.full(len(above), np.nan)
    value = ratio(above.sum(axis=1), below.sum(axis=1))
    influence = (above - value[:, None] * below) / below.sum(axis=1, keepdims=True)
    return np.asarray(np.sqrt((influence**2).sum(axis=1) * n / (n - 1)))


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
