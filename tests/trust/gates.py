"""Scores of a system that is made up, to be held against a gate."""

from __future__ import annotations

import numpy as np
import pandas as pd

from metaeval.base.simulation import Simulation
from metaeval.trust.gate.baseline import GateScores


def scored(
    seed: int = 0,
    *,
    users: int = 40,
    items: int = 4,
    shift: float = 0.0,
    aspects: tuple[str, ...] = ("clear", "fitting"),
    generator: str = "v1",
    noise: float = 0.3,
    identity: dict[str, object] | None = None,
    call: str = "",
) -> GateScores:
    """Return ratings of one generator; the seed is the judge's noise, the texts are always the same."""
    base, own = np.random.default_rng(99), np.random.default_rng(seed)
    rows = []
    for u in range(users):
        liking = base.normal(0, 0.3)
        for i in range(items):
            quality = base.normal(0, 0.5)
            for aspect in aspects:
                score = 3.5 + liking + quality + shift + own.normal(0, noise)
                rows.append(
                    {
                        "user_id": f"u{u:02}",
                        "item_id": f"i{i}",
                        "generator": generator,
                        "category": ("short", "long")[i % 2],
                        "aspect": aspect,
                        "score": float(np.clip(np.rint(score), 1, 5)),
                        "call": call and f"{call}{u}-{i}",
                    }
                )
    return GateScores(
        pd.DataFrame(rows),
        "judge",
        identity or {"model": "m"},
        (1.0, 5.0),
        "made up",
        f"data {seed}",
        Simulation(True),
    )
