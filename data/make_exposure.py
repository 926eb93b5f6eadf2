"""A simulated log for the demo and for tests, with the truth behind it. No person was shown anything in it.

The model, on the items and users of `data.catalogue`:

- A user is shown an item once or never. The log odds are ``LEVEL + activity + PULL × popularity``; the
  activity of a user is normal. The probabilities are the logged propensities, rounded to four decimals and
  0.001 at least.
- The outcome is 1 (a click) or 0. The log odds are ``BASE + 1.5 × interest + LIKED × popularity``, whatever
  is shown. What is popular is liked a little more, so the mean over what was shown is too high.
- An item is released at some time in the first 60 of 90 days, and shown at some time after that.
- A random sample has the outcomes of ``test`` items of each user, drawn without regard to exposure.
- A recommender orders items by a sum of interest, popularity and noise; `SYSTEMS` has the three weights of
  each, from random to near the best order there is.
- Pairs are matched on popularity and age, as `metaeval data pairs` does.

Items and recommenders depend on the seed ``world``, users, exposure and outcomes on ``seed``.

Run ``python -m data.make_exposure [FOLDER]``; the same log, lists and pairs come out each time.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from data.catalogue import Audience, Catalogue, with_names
from metaeval.data.units import summary
from metaeval.kinds.exposure.commands import make_pairs
from metaeval.kinds.exposure.data.loading import log_of, save
from metaeval.kinds.exposure.data.log_set import ITEM, OUTCOME, PROPENSITY, TIME, USER
from metaeval.kinds.reading import load

if TYPE_CHECKING:
    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.stats.coefficients.tables import Floats, Ints

SYSTEMS = {
    "random": (0.0, 0.0, 1.0),
    "popular": (0.0, 1.0, 0.1),
    "popular-taste": (0.4, 0.6, 0.5),
    "taste-1": (0.2, 0.0, 1.0),
    "taste-2": (0.4, 0.0, 1.0),
    "taste-3": (0.7, 0.0, 1.0),
    "taste-4": (1.1, 0.0, 1.0),
    "near-best": (1.5, 0.3, 0.2),
}
"""Recommender → its weights of the interest, of popularity and of noise."""
LEVEL, PULL, BASE, LIKED = -2.2, 1.0, -1.0, 0.5
_LEAST = 0.001
_START, _DAY, _DAYS, _RELEASES = 1_700_000_000, 86_400, 90, 60


class SimulatedLog(NamedTuple):
    """A log without pairs, and the truth behind it."""

    data: LogSet
    propensity: Floats
    """Of each user (row) and item (column): the probability of being shown."""
    liking: Floats
    """The probability of a click if shown."""
    runs: dict[str, Ints]
    """Recommender → the items of each user's list, by number."""


def simulate(
    *, users: int = 500, items: int = 150, seed: int = 0, world: int = 0, test: int = 8, length: int = 10
) -> SimulatedLog:
    """Return a log of so many users and items, and the truth behind it.

    Parameters
    ----------
    test
        Items of the random sample of each user.
    length
        Of the lists of recommenders.
    """
    draw = np.random.default_rng([world, 16])
    catalogue = Catalogue.drawn(items, draw)
    released = _START + _DAY * np.floor(_RELEASES * draw.random(items))
    prices = np.round(np.exp(2 + 0.5 * draw.normal(size=items)), 2)
    shared = draw.normal(size=(len(SYSTEMS), items))
    draw = np.random.default_rng([seed, 16])
    shape = (users, items)
    interest, popularity = Audience.drawn(catalogue, users, 0, draw).interest, catalogue.popularity
    shown_by = expit(LEVEL + 0.5 * draw.normal(size=(users, 1)) + PULL * popularity)
    propensity = np.clip(np.round(shown_by, 4), _LEAST, 1)
    liking = expit(BASE + 1.5 * interest + LIKED * popularity)
    clicks = (draw.random(shape) < liking).astype(float)
    user, item = np.nonzero(draw.random(shape) < propensity)
    end = _START + _DAY * _DAYS
    time = np.floor(released[item] + (end - released[item]) * draw.random(len(user)))
    sampled = np.argsort(draw.random(shape), axis=1, kind="stable")[:, :test]
    runs: dict[str, Ints] = {}
    for at, (system, (by_taste, by_popularity, noise)) in enumerate(SYSTEMS.items()):
        error = (shared[at] + draw.normal(size=shape)) / np.sqrt(2)
        score = by_taste * interest + by_popularity * popularity + noise * error
        runs[system] = np.argsort(-score, axis=1, kind="stable")[:, :length]
    columns = {USER: user, ITEM: item, TIME: time, OUTCOME: clicks[user, item]}
    order = np.argsort(time, kind="stable")
    fields = catalogue.items.drop(columns="keywords").assign(price=prices, released=released)
    tables = {
        "log": pd.DataFrame(columns | {PROPENSITY: propensity[user, item]}).iloc[order],
        "items": fields,
        "runs": pd.concat([_ranked(system, lists) for system, lists in runs.items()], ignore_index=True),
        "test": pd.DataFrame(
            {
                USER: np.repeat(np.arange(users), test),
                ITEM: sampled.ravel(),
                OUTCOME: np.take_along_axis(clicks, sampled, axis=1).ravel(),
            }
        ),
    }
    about = {
        "name": "exposure",
        "licence": "Apache-2.0",
        "source": f"simulated; data/make_exposure.py states the model; seed {seed}",
        "language": "en",
        "simulated": True,
        "outcome": {"min": 0, "max": 1},
        "statement": "Did the user click?",
        "exposure": "pair",
    }
    return SimulatedLog(log_of(about, with_names(tables, users, items)), propensity, liking, runs)


def _ranked(system: str, lists: Ints) -> pd.DataFrame:
    users, length = lists.shape
    return pd.DataFrame(
        {
            "system": system,
            USER: np.repeat(np.arange(users), length),
            ITEM: lists.ravel(),
            "rank": np.tile(np.arange(1, length + 1), users),
        }
    )


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "exposure"
    save(simulate().data, target, "csv", force=True)
    make_pairs(target)
    print(summary(load(target)))
