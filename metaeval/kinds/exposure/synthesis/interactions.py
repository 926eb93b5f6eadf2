"""The successes of a log in the order of time, and which steps from item to item are plausible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, vstack

from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.data.log_set import LogSet
from metaeval.kinds.exposure.propensity.exposures import GENRES, Exposures, indicators
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import ratio

_MOST = 200  # genres
_BLOCK = 2**17  # steps counted at a time
_ITEMS = 1_000  # items whose similarities are worked out at a time


@dataclass(frozen=True, eq=False)
class KnownInteractions:
    """What users took of what they were shown, shape (n,) each, by user and then by time."""

    log: Exposures
    """All rows."""
    rows: Ints
    """Of these, the successes in order."""
    genres: Sequence[str]
    has: Floats
    """Whether an item has a genre, shape (items, genres)."""

    @classmethod
    def of_log(cls, data: LogSet) -> KnownInteractions:
        """Return the interactions of a log.

        Raises `MetaevalError` if its rows lack users or times, its items genres, or no outcome was a success.
        """
        log = Exposures.of(data)
        log.need_users("synthetic interactions")
        if log.time is None:
            raise MetaevalError(
                f"synthetic interactions follow the order of time, and the log of {data.name} has rows "
                "without a `timestamp`; add it"
            )
        field = next((f for f in GENRES if f in log.fields), None)
        genres = None if field is None else indicators(log.fields[field], _MOST)
        if genres is None:
            raise MetaevalError(
                f"synthetic interactions follow genres, and the items of {data.name} have none; add a table "
                f"`items` with a column {GENRES[0]!r} (2 to {_MOST} different ones)"
            )
        rows = np.flatnonzero(log.outcome >= data.positive)
        if not len(rows):
            raise MetaevalError(
                f"no outcome of the log of {data.name} is a success ({data.positive:g} or more)"
            )
        return cls(log, rows[np.lexsort((log.item[rows], log.time[rows], log.user[rows]))], *genres)

    def among(self, rows: Ints) -> KnownInteractions:
        """Return the interactions of some rows of the log."""
        log = self.log
        time = None if log.time is None else log.time[rows]
        part = replace(log, user=log.user[rows], item=log.item[rows], time=time, outcome=log.outcome[rows])
        number = np.full(len(log), -1)
        number[rows] = np.arange(len(rows))
        left = number[self.rows]
        return replace(self, log=part, rows=left[left >= 0])

    @property
    def user(self) -> Ints:
        """The user of each interaction."""
        return self.log.user[self.rows]

    @property
    def item(self) -> Ints:
        """The item of each interaction."""
        return self.log.item[self.rows]

    @cached_property
    def taken(self) -> csr_array[Any, Any]:
        """Whether a user took an item, shape (users, items)."""
        return incidence(self.user, self.item, (len(self.log.users), len(self.log.items)))

    @cached_property
    def count(self) -> Ints:
        """How many interactions each user has."""
        return np.bincount(self.user, minlength=len(self.log.users))

    @cached_property
    def back(self) -> Ints:
        """How many interactions of its user end with each one: 1 for the last."""
        return np.repeat(np.cumsum(self.count), self.count) - np.arange(len(self.rows))

    @property
    def last(self) -> Ints:
        """The last item of each user; -1 for a user without interactions."""
        last = np.full(len(self.count), -1)
        last[self.user] = self.item  # in order of time, so the last one stays
        return last

    def transitions(self, among: NDArray[np.bool_] | None = None) -> Floats:
        """Count transitions of genres from one interaction of a user to the next; see `transition_counts`."""
        user, item = self.user, self.item
        if among is not None:
            user, item = user[among], item[among]
        return transition_counts(*steps_of(user, item), self.has)


def incidence(user: Ints, item: Ints, shape: tuple[int, int]) -> csr_array[Any, Any]:
    """Return 1 where a user has an item, once or often, and 0 elsewhere."""
    matrix = csr_array((np.ones(len(user)), (user, item)), shape=shape)
    matrix.data[:] = 1.0
    return matrix


def steps_of(user: Ints, item: Ints) -> tuple[Ints, Ints]:
    """Return the first and the second item of consecutive interactions of a user."""
    same = user[1:] == user[:-1]
    return item[:-1][same], item[1:][same]


def transition_counts(first: Ints, second: Ints, has: Floats) -> Floats:
    """Count transitions of genres, from the ``first`` items of steps to ``second``, shape (genres, genres).

    A step counts once: in equal parts for every genre of its first item and every one of its second item.
    ``has`` says whether an item has a genre, shape (items, genres).
    """
    part = np.nan_to_num(ratio(has, has.sum(axis=1, keepdims=True)))
    counts = np.zeros((has.shape[1], has.shape[1]))
    for at in range(0, len(first), _BLOCK):
        counts += part[first[at : at + _BLOCK]].T @ part[second[at : at + _BLOCK]]
    return counts


def probabilities(counts: Floats) -> Floats:
    """Return the probability of each genre after a genre; 0 after one that nothing follows."""
    return np.nan_to_num(ratio(counts, counts.sum(axis=1, keepdims=True)))


def cosine_graph(taken: csr_array[Any, Any], neighbours: int) -> csr_array[Any, Any]:
    """Return the cosine of every item and so many that are most like it, shape (items, items).

    ``taken`` says whether a user took an item, shape (users, items). Of equals, those that come first are
    kept.
    """
    length = np.sqrt(np.asarray(taken.sum(axis=0)).ravel())
    unit = csr_array((taken @ diags_array(1 / np.maximum(length, 1.0))).T)
    blocks = [
        _largest(unit[at : at + _ITEMS] @ unit.T, at, neighbours) for at in range(0, unit.shape[0], _ITEMS)
    ]
    return csr_array(vstack(blocks, format="csr"))


def _largest(block: csr_array[Any, Any], start: int, neighbours: int) -> csr_array[Any, Any]:
    """Keep the largest values of each row, but for the item itself."""
    cells = block.tocoo()
    row, column, value = cells.row, cells.col, np.round(cells.data, 12)  # rounding settles no tie
    other = np.flatnonzero(column != row + start)
    order = other[np.lexsort((column[other], -value[other], row[other]))]
    count = np.bincount(row[other], minlength=block.shape[0])
    kept = order[np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count) < neighbours]
    return csr_array((value[kept], (row[kept], column[kept])), shape=block.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """What a log says of steps."""

    has: Floats
    follows: Floats
    """The highest probability of a genre after any of an item, shape (items, genres)."""
    pairs: Ints
    """First and second item of each edge of the graph, as one number, rising."""
    cosines: Floats

    @classmethod
    def of(cls, known: KnownInteractions, neighbours: int) -> Constraints:
        """Estimate both from interactions."""
        follows = np.zeros_like(known.has)
        for genre, row in enumerate(probabilities(known.transitions())):
            has = known.has[:, genre] > 0
            follows[has] = np.maximum(follows[has], row)
        graph = cosine_graph(known.taken, neighbours).tocoo()
        pairs = graph.row.astype(np.int64) * graph.shape[1] + graph.col
        order = np.argsort(pairs)
        return cls(known.has, follows, pairs[order], graph.data[order])

    def transition(self, first: Ints, second: Ints) -> Floats:
        """Return the probability of steps: the highest over the genres of both items."""
        return np.asarray((self.follows[first] * self.has[second]).max(axis=1))

    def similarity(self, first: Ints, second: Ints) -> Floats:
        """Return the cosines of steps; 0 where the second item is no neighbour of the first."""
        if not len(self.pairs):
            return np.zeros(len(first))
        wanted = first.astype(np.int64) * len(self.has) + second
        place = np.minimum(np.searchsorted(self.pairs, wanted), len(self.pairs) - 1)
        return np.where(self.pairs[place] == wanted, self.cosines[place], 0.0)


def passes(constraint: str, by_transition: NDArray[np.bool_], by_similarity: NDArray[np.bool_]) -> Any:  # noqa: ANN401
    """Return which steps pass."""
    return {
        "either": by_transition | by_similarity,
        "both": by_transition & by_similarity,
        "transition": by_transition,
        "similarity": by_similarity,
        "none": np.ones_like(by_transition),
    }[constraint]
