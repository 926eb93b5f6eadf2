"""Off-policy estimates of simulated bandits: coverage of intervals, and errors where a model is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from benchmarks.shares import COVERS, row
from benchmarks.simulated_bandits import bandit
from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.exposure.off_policy.evaluation import evaluate
from metaeval.kinds.exposure.study import OffPolicy
from metaeval.stats.off_policy.estimators import Estimator, Rounds, policy_sums

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.simulated_bandits import Bandit
    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.off_policy.estimators import EstimatorName

NAMES: tuple[EstimatorName, ...] = ("ips", "snips", "dr")
EVERY: tuple[EstimatorName, ...] = (*NAMES, "switch-dr", "dros")
Wrong: TypeAlias = Literal["nothing", "model", "propensities", "both"]


def covered(
    logs: int, users: int, *, resamples: int = 1_000, names: Sequence[EstimatorName] = NAMES
) -> dict[str, float]:
    """Return how often 95 % intervals over users hold the known value."""
    rng = np.random.default_rng(users)
    hits = dict.fromkeys(names, 0)
    for i in range(logs):
        simulated = bandit(rng, users)
        wanted, how = OffPolicy(estimators=tuple(names)), Bootstrap(resamples=resamples, seed=i)
        for value in evaluate(simulated.log, simulated.policy, wanted, how).estimates:
            name, found = value.estimator.name, value.estimate
            hits[name] += found.low <= simulated.value <= found.high
    return {name: count / logs for name, count in hits.items()}


def errors(logs: int, users: int, *, wrong: Wrong, bias: bool = False) -> dict[str, float]:
    """Return mean squared errors, or biases, of estimates from right or wrong propensities and models.

    The right model is the one that made the outcomes; the wrong one says the same of all items. Wrong
    propensities say that items are shown alike.
    """
    rng = np.random.default_rng(users)
    off = np.array([_estimates(bandit(rng, users), wrong) for _ in range(logs)])
    found = off.mean(axis=0) if bias else (off**2).mean(axis=0)
    return dict(zip(NAMES, found.tolist(), strict=True))


def _estimates(simulated: Bandit, wrong: Wrong) -> Floats:
    """Return how far each estimate is off the value."""
    log, table, group = simulated.log, simulated.policy.table, simulated.group
    interest = simulated.interest
    if wrong in ("model", "both"):
        interest = np.full_like(interest, 0.3)
    propensity = log.propensity
    if wrong in ("propensities", "both"):
        propensity = np.full(len(log), 1 / len(log.items))
    weight = table[group, log.item] / propensity
    rounds = Rounds(log.outcome, weight, interest[group, log.item], (table * interest).sum(axis=1)[group])
    sums = policy_sums([(rounds, log.cluster)], log.n_clusters, [Estimator(name) for name in NAMES])
    return np.asarray(sums.statistic.at(np.ones((sums.n_clusters, 1)))[: len(NAMES), 0] - simulated.value)


def run(studies: int, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the coverage of intervals by the number of users."""
    for users in (300,) if quick else (100, 300, 1_000):
        what = f"off-policy values of simulated bandits, {users:,} users with levels of their own"
        yield row(what, studies, covered(studies, users, names=EVERY), COVERS if users >= 300 else (0.0, 1.0))
