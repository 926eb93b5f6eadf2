"""The value of a policy by each estimator: weights, a model of outcomes, intervals, overlap and refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.exposure.off_policy.policies import (
    EXPECTED,
    PREDICTION,
    UNIFORM,
    LogArrays,
    Predictions,
    TargetPolicy,
    numbered,
    predicted,
    uniform,
)
from metaeval.kinds.exposure.study import REFITS, OffPolicy
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.off_policy.estimators import (
    MODELLED,
    PLAIN,
    RULE,
    UNWEIGHTED,
    Estimator,
    Overlap,
    PolicySums,
    Refusal,
    Rounds,
    blocks,
    policy_sums,
    refusals,
    standard_error,
)
from metaeval.stats.off_policy.overlap import UNKNOWN, WeightTotals, support_of, worst_imbalance
from metaeval.stats.regression.propensity import OutcomeCells, fit_outcomes
from metaeval.stats.resampling.bootstrap import NOTHING, Estimate, each, estimated, refitted_interval
from metaeval.stats.resampling.cluster_sums import mean_of
from metaeval.stats.resampling.weights import one_thread

FOLDS = 5
"""Folds of users; each is predicted by a model of the others."""


@dataclass(frozen=True, slots=True, eq=False)
class PolicyValue:
    """The value of a policy by one estimator; given also where it is refused."""

    estimator: Estimator
    estimate: Estimate[float]
    relative: Estimate[float]
    """The same, divided by the value of the logging policy."""
    weights: WeightTotals
    """Of the weights as the estimator uses them."""
    refusals: list[Refusal]
    errors: Floats
    """Relative errors in subsamples; none if the policy's value is not known."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """What the log of one policy says of another."""

    policy: str
    estimates: list[PolicyValue]
    overlap: Overlap
    log: LogArrays
    random: Estimate[float]
    """The mean outcome of the random sample; undefined if there is none."""
    on_policy: float
    """The value that the policy had; NaN if it is not known."""


@dataclass(frozen=True, slots=True)
class ByColumn:
    """A statistic that is worked out for each column of weights alone, since models are fitted again."""

    value: Callable[[Floats], Floats]
    """Weights, shape (clusters,) → values, shape (values,)."""

    def at(self, weights: Floats) -> Floats:
        """Return the values under each column of weights, shape (values, columns)."""
        return np.stack([self.value(column) for column in weights.T], axis=1)


@one_thread()
def evaluate(
    log: LogArrays,
    policy: TargetPolicy,
    options: OffPolicy,
    intervals: Bootstrap | None = Bootstrap(),  # noqa: B008 - frozen
    *,
    refits: int = REFITS,
    predictions: Predictions | None = None,
    on_policy: float = np.nan,
) -> Evaluation:
    """Estimate the value of a policy, the mean outcome that it would have had.

    Users are resampled, or rounds where the log has no users. In so many ``refits`` propensities, if they are
    fitted, and the model of the direct method are fitted again. These are few, so that the interval is the
    estimate ± the t quantile × their standard deviation; fewer than two give no interval. Other estimates
    with a model have it fitted once. One's own ``predictions`` take the place of the model.

    With the value ``on_policy`` that the policy had, relative errors are also given in so many
    ``options.subsamples``: bootstrap samples of the log, as in the protocol of Saito et al. (2021).
    """
    own, wanted = predicted(log, policy, predictions), options.list()
    estimators = [e for e in wanted if e.name not in MODELLED or own or len(policy.table)]
    modelled = own is None and any(e.name in MODELLED for e in estimators)
    outcomes = outcomes_of(log, policy, intervals.seed if intervals else 0) if modelled else None
    evaluated = Evaluated(log, policy, outcomes, own)
    sums = evaluated.sums(estimators)
    n, many = sums.n_clusters, len(estimators)
    estimates = each(estimated(sums.statistic, n, intervals.resampler(n) if intervals else None))
    fixed = {"naive", "direct"} if own else {"naive"}
    anew = [i for i, e in enumerate(estimators) if e.name not in fixed and (log.fitted or e.name == "direct")]
    if intervals and anew:
        at = [*anew, *(many + i for i in anew)]
        for i in at:
            estimates[i] = Estimate(estimates[i].value, np.nan, np.nan, n)
        if refits > 1:
            resampler = intervals.model_copy(update={"resamples": refits}).resampler(n)
            refitted = refitted_interval(evaluated.refitted([estimators[i] for i in anew]), resampler)
            for i, estimate in zip(at, each(refitted), strict=True):
                estimates[i] = estimate
    errors = np.empty((many, 0))
    if on_policy == on_policy and options.subsamples and intervals:  # noqa: PLR0124 NaN
        resampler = intervals.model_copy(update={"resamples": options.subsamples}).resampler(n)
        drawn = resampler.replicates(
            evaluated.refitted(estimators) if log.fitted or modelled else sums.statistic
        )
        errors = np.abs(drawn[:many] / on_policy - 1)
    overlap, values = overlap_of(log, policy, sums), []
    for i, estimator in enumerate(sums.estimators):
        weights = sums.weights[PLAIN if estimator.name in UNWEIGHTED else estimator.weighting]
        own_model = estimator.name == "direct" and own is not None
        refused = refusals(estimator, weights, replace(overlap, contradicted="") if own_model else overlap)
        values.append(PolicyValue(estimator, estimates[i], estimates[many + i], weights, refused, errors[i]))
    for estimator in wanted:
        if estimator not in estimators:
            text = (
                f"the policy gives no more than the probability of the logged item: add columns {PREDICTION} "
            )
            refused = [Refusal("predictions", f"{text}and {EXPECTED} to its file")]
            none = np.empty(0)
            values.append(PolicyValue(estimator, NOTHING, NOTHING, overlap.weights, refused, none))
    random = NOTHING
    if log.sample is not None:
        mean, users = mean_of(*log.sample[:, None]), log.sample.shape[1]
        (random,) = each(estimated(mean, users, intervals.resampler(users) if intervals else None))
    return Evaluation(policy.name, values, overlap, log, random, on_policy)


def contradiction(log: LogArrays) -> str:
    """Say how the random sample contradicts fitted propensities; "" if it does not.

    The two are compared where the sample is of: in the mean over all users and items, which SNIPS estimates.
    """
    if log.sample is None or not log.fitted:
        return ""
    (estimator,) = every = [Estimator("snips")]
    sums = Evaluated(log, uniform(log), None).sums(every)
    value = float(sums.statistic.at(np.ones((sums.n_clusters, 1)))[0, 0])
    total, n = log.sample
    mean = total.sum() / n.sum()
    above, below = sums.statistic.by_cluster[:2, -1:]
    error = float(np.hypot(standard_error(above, below), standard_error(total[None], n[None]))[0])
    if abs(value - mean) <= RULE.noise * error + RULE.contradicted * float(log.outcome.std()):
        return ""
    return (
        f"weighted by {log.source} propensities, the mean over all users and items is {value:.3f} "
        f"({estimator.name}), and in the random sample it is {mean:.3f}; those by naive-bayes use that sample"
    )


def overlap_of(log: LogArrays, policy: TargetPolicy, sums: PolicySums) -> Overlap:
    """Return how far the log shows what the policy would do, by position; and what weights do to contexts."""
    places, items = len(log.positions), len(policy.items)
    cell = log.position.astype(np.int64) * items + log.item
    shown, inverse, squares = (
        np.bincount(cell, by, places * items).reshape(places, items).astype(np.float64)
        for by in (None, 1 / log.propensity, 1 / log.propensity**2)
    )
    weight = np.concatenate([weights_of(log, policy, part) for part in log.parts()])
    imbalances = [worst_imbalance(code, weight) for code in (log.position, *log.context.values())]
    worst = max(imbalances, key=lambda imbalance: abs(imbalance[1]))
    support, sampled = UNKNOWN, log.source == "naive-bayes" and policy.name == UNIFORM
    if len(policy.table) and not sampled:
        rows = len(policy.table)
        row = log.position.astype(np.int64) * rows + policy.row
        mass = np.bincount(row, minlength=places * rows).reshape(places, rows) @ policy.table
        support = support_of(shown, inverse, squares, mass)
    # Propensities by outcome alone misplace items and contexts; the random sample knows the mean over all.
    return Overlap(
        support, (0.0, 0.0) if sampled else worst, sums.weights[PLAIN], sums.varied, contradiction(log)
    )


def weights_of(log: LogArrays, policy: TargetPolicy, part: slice) -> Floats:
    """Return the weight of each round of a part: the policy's probability, divided by the propensity."""
    return policy.logged(log, part) / log.propensity[part]


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """A log, the policy that is evaluated, and outcomes to fit a model to; None if no estimator has one."""

    log: LogArrays
    policy: TargetPolicy
    outcomes: Outcomes | None
    own: tuple[Floats, Floats] | None = None
    """Predictions of one's own: of the logged items, and their means under the policy."""

    def sums(self, estimators: Sequence[Estimator], users: Floats | None = None) -> PolicySums:
        """Return the sums of estimators; ``users`` says how often each cluster counts in fits of models.

        Without it each counts once, and propensities are those that there are.
        """
        log = self.log if users is None else self.log.refitted(users)
        predict = None
        if self.outcomes is not None and any(e.name in MODELLED for e in estimators):
            predict = self.outcomes.predictions(users)

        def rounds() -> Iterator[tuple[Rounds, Ints]]:
            for part in log.parts():
                of_logged, expected = predict(part) if predict else (None, None)
                if self.own is not None:
                    of_logged, expected = (values[part] for values in self.own)
                count = None if log.count is None else log.count[part]
                weight = weights_of(log, self.policy, part)
                yield Rounds(log.outcome[part], weight, of_logged, expected, count), log.cluster[part]

        return policy_sums(rounds(), log.n_clusters, estimators)

    def refitted(self, estimators: Sequence[Estimator]) -> ByColumn:
        """Return estimates whose models are all fitted again, by weights of blocks of clusters."""
        block = blocks(self.log.n_clusters)
        return ByColumn(lambda w: self.sums(estimators, w[block]).statistic.at(w[:, None])[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Outcomes of a log by situation (context, position and fold) and item, to which models are fitted."""

    log: LogArrays
    policy: TargetPolicy
    cells: OutcomeCells
    situation: Ints
    """Of each round."""
    cell: Ints
    meeting: Ints
    """Of each round: which situation and row of the policy meet."""
    first: Ints
    """The first round of each meeting."""

    def predictions(self, users: Floats | None = None) -> Callable[[slice], tuple[Floats, Floats]]:
        """Fit outcomes, with each user counted so many times, and predict each by a fit to other users.

        Returns a function of a part of the rounds: outcomes of the logged items, and means under the policy.
        """
        log, table, row = self.log, self.policy.table, self.policy.row[self.first]
        times = np.ones(len(log)) if users is None else users[log.cluster]
        n, total = (np.bincount(self.cell, by).astype(np.float64) for by in (times, times * log.outcome))
        logistic = bool(np.isin(log.outcome, (0.0, 1.0)).all())
        model = fit_outcomes(replace(self.cells, n=n, total=total), table.shape[1], logistic=logistic)
        expected = model.expected_under(self.situation[self.first], table, row)
        return lambda part: (model.at(self.situation[part], log.item[part]), expected[self.meeting[part]])


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
