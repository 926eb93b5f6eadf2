"""Coverage of intervals of how far users share an order of generators.

A user's effect of a generator is the common one and one of the user's own; an item of a user has a level, and
a rating noise. Ratings are whole numbers from 1 to 5. What is estimated is found from very many users.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.shares import row
from metaeval.stats.regression.generalizability import OwnEffects, SharedOrder, shared_order
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


def run(studies: int, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    for users in USERS[1:2] if quick else USERS:
        for how in (SHARED, OWN):
            yield covered(studies, users, how)
