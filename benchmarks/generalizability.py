"""Coverage of intervals of how far users share an order of generators, and of means of prompts.

A user's effect of a generator is the common one and one of the user's own; an item of a user has a level, and
a rating noise. Ratings are whole numbers from 1 to 5. What is estimated is found from very many users.
The mean of a family of prompts is that of all that might have been drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.shares import COVERS, row
from metaeval.stats.regression.generalizability import (
    OwnEffects,
    SharedOrder,
    shared_order,
    total_interval,
    variance_of_mean,
)
from metaeval.stats.resampling.weights import one_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.stats.coefficients.tables import Floats

GENERATORS, USERS, ITEMS = 8, (20, 40, 100), 8
SHOWN = 0.9  # share of the generators that a user sees of an item
POPULATION = 10_000
ORDER_COVERS = (0.93, 0.98)


@dataclass(frozen=True, slots=True)
class Orders:
    """How far users share an order; standard deviations of ratings whose noise has 1."""

    name: str
    common: float
    own: float


SHARED, OWN = Orders("a shared order", 0.5, 0.4), Orders("orders of their own", 0.4, 0.6)


def common_effects(how: Orders) -> Floats:
    """Return the common effect of each generator."""
    spread = np.linspace(-1, 1, GENERATORS)
    return np.asarray(how.common * spread / spread.std(ddof=1))


def found(rng: np.random.Generator, users: int, how: Orders) -> SharedOrder:
    """Return what a study of so many users finds."""
    shape = (users, ITEMS, GENERATORS)
    own = how.own * rng.normal(size=(users, 1, GENERATORS))
    level = rng.normal(size=(users, ITEMS, 1))
    ratings = np.clip(np.rint(3 + common_effects(how) + own + level + rng.normal(size=shape)), 1, 5)
    shown = np.flatnonzero(rng.random(shape) < SHOWN)
    user, item, generator = np.unravel_index(shown, shape)
    values = ratings.ravel()[shown]
    effects = OwnEffects.of(values, generator, item, user, (users, GENERATORS))
    return shared_order(effects)


@one_thread()
def covered(studies: int, users: int, how: Orders) -> dict[str, Any]:
    """Return how often 95 % intervals hold ρ."""
    exact = found(np.random.default_rng(1), POPULATION, how).rho
    rng = np.random.default_rng([users, int(100 * how.own)])
    drawn = [found(rng, users, how) for _ in range(studies)]
    known = [s for s in drawn if s.reason is None]
    hits = sum(s.low <= exact <= s.high for s in known)
    return row(
        f"whose order: ρ, {users} users with {how.name}",
        len(known),
        {"coverage": hits / len(known)},
        ORDER_COVERS,
        refused=studies - len(known),
        bias_rho=round(float(np.mean([s.rho for s in known])) - exact, 3),
    )


def family(studies: int, clusters: int, prompts: int, own: float) -> dict[str, Any]:
    """Return how often 95 % intervals hold the mean of all prompts, whose standard deviation is ``own``.

    What a cluster adds has 0.5, and what it adds to one prompt alone 0.4.
    """
    from scipy.special import stdtrit

    rng = np.random.default_rng([clusters, prompts, int(1000 * own)])
    hits = np.zeros(2)
    for _ in range(studies):
        table = own * rng.normal(size=(prompts, 1)) + 0.5 * rng.normal(size=clusters)
        table = table + 0.4 * rng.normal(size=(prompts, clusters))
        values = table.mean(axis=1)
        alone = variance_of_mean(table - values[:, None])
        found = total_interval(values.mean(), alone, clusters - 1, [values])
        half = stdtrit(clusters - 1, 0.975) * np.sqrt(alone)
        hits += found.low <= 0 <= found.high, abs(found.value) <= half
    total, plain = (round(float(h), 4) for h in hits / studies)
    what = f"family of {prompts} prompts that differ by {own:g}, {clusters} clusters"
    return row(what, studies, {"coverage": total}, COVERS, **{"clusters only": plain})


def run(studies: int, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    for users in USERS[1:2] if quick else USERS:
        for how in (SHARED, OWN):
            yield covered(min(studies, 1_000), users, how)
    for clusters in (40,) if quick else (20, 40, 100):
        for prompts in (3, 5):
            for own in (0.1,) if quick else (0.03, 0.1, 0.3):
                yield family(studies, clusters, prompts, own)
