"""Logs of bandits whose policies have known values, sound or with one planted failure of overlap.

The model. A user belongs to a group, and has a level of interest of its own. The appeal of an item differs by
group. The logging policy prefers items by a softmax of what it believes of them, the evaluated policy by
another one; an outcome is 1 with a probability that is the group's interest in the item and the user's level,
added. Levels have mean 0, so that the value of a policy is a sum over groups and items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from metaeval.kinds.exposure.off_policy.policies import LogArrays, TargetPolicy

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats

GROUPS = 4
Failure = Literal[
    "missing items", "tiny propensities", "wrong propensities", "deterministic log", "few rounds"
]
FAILURES: tuple[Failure, ...] = get_args(Failure)


@dataclass(frozen=True, slots=True, eq=False)
class Bandit:
    """A log, a policy to evaluate, its true value, and the true mean outcomes of items in groups."""

    log: LogArrays
    policy: TargetPolicy
    value: float
    interest: Floats
    """Shape (groups, items)."""
    group: np.ndarray[tuple[int], np.dtype[np.integer]]


def bandit(
    rng: np.random.Generator, users: int, *, items: int = 12, failure: Failure | None = None
) -> Bandit:
    """Simulate a log of 1 to 9 rounds per user."""
    if failure == "few rounds":
        users = 15
    cluster = np.repeat(np.arange(users), rng.integers(1, 10, users))
    n = len(cluster)
    group = rng.integers(0, GROUPS, users)[cluster]
    appeal, taste = rng.normal(size=items), rng.normal(size=(GROUPS, items))
    interest = 0.15 + 0.5 / (1 + np.exp(-(appeal + taste)))
    level = rng.uniform(-0.15, 0.15, users)[cluster]
    logging, evaluated = (
        _softmax(0.7 * appeal + 0.3 * rng.normal(size=(GROUPS, items))),
        _softmax(0.8 * taste),
    )
    if failure == "missing items":
        logging[:, rng.permutation(items)[: items // 3]] = 0.0
    if failure == "tiny propensities":
        logging[:, np.argsort(-evaluated.mean(axis=0))[: items // 4]] *= 1e-4
    if failure == "deterministic log":
        logging = np.eye(items)[rng.integers(0, items, GROUPS)]
    logging /= logging.sum(axis=1, keepdims=True)
    item = (rng.random(n)[:, None] > np.cumsum(logging, axis=1)[group]).sum(axis=1)
    item = np.minimum(item, items - 1)
    outcome = (rng.random(n) < interest[group, item] + level).astype(np.float64)
    propensity = logging[group, item]
    if failure == "wrong propensities":
        wrong = np.ones(items)
        wrong[rng.permutation(items)[: items // 2]] = 3.0
        propensity = np.minimum(1.0, propensity * rng.choice([wrong, np.full(items, 1.5)])[item])
    names = [f"i{i:03}" for i in range(items)]
    codes = item.astype(np.int32), group.astype(np.int32), cluster.astype(np.int32)
    log = LogArrays(
        outcome,
        propensity,
        codes[0],
        names,
        np.zeros(n, np.int32),
        [1],
        codes[2],
        users,
        context={"group": codes[1]},
    )
    # The mean over the groups as the population has them.
    value = float((evaluated * interest).sum(axis=1).mean())
    return Bandit(log, TargetPolicy("evaluated", names, evaluated, codes[1]), value, interest, group)


def _softmax(values: Floats) -> Floats:
    found = np.exp(values)
    return np.asarray(found / found.sum(axis=1, keepdims=True))
