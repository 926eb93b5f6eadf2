"""How often units that judges decide agree with people less than the target: simulated studies.

Users differ in how well judges agree with them; some users are rated by people, the others are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.shares import AT_MOST, row
from metaeval.stats.agreement.escalation import cascade
from metaeval.stats.weighted.sums import Clusters

if TYPE_CHECKING:
    from collections.abc import Iterator

USERS, UNITS, ALPHA, DELTA = 1_000, 10, 0.1, 0.05  # units of a user


def missed(studies: int, labelled: int, own: float) -> dict[str, Any]:
    """Return how often a cheap and a strong judge agree in less than 1 - alpha of what they decide."""
    rng, user = np.random.default_rng(labelled), np.repeat(np.arange(USERS), UNITS)
    lost, left = 0, []
    for _ in range(studies):
        sure = rng.normal(0, 1, (2, user.size))
        level = rng.normal(0, own, USERS)[user]
        chance = 1 / (1 + np.exp(-(np.array([[0.7], [1.7]]) + 1.5 * sure + level)))
        right = (rng.random(sure.shape) < chance).astype(float)
        found = cascade(
            sure,
            np.where(user < labelled, right, np.nan),
            Clusters(user, USERS),
            alpha=ALPHA,
            delta=DELTA,
        )
        decided = np.flatnonzero((found.route < 2) & (user >= labelled))
        lost += decided.size > 0 and float(right[found.route[decided], decided].mean()) < 1 - ALPHA
        left.append(float((found.route == 2).mean()))
    name = f"escalating: {labelled} users with ratings, levels of users {own:g}"
    return row(name, studies, {"missed": lost / studies}, AT_MOST, people=round(float(np.mean(left)), 3))


def run(studies: int, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    for labelled in (80,) if quick else (40, 80, 200):
        for own in (0.0, 1.0):
            yield missed(studies, labelled, own)
