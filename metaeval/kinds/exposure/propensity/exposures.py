"""A log as arrays of codes in the order of names, and the features that may decide what is shown to whom.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.data.log_set import ITEM, OUTCOME, TIME, USER, LogSet
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.regression.propensity import QuantileBins, quantile_bins

DAY = 86_400.0
BINS = 5
"""Of popularity and of age."""
GENRES = ("genres", "genre", "category", "categories")
"""Fields of items whose entropy is a feature; the first that there is."""
_DAYS = ("Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONDAY = 4 * DAY  # 1970-01-05


@dataclass(frozen=True, eq=False)
class Exposures:
    """Rows of a log, shape (n,) each; users and items are numbered in the order of their names."""

    user: Ints
    """The row itself, where the log has no users."""
    item: Ints
    time: Floats | None
    """Seconds; None if the log has no times."""
    outcome: Floats
    users: pd.Index[Any]
    """Names of users; empty where there are none."""
    items: pd.Index[Any]
    """Names of all items that could be shown: those of the log and of the table ``items``."""
    fields: pd.DataFrame
    """What is known of each item, a row per item in their order; texts, ``price`` and ``released``."""
    profiles: pd.DataFrame
    """What is known of each user, a row per user in their order."""

    @classmethod
    def of(cls, data: LogSet) -> Exposures:
        """Return the rows of a log."""
        log = data.log
        item, items = _coded(log[ITEM], data.items)
        user, users = (
            _coded(log[USER])
            if USER in log
            else (np.arange(len(log), dtype=np.int32), pd.Index([], dtype="str"))
        )
        time = log[TIME].to_numpy() if TIME in log and log[TIME].notna().all() else None
        fields, profiles = (
            (pd.DataFrame(index=names) if table is None else table.set_index(key)).reindex(names)
            for table, key, names in ((data.items, ITEM, items), (data.profiles, USER, users))
        )
        return cls(user, item, time, log[OUTCOME].to_numpy(), users, items, fields, profiles)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.item)

    @property
    def n_clusters(self) -> int:
        """Users, or rows where there are no users."""
        return len(self.users) or len(self)

    @cached_property
    def pair(self) -> Ints:
        """The user and item of each row as one number."""
        return self.user.astype(np.int64) * len(self.items) + self.item

    @cached_property
    def repeats(self) -> Ints:
        """How many rows the user and item of each row have."""
        codes = pd.factorize(self.pair)[0]
        return np.bincount(codes)[codes].astype(np.int32)

    def first_rows(self, rows: Ints) -> Ints:
        """Return the first of these rows of each user and item, in the order of their names."""
        order = np.lexsort((rows if self.time is None else self.time[rows], self.pair[rows]))
        return np.asarray(rows[order][np.diff(self.pair[rows][order], prepend=-1) != 0])

    @cached_property
    def rows_of_item(self) -> Ints:
        """How many rows each item has: its popularity."""
        return np.bincount(self.item, minlength=len(self.items))

    @cached_property
    def start(self) -> Floats:
        """When each item could first be shown: its release, or else its first row; NaN if unknown."""
        first = np.full(len(self.items), np.inf)
        if self.time is not None:
            np.minimum.at(first, self.item, self.time)
        first[np.isinf(first)] = np.nan
        released = self.fields.get("released")
        return first if released is None else np.where(released.isna(), first, released).astype(np.float64)

    def age(self, item: Ints, time: Floats) -> Floats:
        """Return the age of items in days, 0 before they were released."""
        return np.asarray(np.maximum(np.nan_to_num((time - self.start[item]) / DAY), 0.0))

    def need_users(self, what: str) -> None:
        """Raise `MetaevalError` unless the log names users, three at least."""
        if len(self.users) < 3:
            few = f"it has {len(self.users)}" if len(self.users) else "it has no column 'user_id'"
            raise MetaevalError(f"{what} need a log with three users or more; {few}")


def _coded(column: pd.Series[Any], more: pd.DataFrame | None = None) -> tuple[Ints, pd.Index[Any]]:
    """Return codes and names, in the order of the names."""
    own = column.cat.categories.astype("str")
    names = own if more is None else own.union(pd.Index(more[ITEM].astype("str")))
    names = names.unique().sort_values()
    return names.get_indexer(own).astype(np.int32)[column.cat.codes.to_numpy()], names


@dataclass(frozen=True, eq=False)
class Features:
    """What makes a row of features of any user, item and time."""

    log: Exposures
    chosen: Sequence[str]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        none = np.zeros(0, dtype=np.int64)
        time = None if self.log.time is None else np.zeros(0)
        return tuple(name for name, _ in self._columns(none, none, time, none))

    def rows(self, user: Ints, item: Ints, time: Floats | None, own: Ints) -> Floats:
        """Return a row of features of each exposure.

        ``own`` are the user's rows of the item, which do not count in its popularity.
        """
        return np.column_stack([column for _, column in self._columns(user, item, time, own)])

    def _columns(
        self, user: Ints, item: Ints, time: Floats | None, own: Ints
    ) -> Iterator[tuple[str, Floats]]:
        if "user_frequency" in self.chosen:
            yield "user_frequency", self.frequency[user]
        if "item_popularity" in self.chosen:
            yield "item_popularity", np.log1p(self.log.rows_of_item[item] - own)
        if "age" in self.chosen and self.ages and time is not None:
            bins = self.ages.of(self.log.age(item, time))
            yield from ((f"age bin {b}", (bins == b).astype(np.float64)) for b in range(1, self.ages.n))
        if "hour" in self.chosen and time is not None:
            angle = 2 * np.pi * (time % DAY) / DAY
            yield from (("hour (sine)", np.sin(angle)), ("hour (cosine)", np.cos(angle)))
        if "weekday" in self.chosen and time is not None:
            day = ((time - _MONDAY) // DAY).astype(np.int64) % 7
            yield from ((name, (day == d).astype(np.float64)) for d, name in enumerate(_DAYS, 1))
        if "genre_entropy" in self.chosen and self.entropy is not None:
            yield "genre_entropy", self.entropy[user]

    @cached_property
    def frequency(self) -> Floats:
        """Log of the rows of each user."""
        return np.log(np.maximum(1, np.bincount(self.log.user, minlength=self.log.n_clusters)))

    @cached_property
    def ages(self) -> QuantileBins | None:
        """Bins of the age of an exposure's item, in days; bin 0 is the youngest."""
        log = self.log
        return None if log.time is None else quantile_bins(log.age(log.item, log.time), BINS)

    @cached_property
    def entropy(self) -> Floats | None:
        """Entropy of the genres of each user's rows, in nats; None if items have no genres."""
        log = self.log
        field = next((f for f in GENRES if f in log.fields), None)
        coded = None if field is None else indicators(log.fields[field], most=200)
        if coded is None or not len(log.users):
            return None
        genres = coded[1].astype(np.float32)
        n, plogp = np.zeros(log.n_clusters), np.zeros(log.n_clusters)
        for column in genres.T:  # one after the other: rows × genres would not fit in memory
            count = np.bincount(log.user, column[log.item], log.n_clusters)
            n += count
            plogp += count * np.log(np.maximum(count, 1e-300))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(n > 0, np.log(n) - plogp / n, 0.0)


def popularity_bins(log: Exposures) -> Ints:
    """Return the bin of each item by its rows, 0 for the most popular ones.

    Items are cut at the quantiles of their rows; those with equally many rows are in one bin.
    """
    return quantile_bins(-log.rows_of_item, BINS).of(-log.rows_of_item)


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
