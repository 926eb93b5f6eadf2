"""Simulated duels of slates for the demo and for tests. No person preferred anything in them.

The model of items, users, histories and ratings is that of `metaeval.kinds.catalogue`.

- A user is offered items outside the history: the first `OFFERED` of those that the user would choose.
- For each user and task there are four slates. Each holds the items that come first by ``weight × z + e``,
  with z the user's interest and e a normal error of the slate; `WEIGHTS` has the four weights. No two slates
  are alike. In T1 they are sets of offered items, from `SHORTEST` to ``length`` many; in T2 they are orders
  of the same items; in T3 they are lists of ``length`` offered items.
- The utility of a set is the sum of the user's ratings, moved to 0 … 1 and divided by ``length``. That of an
  order is its nDCG, with those ratings as gains, against the best order of the items that it could hold.
- All six pairs of the four slates are duels. So are a slate with itself, and one of the pairs once more.
- Five raters stand for judges. Each says of each showing the sign of the sum
  ``gap × g + lean + circle × c + noise × e``, or a tie if the sum is nearer to 0 than ``tie``. Here g is the
  difference of the utilities over its standard deviation in the task; c is 1 if the slate that is shown first
  is followed by the other one in a circle of the four, and -1 for the reverse; e is drawn anew for each
  showing. `RATERS` has these numbers.

Items depend on the seed ``world``, all else on ``seed``.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from metaeval.kinds.catalogue import ITEM, STARS, USER, Audience, Catalogue, with_names
from metaeval.kinds.slates.data.loading import slate_set_of
from metaeval.kinds.slates.data.slate_set import (
    BOTH,
    DUEL,
    ORDERING,
    POSITION,
    SET,
    SLATE,
    TASKS,
    units_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.kinds.slates.data.slate_set import SlateSet
    from metaeval.stats.coefficients.tables import Floats, Ints

OFFERED = 20
WEIGHTS = (0.0, 0.6, 1.5, 3.0)
"""Of the interest, in the order of each slate."""
SHORTEST = 3
"""Items of a slate of T1, at least."""


class Rater(NamedTuple):
    """How a rater comes to a verdict."""

    gap: float = 1.0
    lean: float = 0.0
    """Towards the slate that is shown first."""
    circle: float = 0.0
    noise: float = 0.3
    tie: float = 0.0


RATERS = {
    "sharp": Rater(),
    "careful": Rater(tie=0.5),
    "noisy": Rater(noise=1.5),
    "leaning": Rater(lean=1.0, noise=0.6),
    "cyclic": Rater(gap=0.3, circle=1.5),
}


def simulate(
    *, users: int = 40, items: int = 200, seed: int = 0, world: int = 0, history: int = 20, length: int = 5
) -> SlateSet:
    """Return duels of the three tasks, and what the `RATERS` said of them.

    Parameters
    ----------
    users, items
        How many there are.
    seed
        Of users, slates and raters.
    world
        Of items.
    history
        Items in the history of a user.
    length
        Items of a slate.
    """
    catalogue = Catalogue.drawn(items, np.random.default_rng([world, 1]))
    draw = np.random.default_rng([seed, 3])
    audience = Audience.drawn(catalogue, users, history, draw)
    rows = [
        row for user in range(users) for row in _slates(audience, catalogue.popularity, user, length, draw)
    ]
    slates = pd.DataFrame(rows, columns=[USER, "task", "at", "held", "utility"])
    slates[SLATE] = slates["task"] + "-" + slates["at"].map(dict(enumerate("abcd")))
    slates["mean"] = [catalogue.place[held].mean(axis=0) for held in slates["held"]]
    duels = pd.concat(
        [_duels(own, draw) for _, own in slates.groupby([USER, "task"], sort=False)], ignore_index=True
    )
    duels[DUEL] = duels.groupby(USER).cumcount() + 1
    listed = slates[[USER, SLATE, "held"]].explode("held").rename(columns={"held": ITEM}).astype({ITEM: int})
    listed[POSITION] = listed.groupby([USER, SLATE]).cumcount() + 1
    tables = {
        "duels": duels.drop(columns="circle"),
        "slates": listed[[USER, SLATE, POSITION, ITEM]].reset_index(drop=True),
        "items": catalogue.items,
        "histories": audience.histories(draw),
        "scores": _scores(duels, draw),
    }
    about = {
        "name": "slates",
        "licence": "Apache-2.0",
        "source": f"simulated; metaeval.kinds.slates.data.simulated states the model; seed {seed}",
        "language": "en",
        "simulated": True,
        "tasks": {
            SET: "which films, in whatever order; the sum of the user's ratings, moved to 0 … 1",
            ORDERING: "in which order the same films; nDCG by the user's ratings",
            BOTH: "which films in which order; nDCG by the user's ratings",
        },
        "domain": {
            "platform": "a film library",
            "noun": "film",
            "plural": "films",
            "popularity": "well-known, well-regarded films",
            "diversity": "films of different genres",
        },
        "history_scale": {"min": STARS[0], "max": STARS[1]},
    }
    return slate_set_of(about, with_names(tables, users, items))


def _slates(
    audience: Audience, popularity: Floats, user: int, length: int, draw: np.random.Generator
) -> Iterator[tuple[int, str, int, Ints, float]]:
    """Yield user, task, number, items and utility of the slates of a user."""
    interest, gains = audience.interest[user], (audience.stars[user] - STARS[0]) / (STARS[1] - STARS[0])
    wish = popularity + interest + draw.gumbel(size=len(interest))
    wish[audience.past[user]] = -np.inf
    offered = np.argsort(-wish, kind="stable")[: min(OFFERED, len(wish) - audience.past.shape[1])]
    for task in TASKS:
        among = draw.permutation(offered)[:length] if task == ORDERING else offered
        best = _dcg(np.sort(gains[among])[::-1][:length])
        for at, held in enumerate(_four(interest, among, length, task, draw)):
            worth = gains[held].sum() / length if task == SET else _dcg(gains[held]) / (best or 1)
            yield user, task, at, held, round(float(worth), 4)


def _four(interest: Floats, among: Ints, length: int, task: str, draw: np.random.Generator) -> list[Ints]:
    """Return four slates of which no two are alike: as sets, or as lists."""
    while True:
        keys = np.outer(WEIGHTS, interest[among]) + draw.normal(size=(len(WEIGHTS), len(among)))
        lists = among[np.argsort(-keys, axis=1, kind="stable")[:, :length]]
        if task == SET:
            found = [held[: draw.integers(SHORTEST, length + 1)] for held in lists]
            alike = {frozenset(held.tolist()) for held in found}
        else:
            found, alike = list(lists), {frozenset(enumerate(held.tolist())) for held in lists}
        if len(alike) == len(found):
            return found


def _dcg(gains: Floats) -> float:
    return float((gains / np.log2(np.arange(2, len(gains) + 2))).sum())


def _duels(slates: pd.DataFrame, draw: np.random.Generator) -> pd.DataFrame:
    """Return all pairs of a user's slates of a task, one slate with itself, and one pair once more."""
    pairs = draw.permuted(list(combinations(range(len(slates)), 2)), axis=1)
    own = draw.integers(len(slates))
    pairs = np.concatenate([pairs, [[own, own]], pairs[draw.integers(len(pairs), size=1)]])
    one, other = (slates.iloc[column].reset_index(drop=True) for column in pairs.T)
    steps = (pairs[:, 1] - pairs[:, 0]) % len(slates)
    return pd.DataFrame(
        {
            USER: one[USER],
            "task": one["task"],
            "first": one[SLATE],
            "second": other[SLATE],
            "utility_first": one["utility"],
            "utility_second": other["utility"],
            "repeat": [0] * (len(pairs) - 1) + [1],
            "similarity": [round(_cosine(a, b), 3) for a, b in zip(one["mean"], other["mean"], strict=True)],
            "circle": np.where(steps == 1, 1, np.where(steps == len(slates) - 1, -1, 0)),
        }
    )


def _cosine(a: Floats, b: Floats) -> float:
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def _scores(duels: pd.DataFrame, draw: np.random.Generator) -> pd.DataFrame:
    """Return what each rater says of each showing."""
    units = units_of(duels)
    apart = units["utility_first"] - units["utility_second"]
    gap = (apart / apart.groupby(units["task"]).transform("std")).to_numpy()
    circle = np.outer(duels["circle"], [1, -1]).ravel()
    parts = []
    for name, of in RATERS.items():
        noise = draw.normal(size=len(units))
        leaning = of.gap * gap + of.lean + of.circle * circle + of.noise * noise
        said = np.where(np.abs(leaning) < of.tie, 0, np.sign(leaning))
        parts.append(units[[USER, DUEL, "order"]].assign(evaluator=name, aspect="", score=said))
    return pd.concat(parts, ignore_index=True)
