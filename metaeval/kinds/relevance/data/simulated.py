"""A simulated collection for the demo and for tests. No person labelled anything in it.

The model. Items have one or two genres; a genre is a point in a space of tastes, and an item lies near the
mean of its genres. An item has a log popularity p and an appeal a to everybody, both normal. A user has a
taste, a normal vector; the interest in an item is ``z = (taste · item + a) / scale``, about standard normal.

- A label is the number of `CUTS` that the interest exceeds: 0 to 3. The rater ``oracle`` gives it without
  noise, ``human`` after a normal error. Two more raters stand for judges: ``judge`` errs more, and
  ``popular`` mixes the interest with the popularity of the item. `RATERS` has their weights.
- A history is drawn without replacement, with weights ``exp(p + z)``, and never has an item that is
  recommended; ratings of 1 to 5 stars follow the interest.
- A system orders the other items by ``taste × z + popularity × p + noise × e``, where half of the variance of
  e is the same for all users. `SYSTEMS` has the three weights of each, from random to near the oracle.
- Labels are there for the first so many items of each system, pooled.

Items and systems depend on the seed ``world``, users and all errors on ``seed``: so users can be drawn anew
from the population that the same systems serve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.kinds.relevance.data.collection import ITEM, USER
from metaeval.kinds.relevance.data.loading import collection_of

if TYPE_CHECKING:
    from metaeval.kinds.relevance.data.collection import Collection
    from metaeval.stats.coefficients.tables import Floats, Ints

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
_GENRES = {
    "drama": "family grief letters harbour",
    "comedy": "wedding neighbours mistake holiday",
    "thriller": "witness chase secret ransom",
    "science fiction": "station signal robots orbit",
    "romance": "summer promise dance rain",
    "horror": "cellar whisper fog curse",
    "documentary": "archive river voices glacier",
    "adventure": "map desert island treasure",
}
_FIRST = "Quiet Paper Salt Second Hollow Amber Nine Borrowed Winter Loud Hidden Copper Last Painted Slow Open"
_SECOND = (
    "Harbour Ledger Orchard Signal Lantern Garden Bridge Voices Tide Engine Mirror Road Comet House Key Choir"
)
_TASTES = 6
_APPEAL = 0.8
_NONE = -1
"""No second genre."""


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

    Parameters
    ----------
    users, items
        How many there are.
    seed
        Of users, and of all errors.
    world
        Of items.
    history
        Items in the history of a user.
    pool
        The first so many items of each system are labelled.
    length
        Of the lists of the systems.
    """
    draw = np.random.default_rng([world, 1])
    genres = draw.normal(size=(len(_GENRES), _TASTES))
    of_item = np.sort(np.argsort(draw.random((items, len(_GENRES))), axis=1)[:, :2], axis=1)
    of_item[draw.random(items) < 0.4, 1] = _NONE
    mean = np.where(
        of_item[:, 1:] == _NONE, genres[of_item[:, 0]], (genres[of_item[:, 0]] + genres[of_item[:, 1]]) / 2
    )
    place = mean + draw.normal(0, 0.5, (items, _TASTES))
    popularity, appeal = draw.normal(size=items), draw.normal(0, _APPEAL, items)
    years = 1960 + (draw.random(items) * 65).astype(int)
    shared = draw.normal(size=(len(SYSTEMS), items))

    draw = np.random.default_rng([seed, 2])
    taste = draw.normal(size=(users, _TASTES))
    # A sum over six products, not BLAS: the same on every computer.
    interest = (np.einsum("ud,id->ui", taste, place, optimize=False) + appeal) / np.sqrt(
        (place**2).sum(1).mean() + 0.64
    )
    gumbel = -np.log(-np.log(draw.random((users, items))))
    past = np.argsort(-(popularity + interest + gumbel), axis=1, kind="stable")[:, :history]
    stars = np.clip(np.round(3 + interest + draw.normal(0, 0.5, (users, items))), 1, 5)
    seen = np.zeros((users, items), dtype=bool)
    np.put_along_axis(seen, past, values=True, axis=1)

    runs, pooled = {}, np.zeros((users, items), dtype=bool)
    for at, (system, (by_taste, by_popularity, noise)) in enumerate(SYSTEMS.items()):
        error = (shared[at] + draw.normal(size=(users, items))) / np.sqrt(2)
        score = by_taste * interest + by_popularity * popularity + noise * error
        lists = np.argsort(np.where(seen, np.inf, -score), axis=1, kind="stable")[
            :, : min(length, items - history)
        ]
        runs[system] = lists
        np.put_along_axis(pooled, lists[:, :pool], values=True, axis=1)
    user, item = np.nonzero(pooled)
    said = {
        rater: np.searchsorted(
            CUTS, _mixed(weights, interest, popularity, draw.normal(size=interest.shape))[user, item]
        )
        for rater, weights in RATERS.items()
    }
    user_names, item_names = _names("u", users), _names("i", items)
    tables = {
        "labels": _stacked("rater", "label", {r: (user, item, labels) for r, labels in said.items()}),
        "runs": _stacked("system", "rank", {s: _ranked(lists) for s, lists in runs.items()}),
        "items": pd.DataFrame({ITEM: range(items), **_fields(of_item, years)}),
        "histories": pd.DataFrame(
            {
                USER: np.repeat(np.arange(users), past.shape[1]),
                ITEM: past.ravel(),
                "rating": np.take_along_axis(stars, past, axis=1).ravel(),
                "timestamp": np.floor(1.7e9 + 3e7 * draw.random(past.size)),
            }
        ),
    }
    for table in tables.values():
        for key, names in ((USER, user_names), (ITEM, item_names)):
            if key in table:
                table[key] = names[table[key].to_numpy()]
    about = {
        "name": "relevance",
        "licence": "Apache-2.0",
        "source": f"simulated; metaeval.kinds.relevance.data.simulated states the model; seed {seed}",
        "language": "en",
        "simulated": True,
        "scale": {"min": 0, "max": len(CUTS)},
        "labels": {str(label): name for label, name in enumerate(LABELS)},
        "models": ["judge", "popular"],
    }
    return collection_of(about, tables)


def _mixed(weights: tuple[float, float, float], *parts: Floats) -> Floats:
    found: Floats = sum((weight * part for weight, part in zip(weights, parts, strict=True)), np.zeros(()))
    return found


def _names(letter: str, count: int) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    width = len(str(count))
    return np.array([f"{letter}{n + 1:0{width}}" for n in range(count)], dtype=object)


def _ranked(lists: Ints) -> tuple[Ints, Ints, Ints]:
    """Return user, item and rank of each place in the lists."""
    users, length = lists.shape
    return np.repeat(np.arange(users), length), lists.ravel(), np.tile(np.arange(1, length + 1), users)


def _stacked(of: str, value: str, rows: dict[str, tuple[Ints, Ints, Ints]]) -> pd.DataFrame:
    parts = [
        pd.DataFrame({of: name, USER: user, ITEM: item, value: values})
        for name, (user, item, values) in rows.items()
    ]
    return pd.concat(parts, ignore_index=True)


def _fields(genres: Ints, years: Ints) -> dict[str, list[str]]:
    """Return title, genres, keywords and year of each item."""
    first, second, names = _FIRST.split(), _SECOND.split(), list(_GENRES)
    titles, kinds, words = [], [], []
    for at, pair in enumerate(genres):
        own = [names[g] for g in pair if g != _NONE]
        volume = at // (len(first) * len(second))
        title = f"{first[at % len(first)]} {second[(at * 7 + at // len(first)) % len(second)]}"
        titles.append(f"{title} {volume + 1}" if volume else title)
        kinds.append(", ".join(own))
        words.append(" ".join(_GENRES[genre] for genre in own))
    return {"title": titles, "genres": kinds, "keywords": words, "year": [str(year) for year in years]}
