"""A small catalogue, and duels of its slates, made by hand and by a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.records import Scale
from metaeval.kinds.slates.data.slate_set import TASKS, SlateSet, units_of, utilities_of

GENRES = ("horror, thriller", "comedy", "drama, romance")


def slates(users: int = 3, duels: int = 4, items: int = 60, length: int = 3, **more: Any) -> SlateSet:
    """Return users, each with a history and duels of every task in turn.

    A user likes one of the genres, which is what the utility of a slate counts. Films that the user has
    rated stand in slates too, so that a careless judge would be told the rating.
    """
    draw = np.random.default_rng(0)
    table = pd.DataFrame({"item_id": [f"i{i}" for i in range(items)]})
    table["title"] = [f"Film {i}" for i in range(items)]
    table["genres"] = [GENRES[i % 3] for i in range(items)]
    past, shown, fought = [], [], []
    for u in range(users):
        likes = u % 3
        past += [(f"u{u}", f"i{i}", 5.0 - 3 * (i % 3 != likes)) for i in draw.permutation(items)[:20]]
        for d in range(duels):
            drawn = draw.permutation(items)[: 2 * length]
            task = TASKS[d % 3]
            sides = [drawn[:length], drawn[:length][::-1] if task == "T2" else drawn[length:]]
            names = [f"s{2 * d}", f"s{2 * d + 1}"]
            shown += [
                (f"u{u}", name, at, f"i{i}")
                for name, side in zip(names, sides, strict=True)
                for at, i in enumerate(side, 1)
            ]
            fought.append((f"u{u}", f"d{d}", task, *names, *(float(np.mean(s % 3 == likes)) for s in sides)))
    sides_of = ["first", "second", "utility_first", "utility_second"]
    units = units_of(pd.DataFrame(fought, columns=["user_id", "duel", "task", *sides_of]))
    histories = pd.DataFrame(past, columns=["user_id", "item_id", "rating"])
    histories["timestamp"] = draw.permutation(len(histories))
    listed = pd.DataFrame(shown, columns=["user_id", "slate", "position", "item_id"])
    given = {"items": table, "histories": histories, "history_scale": Scale(1, 5), "name": "films", **more}
    return SlateSet(units, utilities_of(units), listed, **given)
