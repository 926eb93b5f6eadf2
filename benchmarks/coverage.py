"""How often intervals hold what they should, and tests find what is not there: many simulated studies.

`tests/stats/test_coverage.py` is the small version. Users rate, and evaluators score, with levels of their
own: ``own`` is the standard deviation of these levels, where that of the units' noise is 1. Means of
generators, and what is made of them, have files of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from benchmarks import (
    choosing,
    coherence,
    confidence_and_drift,
    correcting,
    escalating,
    generalizability,
    generator_means,
    many_clusters,
    off_policy,
    pairs,
    planning,
    rank_ranges,
    rankings,
    replacing,
    system_orders,
    trust,
)
from benchmarks.shares import COVERS, SIZE, row
from metaeval.base.records import COEFFICIENTS
from metaeval.stats.coefficients.levels import Grouping, estimate
from metaeval.stats.resampling.paired import AspectScores, paired_permutation
from metaeval.stats.resampling.weights import Method, Resamples, Swaps, interval, left_out, one_thread
from metaeval.stats.weighted.statistic import statistic
from metaeval.stats.weighted.sums import Clusters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from metaeval.stats.coefficients.tables import Floats, Ints

LEVELS = ("dataset", "user", "pair", "item")
ITEMS, GENERATORS = 3, 8
SLOPE = 0.5  # of the scores on the signal that makes the ratings
STUDIES, POPULATION = 10_000, 20_000
METHODS: tuple[Method, ...] = ("percentile", "bca")
SURE = 40  # users from which every percentile interval has to hold; the others are shown


@dataclass(frozen=True, slots=True)
class Study:
    """Scores of evaluators, shape (evaluators, n), and the truth, shape (n,)."""

    x: Floats
    y: Floats
    user: Ints
    groupings: Mapping[str, Grouping]


def study(rng: np.random.Generator, users: int, own: float, *, likert: bool, evaluators: int = 1) -> Study:
    """Simulate a study whose evaluators all see the same signal, each with noise of its own."""
    n = users * ITEMS * GENERATORS
    user = np.repeat(np.arange(users), ITEMS * GENERATORS)
    signal = rng.normal(size=n)
    y = own * rng.normal(size=users)[user] + signal + rng.normal(size=n)
    x = own * rng.normal(size=(evaluators, users))[:, user] + SLOPE * signal
    x += rng.normal(size=x.shape)
    if likert:
        x, y = (np.clip(np.rint(3 + v), 1, 5) for v in (x, y))
    groupings = {
        "dataset": Grouping(np.zeros(n, dtype=np.int64), 1),
        "user": Grouping(user, users),
        "pair": Grouping(np.repeat(np.arange(users * ITEMS), GENERATORS), users * ITEMS),
        "item": Grouping(np.tile(np.repeat(np.arange(ITEMS), GENERATORS), users), ITEMS),
    }
    return Study(x, y, user, groupings)


@cache
def population(own: float, *, likert: bool) -> Floats:
    """Return what is estimated, shape (levels, coefficients): the estimates from very many users."""
    s = study(np.random.default_rng(12345), POPULATION, own, likert=likert)
    found = estimate(s.x, s.y[None], s.groupings, COEFFICIENTS)
    return np.array([[found[level, c].estimate[0] for c in COEFFICIENTS] for level in LEVELS])


@one_thread()
def covered(
    studies: int, users: int, own: float, *, likert: bool, resamples: int = 1000
) -> dict[str, Floats]:
    """Return how often 95 % intervals over users hold the truth: method → shape (levels, coefficients).

    Of continuous values, Pearson's coefficient alone.
    """
    rng = np.random.default_rng(users)
    wanted = COEFFICIENTS if likert else ("pearson",)  # ranks of thousands of values take their time
    truth = population(own, likert=likert)[:, : len(wanted)]
    hits = {method: np.zeros(truth.shape) for method in METHODS}
    ones, without = np.ones((users, 1)), np.concatenate(list(left_out(users)), axis=1)
    for i in range(studies):
        s = study(rng, users, own, likert=likert)
        by = Clusters(s.user, users)
        weights = np.concatenate(list(Resamples(users, resamples, seed=i).blocks()), axis=1)
        of_levels = [statistic(s.x[0], s.y, s.groupings[level], by, wanted) for level in LEVELS]
        replicates, points, jackknife = (
            np.stack([f.at(w) for f in of_levels]) for w in (weights, ones, without)
        )
        for method in METHODS:
            low, high = interval(points[..., 0], replicates, jackknife, n_clusters=users, method=method)
            hits[method] += (low <= truth) & (truth <= high)
    return {method: count / studies for method, count in hits.items()}


def intervals(studies: int, users: int, own: float, *, likert: bool) -> Iterator[dict[str, Any]]:
    """Yield the coverage of each method and level."""
    kind = "Likert" if likert else "continuous"
    for method, share in covered(studies, users, own, likert=likert).items():
        for level, of_coefficients in zip(LEVELS, share, strict=True):
            what = f"{method} intervals, {level} level, {users} users with levels of {own}, {kind}"
            shares = dict(zip(COEFFICIENTS, of_coefficients.tolist(), strict=False))
            # The others are shown alone.
            sure = users >= SURE and method == "percentile"
            yield row(what, studies, shares, COVERS if sure else (0.0, 1.0))


def paired(
    studies: int, users: int, level: str, coefficient: str, *, likert: bool, permutations: int = 399
) -> dict[str, Any]:
    """Test two evaluators that do not differ, swapped by user: p is uniform, and 5 % are below 0.05."""
    rng = np.random.default_rng(users)
    p = np.empty(studies)
    for i in range(studies):
        s = study(rng, users, 0.5, likert=likert, evaluators=2)
        by = Clusters(s.user, users)
        both = [AspectScores(x, s.y, s.groupings[level], by) for x in s.x]
        p[i] = paired_permutation([both], coefficient, Swaps(users, permutations, seed=i)).p[0, 1]
    positives = float((p <= 0.05).mean())
    spread = p - rng.random(studies) / (permutations + 1)  # between the values that p can have
    uniform = float(stats.kstest(spread, "uniform").pvalue)
    kind = "Likert" if likert else "continuous"
    what = f"paired tests of equal evaluators, {level} level, {coefficient}, {users} users, {kind}"
    found = row(what, studies, {"false_positives": positives}, SIZE, p_uniform=round(uniform, 4))
    return found | {"held": found["held"] and uniform > 0.001}


def run(studies: int = STUDIES, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other; ``quick`` leaves most sizes and evaluators out."""
    for users in (SURE,) if quick else (20, SURE, 100):
        for own in (0.5,) if quick else (0.5, 1.0):
            for likert in (True,) if quick else (True, False):
                yield from intervals(studies, users, own, likert=likert)
    for level in LEVELS:
        for coefficient in ("pearson",) if quick else COEFFICIENTS:
            yield paired(studies, 40, level, coefficient, likert=True)
        if not quick:
            yield paired(studies, 10, level, "pearson", likert=False)
    yield from rank_ranges.run(min(studies, 1_000), quick=quick)
    yield from generator_means.run(studies, quick=quick)
    yield from rankings.run(studies, quick=quick)
    yield from system_orders.run(studies, quick=quick)
    yield from generalizability.run(studies, quick=quick)
    yield from trust.run(studies, quick=quick)
    yield from replacing.run(studies, quick=quick)
    yield from correcting.run(studies, quick=quick)
    yield from escalating.run(min(studies, 1_000), quick=quick)
    yield from pairs.run(min(studies, 1_000), quick=quick)
    yield from choosing.run(min(studies, 1_000), quick=quick)
    yield from planning.run(min(studies, 2_000), quick=quick)
    yield from confidence_and_drift.run(studies, quick=quick)
    yield from coherence.coverage(studies, quick=quick)
    yield from off_policy.run(studies, quick=quick)
    yield from many_clusters.coverage(studies)
