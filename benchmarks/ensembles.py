"""All subsets of twelve judges, three levels and four aspects: seconds, and a check by averaging scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.engine import clock
from metaeval.stats.coefficients.levels import Grouping, estimate
from metaeval.stats.subset_correlations import every_subset, subset_statistic
from metaeval.stats.weighted.sums import Clusters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.stats.coefficients.tables import Floats

JUDGES, ASPECTS = 12, 4
UNITS, USERS, PAIRS = 2_536, 39, 310  # of the recexp study
TARGET_S = 2.0
SAMPLE = 200  # subsets whose scores are averaged


def inputs(seed: int = 0) -> tuple[Floats, Floats, dict[str, Grouping]]:
    """Return scores (aspects, judges, units), truth (aspects, units) and groupings; all simulated."""
    rng = np.random.default_rng(seed)
    pair = np.sort(np.concatenate([np.arange(PAIRS), rng.integers(0, PAIRS, UNITS - PAIRS)]))
    truth = rng.integers(1, 6, (ASPECTS, UNITS)).astype(np.float64)
    noisy = 0.3 * truth[:, None] + rng.normal(2, 1.5, (ASPECTS, JUDGES, UNITS))
    groupings = {
        "dataset": Grouping(np.zeros(UNITS, dtype=np.int64), 1),
        "user": Grouping(pair * USERS // PAIRS, USERS),
        "pair": Grouping(pair, PAIRS),
    }
    return np.clip(np.rint(noisy), 1, 5), truth, groupings


def from_covariances(scores: Floats, truth: Floats, groupings: dict[str, Grouping]) -> Floats:
    """Return the accuracy of every subset, shape (aspects, levels, subsets)."""
    users = Clusters(groupings["user"].group, USERS)
    all_users = np.ones((USERS, 1))
    return np.array(
        [
            [subset_statistic(x, y, g, users).at(all_users)[:, 0] for g in groupings.values()]
            for x, y in zip(scores, truth, strict=True)
        ]
    )


def from_averages(scores: Floats, truth: Floats, groupings: dict[str, Grouping], subsets: Floats) -> Floats:
    """Return the accuracy of some subsets by averaging the judges' scores; shapes as above."""
    means = np.einsum("sk,akn->asn", subsets / subsets.sum(axis=1, keepdims=True), scores)
    means = np.round(means, 12)  # so that equal means tie
    found = []
    for x, y in zip(means, truth, strict=True):
        at = estimate(x, y[None], groupings, ["pearson"], y_row=np.zeros(len(x), dtype=np.int64))
        found.append([at[level, "pearson"].estimate for level in groupings])
    return np.array(found)


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the result; it takes seconds, ``quick`` or not."""
    scores, truth, groupings = inputs()
    members = every_subset(JUDGES).astype(np.float64)
    fast, found = clock(lambda: from_covariances(scores, truth, groupings), 5)
    sample = np.random.default_rng(1).choice(len(members), SAMPLE, replace=False)
    slow, expected = clock(lambda: from_averages(scores, truth, groupings, members[sample]))
    size = f"{len(groupings)} levels × {ASPECTS} aspects × {UNITS:,} units"
    yield {
        "benchmark": f"all {len(members):,} subsets of {JUDGES} judges, {size}",
        "averaging_s": round(slow * len(members) / SAMPLE, 3),
        "averaging_measured_on_subsets": SAMPLE,
        "metaeval_s": round(fast, 4),
        "target": TARGET_S,
        "held": fast <= TARGET_S,
        "largest_difference": float(np.abs(found[..., sample] - expected).max()),
    }
