"""A log as arrays of codes, ordered by name, so that nothing that is drawn depends on the order of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.data.log_set import ITEM, OUTCOME, TIME, USER

if TYPE_CHECKING:
    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.stats.coefficients.tables import Floats, Ints

DAY = 86_400.0


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
        known = pd.DataFrame(index=items) if data.items is None else data.items.set_index(ITEM)
        profiles = pd.DataFrame(index=users) if data.profiles is None else data.profiles.set_index(USER)
        known, profiles = known.reindex(items), profiles.reindex(users)
        return cls(user, item, time, log[OUTCOME].to_numpy(), users, items, known, profiles)

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
        first: Ints = rows[order][np.diff(self.pair[rows][order], prepend=-1) != 0]
        return first

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
        days: Floats = np.maximum(np.nan_to_num((time - self.start[item]) / DAY), 0.0)
        return days

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
