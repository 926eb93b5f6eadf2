"""A small collection of films, made by hand and by a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.records import Scale
from metaeval.kinds.relevance.data.collection import Collection

GENRES = ("horror, thriller", "comedy", "drama, romance")
NAMES = {0: "not interested", 1: "somewhat interested", 2: "interested", 3: "very interested"}


def films(users: int = 3, items: int = 30, past: int = 12, judged: int = 10, **more: Any) -> Collection:
    """Return users who chose films before and label others; a part of them chose what is judged."""
    draw = np.random.default_rng(0)
    table = pd.DataFrame({"item_id": [f"i{i}" for i in range(items)]})
    table["title"] = [f"Film {i}" for i in range(items)]
    table["genres"] = [GENRES[i % 3] for i in range(items)]
    table["overview"] = [f"What happens in film {i}.\nAnd how it ends." for i in range(items)]
    chosen = [(f"u{u}", f"i{i}") for u in range(users) for i in draw.permutation(items)[:past].tolist()]
    units = [(f"u{u}", f"i{i}") for u in range(users) for i in draw.permutation(items)[:judged].tolist()]
    keys = ["user_id", "item_id"]
    histories = pd.DataFrame(chosen, columns=keys)
    histories["rating"] = draw.integers(1, 6, len(chosen)).astype(float)
    histories["timestamp"] = draw.permutation(len(chosen))
    of_units = pd.DataFrame(units, columns=keys)
    ratings = of_units.assign(rater="human", aspect="relevance", rating=draw.integers(0, 4, len(units)) * 1.0)
    runs = of_units.assign(system="one", rank=of_units.groupby("user_id").cumcount() + 1)
    given = {"items": table, "histories": histories, "labels": NAMES, "name": "films", **more}
    question = {"relevance": "How interested are you in watching this film?"}
    return Collection(of_units, ratings, question, Scale(0, 3), runs, **given)
