"""A small folder of duels: one user, three films, two lists of each pair that is compared."""

from __future__ import annotations

import pandas as pd

from metaeval.kinds.slates.data.loading import slate_set_of

ABOUT = {
    "name": "films",
    "tasks": {"own": "which list was clicked"},
    "domain": {"noun": "film", "plural": "films"},
    "history_scale": {"min": 1, "max": 5},
}
DUELS = [
    # user, duel, task, first, second, utilities, repeat, similarity
    ("u", "1", "T1", "a", "b", 0.5, 0.25, 0, 0.5),
    ("u", "2", "T2", "a", "c", 0.5, 0.75, 0, None),
    ("u", "3", "own", "a", "a", 0, 0, 0, 1),
    ("u", "4", "T1", "b", "a", 0.25, 0.5, 1, 0.5),
    ("v", "1", "T3", "a", "b", 1, 0.1, 0, 0.25),
]
SLATES = {"u": {"a": "xy", "b": "z", "c": "yx"}, "v": {"a": "yz", "b": "zx"}}
COLUMNS = ["user_id", "duel", "task", "first", "second", "utility_first", "utility_second", "repeat"]


def tables() -> dict[str, pd.DataFrame]:
    """Return the tables of the folder."""
    slates = [
        (user, slate, at, item)
        for user, own in SLATES.items()
        for slate, items in own.items()
        for at, item in enumerate(items, 1)
    ]
    return {
        "duels": pd.DataFrame(DUELS, columns=[*COLUMNS, "similarity"]),
        "slates": pd.DataFrame(slates, columns=["user_id", "slate", "position", "item_id"]),
        "items": pd.DataFrame({"item_id": [*"xyz"], "title": ["Ran", "Ikiru", "Heat"]}),
        "histories": pd.DataFrame({"user_id": ["u", "u"], "item_id": ["p", "q"], "rating": [4.0, 1.0]}),
        "profiles": pd.DataFrame({"user_id": ["v"], "age": ["31"]}),
        "scores": pd.DataFrame(
            {
                "user_id": "u",
                "duel": ["1", "1", "2"],
                "order": ["first", "second", "first"],
                "evaluator": "old",
                "aspect": ["preference", "preference", ""],
                "score": [1.0, 0.0, None],
            }
        ),
    }


def small():
    """Return the data set."""
    return slate_set_of(ABOUT, tables())
