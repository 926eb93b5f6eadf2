"""A study of 100,000 duels by five judges, from scores to all of its tables: seconds of the processor."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.records import Kind, ScoreTable
from metaeval.kinds.slates.data.slate_set import KEYS, PREFERENCE, SlateSet, units_of, utilities_of
from metaeval.kinds.slates.kind import SLATES
from metaeval.kinds.slates.measures import SlatesStudy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.kinds.kind import Scored

_DUELS, _JUDGES = 100_000, 5
_SECONDS = {1000: 10, 10_000: 18}
"""Users → the most seconds of the processor."""


def _scored(users: int) -> Scored[SlatesStudy]:
    """Return verdicts of judges with noise of their own, in both orders, on duels of as many users."""
    rng = np.random.default_rng(0)
    each = _DUELS // users
    slates = next(n for n in itertools.count(2) if n * (n - 1) // 2 >= each)
    one, other = (side[:each] for side in np.triu_indices(slates, 1))
    utility = rng.integers(0, 21, (users, slates)) / 20
    user = np.repeat([f"u{u:05d}" for u in range(users)], each)
    names = np.array([f"s{s:02d}" for s in range(slates)])
    duels = pd.DataFrame(
        {
            "user_id": user,
            "duel": np.tile([f"d{d:03d}" for d in range(each)], users),
            "task": "T1",
            "first": np.tile(names[one], users),
            "second": np.tile(names[other], users),
            "utility_first": utility[:, one].ravel(),
            "utility_second": utility[:, other].ravel(),
            "similarity": rng.random(users * each),
        }
    )
    table = units_of(duels)
    slates_of = pd.DataFrame({"user_id": user, "slate": duels["first"], "position": 1, "item_id": "i"})
    data = SlateSet(table, utilities_of(table), slates_of.drop_duplicates(["user_id", "slate"]))
    gap = data.ratings["rating"].to_numpy()
    judges = [f"judge {j}" for j in range(_JUDGES)]
    verdicts = [np.sign(gap + (0.1 + j / 5) * rng.normal(size=len(gap))) for j in range(_JUDGES)]
    scores = pd.concat(
        [
            table[[*KEYS]].assign(evaluator=j, aspect=PREFERENCE, score=v, status="ok")
            for j, v in zip(judges, verdicts, strict=True)
        ],
        ignore_index=True,
    )
    given = ScoreTable(scores, {j: {} for j in judges}, dict.fromkeys(judges, Kind.RECORDED))
    study = SlatesStudy(kind="slates", dataset="none", evaluators=[f"Recorded('{j}')" for j in judges])
    truth = data.ratings.drop(columns="rater")
    return SLATES.scored(
        SLATES, SLATES.resolve(study, data), data.scale, data.cluster, given, truth, None, data
    )


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the seconds for 1,000 and 10,000 users; ``quick`` leaves out the latter."""
    for users, most in list(_SECONDS.items())[: 1 if quick else None]:
        scored = _scored(users)
        start = time.process_time()
        found = SLATES.results(scored)
        SLATES.details(scored)
        seconds = time.process_time() - start
        yield {
            "benchmark": f"study of {_DUELS:,} duels × {_JUDGES} judges, {users:,} users, 10,000 resamples",
            "processor_s": round(seconds, 1),
            "target": f"{most} s",
            "held": seconds <= most,
            "tables": sorted(found.files),
        }
