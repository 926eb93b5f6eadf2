"""Features of exposures, column by column: what may decide that an item is shown to a user.

=================  ====================================================================================
user_frequency     log of the rows of the user
item_popularity    log of 1 + the rows that other users have of the item
age                bin of the item's age at that time (since its release, or else its first row)
hour               sine and cosine of the hour of day (UTC)
weekday            Tuesday to Sunday, against Monday (UTC)
genre_entropy      entropy of the genres of the user's rows, in nats; an item counts in each of its genres
=================  ====================================================================================

Features that the data have nothing for are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from metaeval.kinds.exposure.propensity.exposures import DAY
from metaeval.stats.regression.quantile_bins import QuantileBins, quantile_bins

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from metaeval.kinds.exposure.propensity.exposures import Exposures
    from metaeval.stats.coefficients.tables import Floats, Ints

BINS = 5
"""Of popularity and of age."""
GENRES = ("genres", "genre", "category", "categories")
"""Fields of items whose entropy is a feature; the first that there is."""
_DAYS = ("Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONDAY = 4 * DAY  # 1970-01-05


@dataclass(frozen=True, eq=False)
class Features:
    """What makes a row of features of any user, item and time."""

    of: Exposures
    chosen: Sequence[str]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        given = {
            "user_frequency": ("user_frequency",),
            "item_popularity": ("item_popularity",),
            "age": tuple(f"age bin {bin_}" for bin_ in range(1, self.ages.n)) if self.ages else (),
            "hour": ("hour (sine)", "hour (cosine)") if self.of.time is not None else (),
            "weekday": _DAYS if self.of.time is not None else (),
            "genre_entropy": ("genre_entropy",) if self.entropy is not None else (),
        }
        return tuple(column for name in given if name in self.chosen for column in given[name])

    def rows(self, user: Ints, item: Ints, time: Floats | None, own: Ints) -> Floats:
        """Return a row of features of each exposure.

        Parameters
        ----------
        own
            How many rows of the log the user has of the item, which do not count in its popularity.
        """
        return np.column_stack(list(self._columns(user, item, time, own)))

    def _columns(self, user: Ints, item: Ints, time: Floats | None, own: Ints) -> Iterator[Floats]:
        if "user_frequency" in self.chosen:
            yield self.frequency[user]
        if "item_popularity" in self.chosen:
            yield np.log1p(self.of.rows_of_item[item] - own)
        if "age" in self.chosen and self.ages and time is not None:
            bins = self.ages.of(self.of.age(item, time))
            yield from ((bins == b).astype(np.float64) for b in range(1, self.ages.n))
        if "hour" in self.chosen and time is not None:
            angle = 2 * np.pi * (time % DAY) / DAY
            yield from (np.sin(angle), np.cos(angle))
        if "weekday" in self.chosen and time is not None:
            day = ((time - _MONDAY) // DAY).astype(np.int64) % 7
            yield from ((day == d).astype(np.float64) for d in range(1, 7))
        if "genre_entropy" in self.chosen and self.entropy is not None:
            yield self.entropy[user]

    @cached_property
    def frequency(self) -> Floats:
        """Log of the rows of each user."""
        return np.log(np.maximum(1, np.bincount(self.of.user, minlength=self.of.n_clusters)))

    @cached_property
    def ages(self) -> QuantileBins | None:
        """Bins of the age of an exposure's item, in days; bin 0 is the youngest."""
        of = self.of
        return None if of.time is None else quantile_bins(of.age(of.item, of.time), BINS)

    @cached_property
    def entropy(self) -> Floats | None:
        """Entropy of the genres of each user's rows, in nats; None if items have no genres."""
        of = self.of
        field = next((f for f in GENRES if f in of.fields), None)
        found = None if field is None else indicators(of.fields[field], most=200)
        if found is None or not len(of.users):
            return None
        genres = found[1].astype(np.float32)
        n, plogp = np.zeros(of.n_clusters), np.zeros(of.n_clusters)
        for column in genres.T:  # one after the other: rows × genres would not fit in memory
            count = np.bincount(of.user, column[of.item], of.n_clusters)
            n += count
            plogp += count * np.log(np.maximum(count, 1e-300))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(n > 0, np.log(n) - plogp / n, 0.0)


def popularity_bins(of: Exposures) -> Ints:
    """Return the bin of each item by its rows, 0 for the most popular ones.

    Items are cut at the quantiles of their rows; those with equally many rows are in one bin.
    """
    return quantile_bins(-of.rows_of_item, BINS).of(-of.rows_of_item)


def indicators(field: pd.Series[str], most: int) -> tuple[list[str], Floats] | None:
    """Return the values of a text field, and which item has which; None if there are too many.

    Several values of an item stand in one cell, with ``,`` or ``|`` between them.
    """
    texts, codes = np.unique(field.fillna("").astype("str").to_numpy(dtype=object), return_inverse=True)
    split = [{v.strip() for v in text.replace("|", ",").split(",") if v.strip()} for text in texts]
    values = sorted(set().union(*split))
    if not 1 < len(values) <= most:
        return None
    return values, np.array([[v in own for v in values] for own in split], dtype=np.float64)[codes]
