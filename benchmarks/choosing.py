"""What the best of several candidates is worth on fresh clusters, and what is lost by it: simulated studies.

Correlations of 20 candidates with the truth lie between two ends, in groups of equal ones. Users have levels
of their own, and errors of candidates are alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.shares import row
from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.resampling.choice import best_of
from metaeval.stats.resampling.rank_ranges import contributions
from metaeval.stats.weighted.statistic import statistic
from metaeval.stats.weighted.sums import Clusters

if TYPE_CHECKING:
    from collections.abc import Iterator

CANDIDATES = 20
DESIGNS = {"": (30, 0.1), ", few units": (10, 0.2)}
"""What a row is called → units of a user, and the share of users' levels in the variance."""
COVER, BOUND, BIAS = (0.92, 0.97), (0.98, 1.0), 0.026


def chosen(studies: int, users: int, low: float, high: float, design: str) -> Iterator[dict[str, Any]]:
    """Yield how often intervals of the chosen one's value hold it, and bounds of what is lost by it."""
    units, own = DESIGNS[design]
    rng, user = np.random.default_rng(users), np.repeat(np.arange(users), units)
    true = np.repeat(np.linspace(low, high, CANDIDATES // 4), 4)
    clusters, group = Clusters(user, users), Grouping(np.zeros(user.size, dtype=np.int64), 1)

    def values(n: int) -> Any:  # noqa: ANN401 - an array
        levels = rng.normal(0, np.sqrt(own), (n, users))[:, user]
        return levels + rng.normal(0, np.sqrt(1 - own), (n, user.size))

    covers = naive = bounded = 0
    off, shown_off, said, lost = [], [], [], []
    for seed in range(studies):
        y, errors = values(1)[0], np.sqrt(0.5) * (values(1) + values(CANDIDATES))
        scores = true[:, None] * y + np.sqrt(1 - true[:, None] ** 2) * errors
        each = [statistic(x, y, group, clusters, ["pearson"]) for x in scores]
        estimates = np.array([of.at(np.ones((users, 1)))[0, 0] for of in each])
        psi = np.stack([contributions(of, users)[-1] for of in each])
        found = best_of(estimates, psi, seed=seed)
        value, shown = true[found.chosen], estimates[found.chosen]
        covers += found.low <= value <= found.high
        half = 2 * psi[found.chosen].std(ddof=1) / np.sqrt(users)
        naive += abs(shown - value) <= half
        bounded += true.max() - value <= found.most
        off.append(found.fresh - value)
        shown_off.append(shown - value)
        said.append(found.loss)
        lost.append(true.max() - value)
    bias = float(np.mean(off))
    more = {"bias_fresh": round(bias, 4), "bias_shown": round(float(np.mean(shown_off)), 4)}
    name = f"choosing: the best of {CANDIDATES}, {users} users, r of {low:g} to {high:g}{design}"
    found_row = row(f"{name}, its value on fresh users", studies, {"covers": covers / studies}, COVER, **more)
    by_chance = 2.6 * float(np.std(off)) / np.sqrt(studies)
    yield found_row | {"held": found_row["held"] and abs(bias) <= BIAS + by_chance}
    yield row(f"{name}, as shown, plain interval", studies, {"covers": naive / studies}, (0.0, 1.0))
    losses = {"expected": round(float(np.mean(said)), 4), "loss": round(float(np.mean(lost)), 4)}
    yield row(f"{name}, what is lost at most", studies, {"bounded": bounded / studies}, BOUND) | {
        f"bias_{key}": value for key, value in losses.items()
    }


def run(studies: int, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    for users in (20,) if quick else (10, 20, 40):
        for low, high in ((0.2, 0.35),) if quick else ((0.3, 0.3), (0.2, 0.35)):
            for design in [""] if quick else DESIGNS:
                yield from chosen(studies, users, low, high, design)
