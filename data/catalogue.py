"""A simulated catalogue, and users who choose from it: what the simulated data sets of kinds are made of.

The model. Items have one or two genres; a genre is a point in a space of tastes, and an item lies near the
mean of its genres. An item has a log popularity p and an appeal a to everybody, both normal. A user has a
taste, a normal vector; the interest in an item is ``z = (taste · item + a) / scale``, about standard normal.

A history is drawn without replacement, with weights ``exp(p + z)``; ratings of 1 to 5 stars follow the
interest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from metaeval.stats.coefficients.tables import Floats, Ints

USER, ITEM = "user_id", "item_id"
STARS = (1, 5)
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


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Simulated items.

    Parameters
    ----------
    items
        ``item_id`` (the number of the item), ``title``, ``genres``, ``keywords`` and ``year``.
    place
        Of each item in the space of tastes.
    popularity, appeal
        Of each item.
    """

    items: pd.DataFrame
    place: Floats
    popularity: Floats
    appeal: Floats

    @classmethod
    def drawn(cls, items: int, draw: np.random.Generator) -> Catalogue:
        """Return so many items."""
        genres = draw.normal(size=(len(_GENRES), _TASTES))
        of_item = np.sort(np.argsort(draw.random((items, len(_GENRES))), axis=1)[:, :2], axis=1)
        of_item[draw.random(items) < 0.4, 1] = _NONE
        mean = np.where(
            of_item[:, 1:] == _NONE,
            genres[of_item[:, 0]],
            (genres[of_item[:, 0]] + genres[of_item[:, 1]]) / 2,
        )
        place = mean + draw.normal(0, 0.5, (items, _TASTES))
        popularity, appeal = draw.normal(size=items), draw.normal(0, _APPEAL, items)
        years = 1960 + (draw.random(items) * 65).astype(int)
        return cls(pd.DataFrame({ITEM: range(items), **_fields(of_item, years)}), place, popularity, appeal)


@dataclass(frozen=True, eq=False)
class Audience:
    """Simulated users of a catalogue.

    Parameters
    ----------
    interest
        Of each user (row) in each item (column).
    stars
        How the user rates the item.
    past
        The items of each user's history.
    """

    interest: Floats
    stars: Floats
    past: Ints

    @classmethod
    def drawn(cls, catalogue: Catalogue, users: int, history: int, draw: np.random.Generator) -> Audience:
        """Return so many users with so many items in the history of each."""
        place, shape = catalogue.place, (users, len(catalogue.items))
        taste = draw.normal(size=(users, _TASTES))
        # A sum over six products, not BLAS: the same on every computer.
        interest = (np.einsum("ud,id->ui", taste, place, optimize=False) + catalogue.appeal) / np.sqrt(
            (place**2).sum(1).mean() + _APPEAL**2
        )
        gumbel = -np.log(-np.log(draw.random(shape)))
        order = np.argsort(-(catalogue.popularity + interest + gumbel), axis=1, kind="stable")
        stars = np.clip(np.round(3 + interest + draw.normal(0, 0.5, shape)), *STARS)
        return cls(interest, stars, order[:, :history])

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Whether the item is in the user's history."""
        seen = np.zeros(self.interest.shape, dtype=bool)
        np.put_along_axis(seen, self.past, values=True, axis=1)
        return seen

    def histories(self, draw: np.random.Generator) -> pd.DataFrame:
        """Return the histories, with numbers of users and items."""
        return pd.DataFrame(
            {
                USER: np.repeat(np.arange(len(self.past)), self.past.shape[1]),
                ITEM: self.past.ravel(),
                "rating": np.take_along_axis(self.stars, self.past, axis=1).ravel(),
                "timestamp": np.floor(1.7e9 + 3e7 * draw.random(self.past.size)),
            }
        )


def with_names(tables: Mapping[str, pd.DataFrame], users: int, items: int) -> dict[str, pd.DataFrame]:
    """Return tables with the names of users and items in place of their numbers."""
    names = {USER: _names("u", users), ITEM: _names("i", items)}
    return {
        kind: table.assign(**{k: of[table[k].to_numpy()] for k, of in names.items() if k in table})
        for kind, table in tables.items()
    }


def _names(letter: str, count: int) -> NDArray[np.object_]:
    width = len(str(count))
    return np.array([f"{letter}{n + 1:0{width}}" for n in range(count)], dtype=object)


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
