"""The correlation engine against the naive path: each figure a ratio of times taken in one run."""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import metaeval as me
from benchmarks import inputs, naive
from metaeval.base.records import COEFFICIENTS
from metaeval.stats.coefficients.levels import Grouping, estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from metaeval.engine.correlation import Correlations

LEVELS = ("dataset", "user", "pair")
RECEXP_UNITS = 39 * 8 * 8  # users × items × generators of the recexp study, nearly


def clock(function: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Return the median time of a call in seconds, and its last result."""
    times = []
    for _ in range(repeats):
        gc.collect()
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), result


def row(name: str, slow: float, fast: float, target: float, **more: object) -> dict[str, Any]:
    """Lay out one result; ``held`` says whether the ratio reached its target."""
    ratio = slow / fast
    return {
        "benchmark": name,
        "naive_s": round(slow, 4),
        "metaeval_s": round(fast, 5),
        "ratio": round(ratio, 1),
        "target": target,
        "held": ratio >= target,
        **more,
    }


def prepared_arrays() -> dict[str, Any]:
    """Compare 3 levels × 3 coefficients, arrays and groups at hand."""
    scores, truth = inputs.frames(RECEXP_UNITS)
    joined = truth.merge(scores, on=["user_id", "item_id", "generator", "aspect"])
    slow, expected = clock(lambda: {n: naive.level(joined, n, COEFFICIENTS) for n in LEVELS}, 3)
    user = pd.factorize(joined["user_id"])[0]
    pair = joined.groupby(["user_id", "item_id"], sort=False).ngroup().to_numpy()
    groupings = {
        "dataset": Grouping(np.zeros(len(joined), dtype=np.int64), 1),
        "user": Grouping(user, int(user.max()) + 1),
        "pair": Grouping(pair, int(pair.max()) + 1),
    }
    x, y = (joined[c].to_numpy(dtype=float)[None] for c in ("score", "rating"))
    fast, found = clock(lambda: estimate(x, y, groupings, COEFFICIENTS), 50)
    apart = max(abs(found[n, c].estimate[0] - expected[n][c]) for n in LEVELS for c in COEFFICIENTS)
    return row("recexp-sized, arrays prepared", slow, fast, 300, largest_difference=float(apart))


def largest_difference(result: Correlations, expected: dict[tuple[str, ...], float]) -> float:
    """Return how far any estimate is from the naive one."""
    index = ["evaluator", "aspect", "level", "coefficient"]
    found = result.frame.set_index(index)["estimate"]
    return max(abs(float(found[key]) - value) for key, value in expected.items())


def from_frames(
    units: int, evaluators: int, aspects: int, target: float, sample: int, *, continuous: bool
) -> dict[str, Any]:
    """Compare plain frames to estimates, joins included; naive on a share of the users, scaled up."""
    scores, truth = inputs.frames(units, evaluators, aspects, continuous=continuous)
    fast, _ = clock(lambda: me.correlate(scores, truth), 5)
    part, part_truth = inputs.frames(min(units, sample), evaluators, aspects, continuous=continuous)
    slow, expected = clock(lambda: naive.correlate(part, part_truth, LEVELS))
    apart = largest_difference(me.correlate(part, part_truth), expected)
    scale = units / min(units, sample)
    kind = "Likert and continuous" if evaluators > 1 else "continuous" if continuous else "Likert"
    name = f"me.correlate, {evaluators} evaluator(s) × {aspects} aspect(s) × {units:,} units, {kind}"
    more = {} if scale == 1 else {"naive_measured_on_units": sample}
    return row(name, slow * scale, fast, target, largest_difference=apart, **more)


def _child(units: int) -> None:
    """Measure one call in a process of its own; prints seconds, bytes of input and peak memory above it."""
    scores, truth = inputs.frames(units)
    gc.collect()
    size = sum(int(f.memory_usage(deep=True, index=False).sum()) for f in (scores, truth))
    seconds, _ = clock(lambda: me.correlate(scores, truth), 3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": seconds, "input": size, "peak": peak}))


def scaling() -> Iterator[dict[str, Any]]:
    """Compare ten million units with one million: time, and peak memory over the input columns."""
    results = {}
    for units in (10**6, 10**7):
        code = f"from benchmarks.engine import _child; _child({units})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        results[units] = json.loads(done.stdout)
    one, ten = results[10**6], results[10**7]
    times = ten["seconds"] / one["seconds"]
    yield {
        "benchmark": "10 million against 1 million units, time",
        "one_million_s": round(one["seconds"], 3),
        "ten_million_s": round(ten["seconds"], 3),
        "ratio": round(times, 2),
        "target": 12,
        "held": times <= 12,
    }
    memory = ten["peak"] / ten["input"]
    yield {
        "benchmark": "10 million units, peak memory of the process over the input columns",
        "input_mb": ten["input"] >> 20,
        "peak_mb": ten["peak"] >> 20,
        "ratio": round(memory, 2),
        "target": 3,
        "held": memory <= 3,
    }


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other; ``quick`` leaves out what takes minutes."""
    yield prepared_arrays()
    yield from_frames(RECEXP_UNITS, 20, 4, 200, RECEXP_UNITS, continuous=False)
    if quick:
        return
    for units in (200_000, 1_000_000):
        for continuous, target in ((False, 100), (True, 30)):
            yield from_frames(units, 1, 1, target, 64_000, continuous=continuous)
    yield from scaling()
