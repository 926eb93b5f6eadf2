"""Studies of slates in memory: duels, verdicts given as numbers, and what a study makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.records import Kind, ScoreTable
from metaeval.kinds.slates.data.slate_set import KEYS, PREFERENCE, SlateSet, units_of, utilities_of
from metaeval.kinds.slates.kind import SLATES
from metaeval.kinds.slates.measures import SlatesScored, SlatesStudy

DUEL = ["user_id", "duel", "task", "first", "second", "utility_first", "utility_second"]


def duels(rows: Sequence[Sequence[Any]], **more: Any) -> SlateSet:
    """Return duels: user, task, two slates and their utilities, a row each."""
    given = [(user, f"d{i:03d}", task, *rest) for i, (user, task, *rest) in enumerate(rows)]
    table = units_of(pd.DataFrame(given, columns=DUEL).assign(**more))
    listed = table[["user_id", "first"]].drop_duplicates().rename(columns={"first": "slate"})
    return SlateSet(table, utilities_of(table), listed.assign(position=1, item_id=listed["slate"]))


def scored(
    data: SlateSet, verdicts: Mapping[str, Any], kinds: Mapping[str, Kind] | None = None, **study: Any
) -> SlatesScored:
    """Return a study of verdicts, a number per unit; NaN for none."""
    frames = [
        data.table[[*KEYS]].assign(
            evaluator=name,
            aspect=PREFERENCE,
            score=np.asarray(values, dtype=float),
            status=np.where(np.isnan(values), "unparsed", "ok"),
        )
        for name, values in verdicts.items()
    ]
    table = ScoreTable(pd.concat(frames), {n: {} for n in verdicts}, kinds or {})
    options = {"bootstrap": {"resamples": 200}, "tests": {"permutations": 200}, **study}
    specs = {name: f"Recorded('{name}')" for name in verdicts}
    made = SlatesStudy(dataset="none", kind="slates", **{"evaluators": specs, **options})
    truth = data.ratings.drop(columns="rater")
    return SLATES.scored(
        SLATES, SLATES.resolve(made, data), data.scale, data.cluster, table, truth, None, data
    )


def random_duels(seed: int, users: int = 12, each: int = 8) -> SlateSet:
    """Return duels of two tasks with utilities in 0..1, some of them equal, and users with few or many."""
    draw = np.random.default_rng(seed)
    rows = [
        (f"u{u:02d}", f"T{1 + draw.integers(2)}", f"s{2 * d}", f"s{2 * d + 1}", *draw.integers(0, 5, 2) / 4)
        for u in range(users)
        for d in range(draw.integers(1, each + 1))
    ]
    return duels(rows, similarity=draw.random(len(rows)))
