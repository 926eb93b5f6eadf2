"""Simulated duels of slates for the demo and for tests. No person preferred anything in them.

The model of items, users, histories and ratings is that of `data.catalogue`.

- A user is offered items outside the history: the first `OFFERED` of those that the user would choose. Of
  these four slates are drawn per task, and all their pairs are duels, as in
  `metaeval.kinds.slates.data.sampling`; utilities follow the user's ratings. A slate is compared with itself
  too, and one pair once more.
- Five raters stand for judges. Each says of each showing the sign of the sum
  ``gap × g + lean + circle × c + noise × e``, or a tie if the sum is nearer to 0 than ``tie``. Here g is the
  difference of the utilities over its standard deviation in the task; c is 1 if the slate that is shown first
  is followed by the other one in a circle of the four, and -1 for the reverse; e is drawn again for each
  showing. `RATERS` has these numbers.

Items depend on the seed ``world``, all else on ``seed``.

Run ``python -m data.make_slates [FOLDER]``; the same duels and verdicts come out each time.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from data.catalogue import ITEM, STARS, USER, Audience, Catalogue, with_names
from metaeval.base.records import FIRST, SECOND
from metaeval.data.units import summary
from metaeval.kinds.slates.data.loading import save, slate_set_of
from metaeval.kinds.slates.data.sampling import GAIN, UTILITIES, Sampling, draw_duels, rescaled
from metaeval.kinds.slates.data.slate_set import KEYS, SlateSet, units_of

OFFERED = 20
SLATES = 4
"""Of a user and task."""


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
    wish = catalogue.popularity + audience.interest + draw.gumbel(size=audience.interest.shape)
    offered = np.argsort(np.where(audience.seen, np.inf, -wish), axis=1, kind="stable")
    offered = offered[:, : min(OFFERED, items - history)]
    gains = rescaled(np.take_along_axis(audience.stars, offered, axis=1), *STARS)
    candidates = {USER: np.repeat(np.arange(users), offered.shape[1]), ITEM: offered.ravel()}
    tables = with_names(
        {
            "items": catalogue.items,
            "histories": audience.histories(draw),
            "candidates": pd.DataFrame({**candidates, GAIN: gains.ravel()}),
        },
        users,
        items,
    )
    how = Sampling(size=length, slates=SLATES, identical=1, repeats=1, seed=seed)
    drawn = draw_duels(tables.pop("candidates"), how, tables["items"])
    tables |= {"duels": drawn.duels, "slates": drawn.slates, "scores": _scores(drawn.duels, draw)}
    about = {
        "name": "slates",
        "licence": "Apache-2.0",
        "source": f"simulated; data/make_slates.py states the model; seed {seed}",
        "language": "en",
        "simulated": True,
        "tasks": UTILITIES,
        "domain": {
            "platform": "a film library",
            "noun": "film",
            "plural": "films",
            "popularity": "well-known, well-regarded films",
            "diversity": "films of different genres",
        },
        "history_scale": {"min": STARS[0], "max": STARS[1]},
    }
    return slate_set_of(about, tables)


def _scores(duels: pd.DataFrame, draw: np.random.Generator) -> pd.DataFrame:
    """Return what each rater says of each showing."""
    units = units_of(duels)
    apart = units["utility_first"] - units["utility_second"]
    gap = (apart / apart.groupby(units["task"]).transform("std")).to_numpy()
    number = units[[FIRST, SECOND]].apply(lambda slates: slates.str[-1].astype(int))
    steps = ((number[SECOND] - number[FIRST]) % SLATES).to_numpy()
    circle = np.where(steps == 1, 1, np.where(steps == SLATES - 1, -1, 0))
    parts = []
    for name, of in RATERS.items():
        noise = draw.normal(size=len(units))
        leaning = of.gap * gap + of.lean + of.circle * circle + of.noise * noise
        said = np.where(np.abs(leaning) < of.tie, 0, np.sign(leaning))
        parts.append(units[[*KEYS]].assign(evaluator=name, aspect="", score=said))
    return pd.concat(parts, ignore_index=True)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "slates"
    slates = simulate()
    save(slates, target, "csv", force=True)
    print(summary(slates))
