"""The interactions of a log: rows that were successes, in the order of time, with genres."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.propensity.exposures import Exposures
from metaeval.kinds.exposure.propensity.features import GENRES, indicators

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.stats.coefficients.tables import Floats, Ints

_MOST = 200  # genres


@dataclass(frozen=True, eq=False)
class Interactions:
    """What users took of what they were shown, shape (n,) each, by user and then by time.

    Parameters
    ----------
    of
        All rows of the log.
    rows
        Of these, the successes in order.
    genres
        Their names.
    has
        Whether an item has a genre, shape (items, genres).
    """

    of: Exposures
    rows: Ints
    genres: Sequence[str]
    has: Floats

    @classmethod
    def of_log(cls, data: LogSet) -> Interactions:
        """Return the interactions of a log.

        Raises
        ------
        MetaevalError
            If its rows have no users or times, its items no genres, or no outcome was a success.
        """
        of = Exposures.of(data)
        of.need_users("synthetic interactions")
        if of.time is None:
            raise MetaevalError(
                f"synthetic interactions follow the order of time, and the log of {data.name} has rows "
                "without a `timestamp`; add it"
            )
        field = next((f for f in GENRES if f in of.fields), None)
        found = None if field is None else indicators(of.fields[field], _MOST)
        if found is None:
            raise MetaevalError(
                f"synthetic interactions follow genres, and the items of {data.name} have none; add a table "
                f"`items` with a column {GENRES[0]!r} (2 to {_MOST} different ones)"
            )
        if not (of.outcome >= data.positive).any():
            raise MetaevalError(
                f"no outcome of the log of {data.name} is a success ({data.positive:g} or more)"
            )
        return cls(of, _in_time(of, np.flatnonzero(of.outcome >= data.positive)), *found)

    def among(self, rows: Ints) -> Interactions:
        """Return the interactions of some rows of the log."""
        of, time = self.of, self.of.time
        part = replace(
            of,
            user=of.user[rows],
            item=of.item[rows],
            time=None if time is None else time[rows],
            outcome=of.outcome[rows],
        )
        number = np.full(len(of), -1)
        number[rows] = np.arange(len(rows))
        left = number[self.rows]
        return replace(self, of=part, rows=left[left >= 0])

    @property
    def user(self) -> Ints:
        """The user of each interaction."""
        return self.of.user[self.rows]

    @property
    def item(self) -> Ints:
        """The item of each interaction."""
        return self.of.item[self.rows]

    @cached_property
    def taken(self) -> csr_array[Any, Any]:
        """Whether a user took an item, shape (users, items)."""
        return incidence(self.user, self.item, (len(self.of.users), len(self.of.items)))

    @cached_property
    def count(self) -> Ints:
        """How many interactions each user has."""
        return np.bincount(self.user, minlength=len(self.of.users))

    def names(self, users: Ints) -> list[str]:
        """Return the names of users."""
        return [str(name) for name in self.of.users[users]]


def incidence(user: Ints, item: Ints, shape: tuple[int, int]) -> csr_array[Any, Any]:
    """Return 1 where a user has an item, once or often, and 0 elsewhere."""
    found = csr_array((np.ones(len(user)), (user, item)), shape=shape)
    found.data[:] = 1.0
    return found


def _in_time(of: Exposures, rows: Ints) -> Ints:
    """Return rows in the order of users, then of time, then of items."""
    time = np.zeros(len(rows)) if of.time is None else of.time[rows]
    ordered: Ints = rows[np.lexsort((of.item[rows], time, of.user[rows]))]
    return ordered
