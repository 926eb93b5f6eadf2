"""A simulated collection for the demo and for tests. No person labelled anything in it.

The model of items, users and histories is that of `data.catalogue`.

- A label is the number of `CUTS` that the interest exceeds: 0 to 3. The rater ``oracle`` gives it without
  noise, ``human`` after a normal error. Two more raters stand for judges: ``judge`` errs more, and
  ``popular`` mixes the interest with the popularity of the item. `RATERS` has their weights.
- A system orders the items outside the user's history by ``taste × z + popularity × p + noise × e``, where
  half of the variance of e is the same for all users. `SYSTEMS` has the three weights of each, from random to
  near the oracle.
- Labels are there for the first so many items of each system, pooled.

Items and systems depend on the seed ``world``, users and all errors on ``seed``: so users can be drawn again
from the population that the same systems serve.

Run ``python -m data.make_relevance [FOLDER]``; the same labels and lists come out each time.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from data.catalogue import Audience, Catalogue, with_names
from metaeval.data.units import summary
from metaeval.kinds.relevance.data.collection import ITEM, USER
from metaeval.kinds.relevance.data.loading import collection_of, save

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.kinds.relevance.data.collection import Collection
    from metaeval.stats.coefficients.tables import Ints

CUTS = (0.3, 0.9, 1.6)
LABELS = ("not interested", "somewhat interested", "interested", "very interested")
SYSTEMS = {
    "random": (0.0, 0.0, 1.0),
    "popular": (0.0, 1.0, 0.1),
    "popular-80": (0.2, 0.8, 0.5),
    "popular-60": (0.4, 0.6, 0.5),
    "popular-40": (0.6, 0.4, 0.5),
    "taste-1": (0.15, 0.0, 1.0),
    "taste-2": (0.25, 0.0, 1.0),
    "taste-3": (0.35, 0.0, 1.0),
    "taste-4": (0.5, 0.0, 1.0),
    "taste-5": (0.65, 0.0, 1.0),
    "taste-6": (0.85, 0.0, 1.0),
    "taste-7": (1.1, 0.0, 1.0),
    "hybrid": (0.8, 0.4, 0.8),
    "near-oracle": (1.0, 0.0, 0.2),
}
"""System → its weights of the interest, of popularity and of noise."""
RATERS = {
    "human": (1.0, 0.0, 0.45),
    "oracle": (1.0, 0.0, 0.0),
    "judge": (0.75, 0.2, 0.8),
    "popular": (0.45, 0.75, 0.4),
}
"""Rater → the same weights; its label is the number of cuts that their sum exceeds."""


def simulate(
    *,
    users: int = 40,
    items: int = 200,
    seed: int = 0,
    world: int = 0,
    history: int = 20,
    pool: int = 10,
    length: int = 20,
) -> Collection:
    """Return a collection of `SYSTEMS` and `RATERS`.

    ``history`` is the number of items in a user's history, ``length`` that of a system's list, of which the
    first ``pool`` are labelled.
    """
    draw = np.random.default_rng([world, 1])
    catalogue = Catalogue.drawn(items, draw)
    shared = draw.normal(size=(len(SYSTEMS), items))
    draw = np.random.default_rng([seed, 2])
    audience = Audience.drawn(catalogue, users, history, draw)
    interest, popularity, seen = audience.interest, catalogue.popularity, audience.seen

    runs, pooled = {}, np.zeros((users, items), dtype=bool)
    for at, (system, (by_taste, by_popularity, noise)) in enumerate(SYSTEMS.items()):
        error = (shared[at] + draw.normal(size=(users, items))) / np.sqrt(2)
        score = by_taste * interest + by_popularity * popularity + noise * error
        order = np.argsort(np.where(seen, np.inf, -score), axis=1, kind="stable")
        runs[system] = lists = order[:, : min(length, items - history)]
        np.put_along_axis(pooled, lists[:, :pool], values=True, axis=1)
    user, item = np.nonzero(pooled)
    labels = {}
    for rater, (by_taste, by_popularity, noise) in RATERS.items():
        mixed = by_taste * interest + by_popularity * popularity + noise * draw.normal(size=interest.shape)
        labels[rater] = user, item, np.searchsorted(CUTS, mixed[user, item])
    tables = {
        "labels": _stacked("rater", "label", labels),
        "runs": _stacked("system", "rank", {s: _ranked(lists) for s, lists in runs.items()}),
        "items": catalogue.items,
        "histories": audience.histories(draw),
    }
    about = {
        "name": "relevance",
        "licence": "Apache-2.0",
        "source": f"simulated; data/make_relevance.py states the model; seed {seed}",
        "language": "en",
        "simulated": True,
        "scale": {"min": 0, "max": len(CUTS)},
        "labels": {str(label): name for label, name in enumerate(LABELS)},
        "models": ["judge", "popular"],
    }
    return collection_of(about, with_names(tables, users, items))


def _ranked(lists: Ints) -> tuple[Ints, Ints, Ints]:
    """Return user, item and rank of each place in the lists."""
    users, length = lists.shape
    return np.repeat(np.arange(users), length), lists.ravel(), np.tile(np.arange(1, length + 1), users)


def _stacked(key: str, value: str, rows: Mapping[str, tuple[Ints, Ints, Ints]]) -> pd.DataFrame:
    columns = (key, USER, ITEM, value)
    parts = [pd.DataFrame(dict(zip(columns, (name, *values), strict=True))) for name, values in rows.items()]
    return pd.concat(parts, ignore_index=True)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "relevance"
    collection = simulate()
    save(collection, target, "csv", force=True)
    print(summary(collection))
