"""Coverage of intervals of correlations of generators' means.

The generators are the set that is compared; the users are a sample. A mean over users is that of the true
means (drawn anew in each study), of levels of the users, of what a user thinks of a generator, and of units.
Errors of scores and of ratings go together, for both see the same unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.shares import COVERS, row
from metaeval.base.records import COEFFICIENTS
from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.regression.true_means import NoisyMeans, Normals, draw, interval_of_draws
from metaeval.stats.resampling.weights import Resamples, expanded, one_thread, percentile_interval
from metaeval.stats.weighted.statistic import coefficients_of_means, statistic
from metaeval.stats.weighted.sums import Clusters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.stats.coefficients.tables import Floats, Ints

GENERATORS, USERS = (6, 8, 12, 30), (20, 40, 100)
ITEMS = 3  # units that a user rates of a generator
TASTE = 0.5  # standard deviation of what a user thinks of a generator; that of units is 1
LEVEL = 0.7
DRAWS = 1000


@dataclass(frozen=True, slots=True)
class Evaluator:
    """How an evaluator follows the truth, and how reliable means over 40 users are."""

    name: str
    correlation: float
    """Of the true means, were there very many generators."""
    reliability: float
    """Share of the variance of its means, over 40 users of ITEMS units, that is not noise."""
    shared: float
    """Correlation of its errors with those of the ratings."""


STRONG = Evaluator("a strong evaluator", 0.9, 0.9, 0.5)
WEAK = Evaluator("a weak evaluator", 0.4, 0.6, 0.2)
RATINGS = 0.85  # reliability of the means of ratings


@dataclass(frozen=True, slots=True)
class Study:
    """Units of a study, shape (n,), and the true means, shape (2, G): of scores, of ratings."""

    x: Floats
    y: Floats
    generator: Ints
    user: Ints
    true: Floats


def study(
    rng: np.random.Generator, generators: int, users: int, evaluator: Evaluator, *, equal: bool = True
) -> Study:
    """Simulate a study, of which users rate as much of each generator, or not (``equal``)."""
    noise = (TASTE**2 + 1 / ITEMS) / 40
    spread = [np.sqrt(noise * r / (1 - r)) for r in (evaluator.reliability, RATINGS)]
    a, b = rng.normal(size=(2, generators))
    own = np.sqrt(1 - evaluator.correlation**2)
    true = np.stack([spread[0] * (evaluator.correlation * a + own * b), spread[1] * a])
    size = np.full((generators, users), ITEMS)
    if not equal:
        active, seen = rng.gamma(2, 0.5, users), rng.uniform(0.3, 1.7, generators)
        size = rng.poisson(ITEMS * seen[:, None] * active)
    generator, user = (np.repeat(i.ravel(), size.ravel()) for i in np.indices(size.shape))

    def errors(*shape: int) -> Floats:
        one, other = rng.normal(size=(2, *shape))
        return np.stack([evaluator.shared * one + np.sqrt(1 - evaluator.shared**2) * other, one])

    values = (
        true[:, generator]
        + LEVEL * errors(users)[:, user]
        + TASTE * errors(generators, users)[:, generator, user]
        + errors(len(user))
    )
    return Study(values[0], values[1], generator, user, true)


def correlations(means: Floats) -> Floats:
    """Return the coefficients of means, shape (2, G)."""
    x, y = means[:, :, None]
    return coefficients_of_means(x, y, np.ones(x.shape, dtype=bool), (0.0, 0.0), COEFFICIENTS)[:, 0]


def resampled(s: Study, generators: int, users: int, seed: int) -> tuple[Floats, Floats]:
    """Return what a bootstrap of users would say of Pearson's r, for comparison."""
    means = statistic(
        s.x, s.y, Grouping(s.generator, generators, between=True), Clusters(s.user, users), ["pearson"]
    )
    weights = np.concatenate(list(Resamples(users, 500, seed).blocks()), axis=1)
    return percentile_interval(means.at(weights), expanded(0.95, users))


@one_thread()
def covered(
    studies: int, generators: int, users: int, evaluator: Evaluator, *, equal: bool
) -> dict[str, Any]:
    """Return how often 95 % intervals hold the correlation of the true means."""
    rng = np.random.default_rng([generators, users])
    normals = Normals.of(1, generators, DRAWS, 1)
    hits, bias = np.zeros(len(COEFFICIENTS)), np.zeros(2)
    of_bootstrap = none = 0
    for i in range(studies):
        s = study(rng, generators, users, evaluator, equal=equal)
        exact = correlations(s.true)
        means = NoisyMeans.of(s.x, s.y, s.generator, generators, Clusters(s.user, users))
        draws = draw([means], normals)[0].coefficients(COEFFICIENTS, DRAWS)
        low, corrected, high = interval_of_draws(draws, 0.95)
        if np.isnan(low).any():
            none += 1
            continue
        hits += (low - 1e-8 <= exact) & (exact <= high + 1e-8)
        plain = correlations(means.means)[0]
        bias += [plain - exact[0], corrected[0] - exact[0]]
        below, above = resampled(s, generators, users, i)
        of_bootstrap += int(below[0] <= exact[0] <= above[0])
    n = studies - none
    sizes = "equal" if equal else "unequal"
    return row(
        f"generator level, {generators} generators, {users} users, {evaluator.name}, {sizes} sizes",
        n,
        dict(zip(COEFFICIENTS, (hits / n).tolist(), strict=True)),
        COVERS,
        without_interval=none,
        bootstrap_pearson=round(of_bootstrap / n, 4),
        bias_plain=round(float(bias[0]) / n, 3),
        bias_corrected=round(float(bias[1]) / n, 3),
    )


@one_thread()
def average(studies: int, generators: int = 8, users: int = 40) -> dict[str, Any]:
    """Return how often intervals of the average over two aspects hold, whose means and errors go together."""
    rng = np.random.default_rng(7)
    normals = Normals.of(2, generators, DRAWS, 1)
    hits, n = np.zeros(len(COEFFICIENTS)), 0
    for _ in range(studies):
        s = study(rng, generators, users, WEAK)
        other = study(rng, generators, users, WEAK)
        # The second aspect is the first one, half of it.
        mixed = Study(
            (s.x + other.x) / 2, (s.y + other.y) / 2, s.generator, s.user, (s.true + other.true) / 2
        )
        by = Clusters(s.user, users)
        means = [NoisyMeans.of(a.x, a.y, s.generator, generators, by) for a in (s, mixed)]
        drawn = draw(means, normals)
        if any(d.reason for d in drawn):
            continue
        draws = np.mean([d.coefficients(COEFFICIENTS, DRAWS) for d in drawn], axis=0)
        low, _, high = interval_of_draws(draws, 0.95)
        exact = (correlations(s.true) + correlations(mixed.true)) / 2
        hits += (low - 1e-8 <= exact) & (exact <= high + 1e-8)
        n += 1
    return row(
        f"generator level, average of two aspects that go together, {generators} generators, {users} users",
        n,
        dict(zip(COEFFICIENTS, (hits / n).tolist(), strict=True)),
        COVERS,
    )


def run(studies: int, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    for generators in GENERATORS[1:2] if quick else GENERATORS:
        for users in USERS[1:2] if quick else USERS:
            for evaluator in (STRONG, WEAK):
                for equal in (True, False):
                    yield covered(studies, generators, users, evaluator, equal=equal)
    yield average(studies)
