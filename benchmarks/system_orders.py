"""Coverage of intervals of τ between the orders of systems by a judge's labels and by the truth's.

A system's value for a user is its true mean, what the user brings to every system, and noise; that by the
judge and by the truth go together, for both see the same list. Systems may come in families, whose true means
are near each other and whose noise goes together, as runs of one group do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.shares import COVERS, row
from metaeval.kinds.relevance.measures import MeasurePair
from metaeval.kinds.relevance.systems.agreement import tau_interval
from metaeval.kinds.relevance.systems.effectiveness import Effectiveness
from metaeval.stats.ranking.orders import tau_of, tau_of_means
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap
from metaeval.stats.resampling.weights import one_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.stats.coefficients.tables import Floats

SYSTEMS, USERS = (10, 14, 30), (30, 60, 200)
NOISE = 1.5  # standard deviation of a value for a user; that of true means is about 1
SHARED = 0.6  # correlation of the noise by the judge with that by the truth
PAIR = MeasurePair("judge", "truth")


@dataclass(frozen=True, slots=True)
class Systems:
    """How systems are related."""

    name: str
    size: int
    """Systems of a family."""
    within: float
    """Share of the variance of true means that is within families."""
    alike: float
    """Correlation of the noise within families."""


UNRELATED = Systems("unrelated systems", 1, 0.0, 0.0)
FAMILIES = Systems("families of systems", 3, 0.2, 0.7)


def study(
    rng: np.random.Generator, systems: int, users: int, how: Systems
) -> tuple[Effectiveness, Effectiveness, float]:
    """Return the values by the judge and by the truth, and τ of the true means."""
    family = np.arange(systems) // how.size

    def together(share: float, *shape: int) -> Floats:
        of_family = rng.normal(size=(family[-1] + 1, *shape))[family]
        return np.asarray(
            np.sqrt(share) * of_family + np.sqrt(1 - share) * rng.normal(size=(systems, *shape))
        )

    true = together(1 - how.within)
    by_judge = 0.9 * true + np.sqrt(1 - 0.9**2) * rng.normal(size=systems)
    noise = together(how.alike, users)
    own = SHARED * noise + np.sqrt(1 - SHARED**2) * together(how.alike, users)
    level = rng.normal(size=(2, users))
    values = (by_judge[:, None] + NOISE * own + level[0], true[:, None] + NOISE * noise + level[1])
    everybody, nobody = np.ones((1, users), dtype=bool), np.zeros(systems, dtype=np.int64)
    judge, truth = (
        Effectiveness({name: of_user}, {}, everybody, nobody)
        for name, of_user in zip(PAIR, values, strict=True)
    )
    return judge, truth, tau_of(by_judge, true)


@one_thread()
def covered(studies: int, systems: int, users: int, how: Systems, *, draws: int = 1000) -> dict[str, Any]:
    """Return how often 95 % intervals hold τ of the true means, and how often those of a bootstrap would."""
    rng = np.random.default_rng([systems, users, how.size])
    hits = of_bootstrap = none = 0
    bias = np.zeros(2)
    for i in range(studies):
        judge, truth, exact = study(rng, systems, users, how)
        resampler = Resampler(users, draws, i)
        found = tau_interval(judge, truth, PAIR, resampler)
        if found.reason:
            none += 1
            continue
        hits += found.low - 1e-8 <= exact <= found.high + 1e-8
        statistic = tau_of_means(judge.sums(PAIR.judge), truth.sums(PAIR.truth))
        drawn = bootstrap(statistic, resampler, stretch=False)
        of_bootstrap += drawn.low[0] - 1e-8 <= exact <= drawn.high[0] + 1e-8
        bias += [drawn.value[0] - exact, found.corrected - exact]
    n = studies - none
    return row(
        f"order of {systems} systems, {users} users, {how.name}",
        n,
        {"tau": float(hits / n)},
        COVERS,
        without_interval=none,
        bootstrap=round(float(of_bootstrap / n), 4),
        bias_plain=round(float(bias[0]) / n, 3),
        bias_corrected=round(float(bias[1]) / n, 3),
    )


def run(studies: int, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    for systems in SYSTEMS[1:2] if quick else SYSTEMS:
        for users in USERS[1:2] if quick else USERS:
            for how in (UNRELATED, FAMILIES):
                yield covered(studies, systems, users, how)
