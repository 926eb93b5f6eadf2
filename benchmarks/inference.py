"""Intervals and paired tests against resampling with a scipy call per group, in one run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import metaeval as me
from benchmarks import inputs, naive
from benchmarks.engine import LEVELS, RECEXP_UNITS, clock, row
from metaeval.base.records import COEFFICIENTS
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import Prepared, prepare
from metaeval.stats.coefficients.levels import Grouping
from metaeval.stats.resampling.paired import AspectScores, paired_permutation
from metaeval.stats.resampling.weights import Resamples, Swaps, one_thread, percentile_interval
from metaeval.stats.weighted.statistic import statistic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metaeval.stats.coefficients.tables import Floats

_NAIVE = 5  # resamples that the naive path is timed on; its time is scaled up


def _prepared(frames: tuple[pd.DataFrame, pd.DataFrame]) -> Prepared:
    return prepare(*frames, Policy.of(LEVELS, COEFFICIENTS, None, "skip", "common"))


@one_thread()
def replicates(
    data: Prepared, weights: Sequence[Floats], levels: Sequence[str], coefficients: Sequence[str]
) -> Floats:
    """Return the replicates of one evaluator and aspect, shape (levels × coefficients, resamples)."""
    users = data.clusters("user")
    found = []
    for level in levels:
        s = statistic(
            data.scores[0, 0], data.truth[0], data.groupings[level], users, coefficients, undefined="skip"
        )
        found.append(np.concatenate([s.at(w) for w in weights], axis=1))
    return np.concatenate(found)


def _naive_replicates(
    joined: pd.DataFrame, weights: Floats, levels: Sequence[str], coefficients: Sequence[str]
) -> Floats:
    """Put the drawn users together, each draw a user of its own, and call scipy for every group."""
    users = [frame for _, frame in joined.groupby("user_id", sort=True)]
    columns = []
    for column in weights.T:
        drawn = np.repeat(np.arange(len(users)), column.astype(int))
        parts = [users[u].assign(user_id=str(i)) for i, u in enumerate(drawn)]
        sample = pd.concat(parts, ignore_index=True)
        found = {level: naive.level(sample, level, coefficients) for level in levels}
        columns.append([found[level][c] for level in levels for c in coefficients])
    return np.array(columns).T


def bootstrap(resamples: int, *, continuous: bool) -> Iterator[dict[str, Any]]:
    """Compare bootstrap intervals at 3 levels × 3 coefficients, from arrays and from frames."""
    frames = inputs.frames(RECEXP_UNITS, continuous=continuous)
    scores, truth = frames
    data = _prepared(frames)
    joined = truth.merge(scores, on=["user_id", "item_id", "generator", "aspect"])
    names = data.labels["user_id"]
    few = next(Resamples(len(names), _NAIVE).blocks())
    slow, expected = clock(lambda: _naive_replicates(joined, few, LEVELS, COEFFICIENTS))
    apart = float(np.abs(replicates(data, [few], LEVELS, COEFFICIENTS) - expected).max())

    def engine() -> tuple[Floats, Floats]:
        weights = list(Resamples(len(names), resamples).blocks())
        return percentile_interval(replicates(data, weights, LEVELS, COEFFICIENTS), 0.95)

    fast, (low, _) = clock(engine, 5)
    kind = "continuous" if continuous else "Likert"
    name = f"{resamples:,} user resamples, 3 levels × 3 coefficients, {kind}"
    more = {"naive_measured_on_resamples": _NAIVE, "largest_difference": apart}
    slow *= resamples / _NAIVE
    yield row(f"{name}, engine", slow, fast, 20_000, **more)
    options = {"resamples": resamples}
    whole, _ = clock(lambda: me.correlate(scores, truth, bootstrap=options), 5)
    result = me.correlate(scores, truth, bootstrap={**options, "expand": False})
    same = float(np.abs(result.frame["ci_low"].to_numpy()[: low.size] - low).max())
    yield row(f"{name}, me.correlate", slow, whole, 10_000, engine_and_correlate_differ_by=same)
    yield {
        "benchmark": f"{name}, me.correlate, seconds",
        "metaeval_s": round(whole, 3),
        "target": 1,
        "held": whole < 1,
    }


def pair_kendall(resamples: int = 1000) -> dict[str, Any]:
    """Compare the bootstrap of Kendall's coefficient at pair level with scipy over the same resamples."""
    frames = inputs.frames(RECEXP_UNITS)
    data = _prepared(frames)
    joined = frames[1].merge(frames[0], on=["user_id", "item_id", "generator", "aspect"])
    names = data.labels["user_id"]
    few = next(Resamples(len(names), _NAIVE).blocks())
    slow, expected = clock(lambda: _naive_replicates(joined, few, ["pair"], ["kendall"]))
    found = replicates(data, [few], ["pair"], ["kendall"])
    fast, _ = clock(
        lambda: replicates(data, list(Resamples(len(names), resamples).blocks()), ["pair"], ["kendall"]), 20
    )
    return row(
        f"{resamples:,} user resamples, Kendall at pair level",
        slow * resamples / _NAIVE,
        fast,
        1000,
        naive_measured_on_resamples=_NAIVE,
        largest_difference=float(np.abs(found - expected).max()),
    )


def permutation(permutations: int = 10_000, *, continuous: bool) -> dict[str, Any]:
    """Compare paired permutation tests at dataset level with a scipy call a permutation."""
    data = _prepared(inputs.frames(RECEXP_UNITS, evaluators=2, continuous=continuous))
    users = data.clusters("user")
    x = data.scores[:, 0] if continuous else np.clip(np.rint(data.scores[:, 0]), 1, 5)
    grouping = Grouping(np.zeros(x.shape[1], dtype=np.int64), 1)
    both = [AspectScores(v, data.truth[0], grouping, users) for v in x]
    fast, found = clock(
        lambda: [paired_permutation([both], c, Swaps(users.n, permutations)) for c in COEFFICIENTS], 3
    )
    few = 20
    chosen = next(Swaps(users.n, permutations).blocks())[users.of_unit, :few] > 0
    one, other = (s.standardized().x for s in both)
    start = time.perf_counter()
    for c in COEFFICIENTS:
        for column in chosen.T:
            naive.coefficient(np.where(column, other, one), data.truth[0], c)
            naive.coefficient(np.where(column, one, other), data.truth[0], c)
    slow = (time.perf_counter() - start) * permutations / few
    differences = [
        naive.coefficient(one, data.truth[0], c) - naive.coefficient(other, data.truth[0], c)
        for c in COEFFICIENTS
    ]
    apart = max(abs(f.difference[0, 1] - d) for f, d in zip(found, differences, strict=True))
    kind = "continuous" if continuous else "Likert"
    return row(
        f"{permutations:,} paired permutations, dataset level, 3 coefficients, {kind}",
        slow,
        fast,
        200,
        naive_measured_on_permutations=few,
        largest_difference=float(apart),
    )


def hanna_sized() -> dict[str, Any]:
    """Time intervals and all paired tests of 92 evaluators × 6 aspects × 96 items × 10 systems."""
    rng = np.random.default_rng(0)
    items, systems, evaluators, aspects = 96, 10, 92, 6
    unit = pd.DataFrame(
        {
            "item_id": np.repeat(np.arange(items), systems).astype(str),
            "generator": np.tile(np.arange(systems), items).astype(str),
        }
    )
    truth, scores = [], []
    for a in range(aspects):
        rating = rng.integers(3, 16, items * systems) / 3
        truth.append(unit.assign(aspect=f"A{a}", rating=rating))
        for e in range(evaluators):
            noisy = rating + rng.normal(scale=2, size=len(rating))
            scores.append(unit.assign(evaluator=f"E{e}", aspect=f"A{a}", score=noisy))
    frames = pd.concat(scores, ignore_index=True), pd.concat(truth, ignore_index=True)

    def everything() -> int:
        me.correlate(*frames, levels=["item"], bootstrap={"resamples": 10_000})
        tests = [
            me.compare(*frames, aspect=f"A{a}", level="item", coefficient=c)
            for a in range(aspects)
            for c in COEFFICIENTS
        ]
        return sum(len(t.frame) for t in tests)

    seconds, pairs = clock(everything)
    return {
        "benchmark": "HANNA-sized: 92 evaluators × 6 aspects at item level, intervals and all paired tests",
        "metaeval_s": round(seconds, 1),
        "tests": pairs,
        "target": 600,
        "held": seconds < 600,
    }


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other; ``quick`` leaves out what takes minutes."""
    for continuous in (False, True):
        yield from bootstrap(10_000, continuous=continuous)
    yield pair_kendall()
    for continuous in (False, True):
        yield permutation(continuous=continuous)
    if not quick:
        yield hanna_sized()
