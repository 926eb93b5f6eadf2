"""The jackknife against the bootstrap: coverage, widths, time and memory.

``python -m benchmarks.many_clusters [--studies N]`` prints the tables of docs/statistics.md as JSON lines;
the sizes up to 2,000 users are a part of ``python -m benchmarks --coverage``, time and memory one of
``python -m benchmarks``.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.engine import clock, row
from benchmarks.shares import COVERS
from benchmarks.shares import row as shares_row
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.correlation import estimates
from metaeval.engine.intervals import Bootstrap, intervals, statistics_of
from metaeval.engine.order.paired_tests import Tests, compare_prepared, correlation_cell
from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap
from metaeval.stats.resampling.cluster_sums import Stack, mean_of
from metaeval.stats.resampling.weights import one_thread, percentile_interval
from metaeval.stats.weighted.statistic import statistic
from metaeval.stats.weighted.sums import Clusters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.resampling.weights import Method

METHODS: tuple[Method, ...] = ("percentile", "jackknife")
NAMES = ("pearson", "kendall", "user_mean", "regret", "ratio", "near_one", "rare")
BOUNDS = [(-1.0, 1.0)] * 3 + [(0.0, np.inf)] * 2 + [(-1.0, 1.0), (0.0, 1.0)]
RESAMPLES, POPULATION = 1_000, 1_000_000
SIZES = (200, 2_000, 20_000)
_UNITS = 4  # of a user
_RARE = 0.02


def study(rng: np.random.Generator, users: int) -> Stack:
    """Simulate users with levels of their own, and return the statistics `NAMES`.

    Ratings and scores on five points, correlated over all units and within users; a regret, which is 0 for
    most; a ratio of sums with heavy weights, as SNIPS has; scores that nearly equal the truth; a rare event.
    """
    user = np.repeat(np.arange(users), _UNITS)
    signal = rng.normal(size=len(user))
    level = 0.5 * rng.normal(size=users)[user]
    y = level + signal + rng.normal(size=len(user))
    x = 0.5 * rng.normal(size=users)[user] + signal + rng.normal(size=len(user))
    of_x, of_y = (np.clip(np.rint(3 + v), 1, 5) for v in (x, y))
    by, whole = Clusters(user, users), Grouping(np.zeros(len(user), dtype=np.int64), 1)
    shown = (rng.poisson(2, users) + 1).astype(np.float64)
    regret = np.asarray(np.maximum(0, rng.normal(-1, 1, users)) * shown, dtype=np.float64)
    weight = np.exp(rng.normal(size=users))
    clicked = (rng.random(users) < 0.3 / (1 + weight)).astype(np.float64)
    near = y + 0.1 * rng.normal(size=len(user)) + 0.1 * level
    return Stack(
        [
            statistic(of_x, of_y, whole, by, ("pearson", "kendall")),
            statistic(of_x, of_y, Grouping(user, users), by, ("pearson",)),
            mean_of(regret[None], shown[None]),
            mean_of((weight * clicked)[None], weight[None]),
            statistic(near, y, whole, by, ("pearson",)),
            mean_of((rng.random(users) < _RARE).astype(np.float64)[None], np.ones((1, users))),
        ]
    )


@cache
def population() -> Floats:
    """Return what is estimated: the values from very many users."""
    found = study(np.random.default_rng(12345), POPULATION).at(np.ones((POPULATION, 1)))[:, 0]
    found[-1] = _RARE
    return found


@one_thread()
def covered(studies: int, users: int) -> dict[Method, Floats]:
    """Return how often 95 % intervals hold the truth: method → shape (statistics,)."""
    rng = np.random.default_rng(users)
    makers = {method: Resampler(users, RESAMPLES, method=method, expand=False) for method in METHODS}
    hits = {method: np.zeros(len(NAMES)) for method in METHODS}
    for _ in range(studies):
        simulated = study(rng, users)
        for method, resampler in makers.items():
            found = bootstrap(simulated, resampler, bounds=BOUNDS)
            hits[method] += (found.low <= population()) & (population() <= found.high)
    return {method: count / studies for method, count in hits.items()}


def coverage(studies: int, sizes: tuple[int, ...] = SIZES[:2]) -> Iterator[dict[str, Any]]:
    """Yield the coverage of each method; the target is that of all intervals, from 2,000 users."""
    for users in sizes:
        for method, share in covered(studies, users).items():
            what = f"many clusters: {method}, {users:,} users"
            sure = COVERS if users >= SIZES[1] else (0.0, 1.0)
            yield shares_row(what, studies, dict(zip(NAMES, share.tolist(), strict=True)), sure)


@one_thread()
def widths(users: int = 150_000) -> dict[str, Any]:
    """Compare widths with those of 1,000 resamples, of which a width is known to about 5 %."""
    simulated = study(np.random.default_rng(7), users)
    low, high = percentile_interval(Resampler(users, RESAMPLES).replicates(simulated), 0.95)
    found: dict[str, Any] = {"benchmark": f"many clusters: widths over the bootstrap's, {users:,} users"}
    held = True
    for method in METHODS[1:]:
        ends = bootstrap(simulated, Resampler(users, method=method), bounds=BOUNDS)
        ratio = (ends.high - ends.low) / (high - low)
        found |= {f"{method}_{name}": round(float(r), 3) for name, r in zip(NAMES, ratio, strict=True)}
        held &= bool((np.abs(ratio - 1) <= 0.1).all())
    return found | {"held": held}


def prepared(users: int, evaluators: int) -> Prepared:
    """Return scores on five points of users with two items and three generators each."""
    rng = np.random.default_rng(1)
    n = users * 6
    user, pair = np.arange(n) // 6, np.arange(n) // 3
    signal = rng.normal(size=n)
    truth = np.clip(np.rint(3 + signal + rng.normal(size=n)), 1, 5)
    scores = np.empty((evaluators, 1, n))
    for e in range(evaluators):
        scores[e, 0] = np.clip(np.rint(3 + signal + (1 + e / evaluators) * rng.normal(size=n)), 1, 5)
    keys = {"user_id": user, "item_id": pair % 2, "generator": np.arange(n) % 3}
    groupings = {
        "dataset": Grouping(np.zeros(n, dtype=np.int64), 1),
        "user": Grouping(user, users),
        "pair": Grouping(pair, 2 * users),
    }
    labels = {key: pd.Index([f"{v:07}" for v in range(int(codes.max()) + 1)]) for key, codes in keys.items()}
    policy = Policy.of(list(groupings), ["pearson", "kendall"], None, "skip", "common")
    none = np.zeros((evaluators, 1), dtype=np.int64)
    names = [f"E{e}" for e in range(evaluators)]
    return Prepared(
        policy, names, ["fit"], scores, truth[None], None, none, none[0], none[0], groupings, keys, labels
    )


def _child(users: int, evaluators: int) -> None:
    """Time the intervals and tests of a study in a process of its own; prints seconds and megabytes."""
    data = prepared(users, evaluators)
    found = estimates(data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, _ = clock(lambda: intervals(data, found, Bootstrap()))
    cell = correlation_cell(level="dataset", coefficient="kendall")
    tests, _ = clock(lambda: compare_prepared(data, cell, Tests()))
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    resamples = 40
    one = Stack(statistics_of(data, found, 0, 0, data.clusters("user")))
    drawn, _ = clock(lambda: Resampler(users, resamples).replicates(one))
    slow = drawn / resamples * Bootstrap().resamples * evaluators
    print(json.dumps({"intervals": seconds, "tests": tests, "bootstrap": slow, "more_mb": more >> 10}))


def speed(users: int = 200_000, evaluators: int = 50) -> dict[str, Any]:
    """Compare intervals with 10,000 resamples, of which few are drawn and scaled up."""
    code = f"from benchmarks.many_clusters import _child; _child({users}, {evaluators})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    what = f"many clusters: {evaluators} evaluators × 3 levels × 2 coefficients, {users:,} users, intervals"
    more = {"all_tests_s": round(found["tests"], 1), "more_mb": found["more_mb"]}
    return row(what, found["bootstrap"], found["intervals"], 50, **more)


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield time and memory; ``quick`` takes fewer evaluators."""
    yield speed(evaluators=5 if quick else 50)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_clusters", description=__doc__)
    parser.add_argument("--studies", type=int, default=400, metavar="N", help="simulated, of each size")
    wanted = parser.parse_args().studies
    for line in coverage(wanted, SIZES):
        print(json.dumps(line), flush=True)
    print(json.dumps(widths()), flush=True)
