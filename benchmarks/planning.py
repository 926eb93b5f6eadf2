"""How often labels that follow a plan stop falsely, and how many it takes; one looks after each label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.shares import AT_MOST, row
from metaeval.stats.resampling.significance import chances, confidence_sequence, drawn

if TYPE_CHECKING:
    from collections.abc import Iterator


WIDTH = 0.2


def stopped(studies: int, n: int, gap: float) -> dict[str, Any]:
    """Return how often the wrong answer is given, where generators of n units in all differ by ``gap``.

    ``missed``: how often the difference is not in the interval when that is as narrow as ± `WIDTH`.

    The judge is a point too high, two of the first generator, and noisier where it is in doubt.
    """
    rng, half = np.random.default_rng(n), np.repeat([1.0, -1.0], n // 2)
    wrong, missed, labels = 0, 0, []
    for k in range(studies):
        y = np.clip(np.rint(rng.normal(3, 1, n)), 1, 5)
        doubt = rng.random(n)
        scores = np.clip(y + 1 + (half > 0) + doubt * rng.normal(0, 1.5, n), 1, 6)
        weights = half / (n // 2)
        y[half > 0] += gap - weights @ y  # exactly the gap
        p = chances(weights, doubt)
        found = confidence_sequence(weights, scores, y, p, drawn(p, seed=k))
        stop = found.stop(0.0)
        wrong += bool(stop) and stop < n and not found.value[stop - 1] * gap > 0
        narrow = found.stop(0.0, WIDTH) - 1
        missed += not found.low[narrow] - 1e-9 <= gap <= found.high[narrow] + 1e-9
        labels.append((stop or n) / n)
    name = f"planning: {n} units, generators differ by {gap:g}"
    shares = {"false_stops": wrong / studies, "missed": missed / studies}
    return row(name, studies, shares, AT_MOST, labels=float(np.mean(labels)))


def run(studies: int, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    for n in (200,) if quick else (60, 200, 600):
        for gap in (0.0, 0.3):
            yield stopped(studies, n, gap)
