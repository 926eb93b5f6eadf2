"""Synthetic interactions: a chain of items for each user, drawn to a target exposure under constraints.

Each step of a user begins at the user's last item, real or synthetic. Its popularity bin is drawn from the
target curve. Candidates of that bin are drawn one after the other, by some share from an anchor: one of the
genres of the user's recent interactions, drawn by their shares. The first one that the user does not have yet
and that passes the constraints is the step. What is drawn for a user depends on the seed and on the user's
name alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, vstack

from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.data.log_set import (
    ITEM,
    REASON,
    SOURCE,
    STEP,
    SYNTH,
    USER,
    LogSet,
    SyntheticRows,
)
from metaeval.kinds.exposure.propensity.exposures import GENRES, Exposures, indicators, popularity_bins
from metaeval.kinds.exposure.study import SynthesisOptions
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import ratio
from metaeval.stats.resampling.weights import generator

_USERS = 512  # worked on at a time
_PASSED = np.array(["nothing", "transition", "similarity", "transition and similarity"], dtype=object)


@dataclass(frozen=True, slots=True, eq=False)
class Synthesis:
    """Synthetic interactions, shape (n,) each, by user and step; and how they came about."""

    known: KnownInteractions
    constraints: Constraints
    target: Floats
    """Share of each popularity bin."""
    bins: Ints
    """Popularity bin of each item."""
    user: Ints
    item: Ints
    step: Ints
    anchor: Ints
    """Genre that the item was drawn of; -1 for none."""
    by_transition: NDArray[np.bool_]
    by_similarity: NDArray[np.bool_]
    wanted: int
    """Steps of users that have interactions."""
    rejected: int
    """New candidates that did not pass."""

    @property
    def accepted(self) -> float:
        """Share of new candidates that passed."""
        return len(self.item) / max(1, len(self.item) + self.rejected)

    def rows(self) -> SyntheticRows:
        """Return the interactions as a table."""
        log, genres = self.known.log, np.array([*self.known.genres, "none"], dtype=object)
        passed = _PASSED[self.by_transition + 2 * self.by_similarity]
        frame = {
            USER: log.users.to_numpy(dtype=object)[self.user],
            ITEM: log.items.to_numpy(dtype=object)[self.item],
            STEP: self.step,
            SOURCE: SYNTH,
            REASON: "anchor: " + genres[self.anchor] + "; passed: " + passed,
        }
        return SyntheticRows(pd.DataFrame(frame))

    def first_and_second(self) -> tuple[Ints, Ints]:
        """Return the items of each synthetic step; that of the first is the user's last real item."""
        first = np.concatenate([[-1], self.item[:-1]])
        begins = np.diff(self.user, prepend=-1) != 0
        first[begins] = self.known.last[self.user[begins]]
        return first, self.item


def target_curve(target: tuple[float, ...] | None, bins: int) -> Floats:
    """Return the share of each popularity bin: the target, or shares that rise with the bin.

    Raises `MetaevalError` if there are more or fewer shares than bins, or all are 0.
    """
    shares = np.arange(1.0, bins + 1) if target is None else np.array(target)
    if len(shares) != bins or not shares.sum():
        raise MetaevalError(
            f"synthesis: target has {len(shares)} shares, and the items have {bins} bins of popularity "
            "(equal values share a bin); give one share per bin, the most popular first, or leave it out"
        )
    return np.asarray(shares / shares.sum())


def anchor_shares(known: KnownInteractions, recent: int, most: int) -> Floats:
    """Return the shares of each user's most frequent recent genres, shape (users, genres)."""
    near = known.back <= recent
    user, item = known.user[near], known.item[near]
    shares = np.stack([np.bincount(user, has[item], len(known.count)) for has in known.has.T], axis=1)
    least = np.argsort(-shares, axis=1, kind="stable")[:, most:]
    np.put_along_axis(shares, least, 0.0, axis=1)
    return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300))


@dataclass(frozen=True, slots=True, eq=False)
class _Pools:
    """Items by popularity bin and genre; the last genre stands for all."""

    items: Ints
    start: Ints
    size: Ints

    @classmethod
    def of(cls, bins: Ints, has: Floats) -> Self:
        belongs = np.column_stack([has > 0, np.ones(len(has), dtype=bool)])
        item, genre = np.nonzero(belongs)
        width = belongs.shape[1]
        cell = bins[item] * width + genre
        size = np.bincount(cell, minlength=(bins.max() + 1) * width).reshape(-1, width)
        start = (np.cumsum(size) - size.ravel()).reshape(size.shape)
        return cls(item[np.argsort(cell, kind="stable")], start, size)

    def draw(self, bins: Ints, genre: Ints, uniform: Floats) -> tuple[Ints, Ints]:
        """Return an item of each bin and genre (-1: any), and the genre, -1 where the bin has none of it."""
        genre = np.where(self.size[bins, genre] > 0, genre, -1)
        at = (uniform * self.size[bins, genre]).astype(np.int64)
        return self.items[self.start[bins, genre] + at], genre


def synthesize(
    known: KnownInteractions, options: SynthesisOptions, before: Synthesis | None = None
) -> Synthesis:
    """Draw synthetic interactions of every user that has real ones, modelled on these.

    ``before`` is an earlier round, whose chains are continued; its items count neither in constraints nor in
    anchors. Raises `MetaevalError` if the target has not a share for each popularity bin, or no candidate
    passed.
    """
    bins = popularity_bins(known.log)
    target = target_curve(options.target, int(bins.max()) + 1)
    constraints = Constraints.of(known, options.neighbours) if before is None else before.constraints
    anchors = np.cumsum(anchor_shares(known, options.recent, options.anchors), axis=1)
    pools = _Pools.of(bins, known.has)
    drawing = _Drawing(known, constraints, options, np.cumsum(target)[:-1], pools, anchors)
    users = np.flatnonzero(known.count)
    blocks = [drawing.block(users[at : at + _USERS], before) for at in range(0, len(users), _USERS)]
    steps = [np.concatenate(columns) for columns in zip(*(drawn for drawn, _ in blocks), strict=True)]
    rejected = sum(lost for _, lost in blocks)
    if not len(steps[0]):
        raise MetaevalError(
            f"synthesis: none of {rejected:,} candidates passed the constraints; lower `transition` or "
            "`similarity`, or choose another `constraint`"
        )
    order = np.lexsort((steps[2], steps[0]))
    user, item, step, anchor, *passed = (column[order] for column in steps)
    drawn = (user, item, step, anchor, passed[0], passed[1])
    return Synthesis(known, constraints, target, bins, *drawn, len(users) * options.steps, rejected)


@dataclass(frozen=True, slots=True, eq=False)
class _Drawing:
    known: KnownInteractions
    constraints: Constraints
    options: SynthesisOptions
    target: Floats
    """Running sums of the shares of bins."""
    pools: _Pools
    anchors: Floats
    """Running sums of the shares of genres, shape (users, genres)."""

    def block(self, users: Ints, before: Synthesis | None) -> tuple[list[NDArray[Any]], int]:
        """Return user, item, step, anchor and what was passed of each step; and how many did not pass."""
        log, options = self.known.log, self.options
        begin = 0 if before is None or not len(before.step) else int(before.step.max())
        has = incidence(log.user, log.item, (len(log.users), len(log.items)))[users].toarray() > 0
        current = self.known.last[users]
        if before is not None:
            own = np.isin(before.user, users)
            place = np.searchsorted(users, before.user[own])
            has[place, before.item[own]] = True
            current[place] = before.item[own]
        uniform = np.stack([*self._uniform(users, begin)])
        drawn: list[list[NDArray[Any]]] = []
        rejected = 0
        for step in range(options.steps):
            bins = np.searchsorted(self.target, uniform[:, step, 0, 0], side="right")
            left = np.arange(len(users))
            for attempt in range(1, options.attempts + 1):
                chance = uniform[left, step, attempt]
                item, anchor = self.pools.draw(bins[left], self._anchor(users[left], chance), chance[:, 2])
                fresh = ~has[left, item]
                transition = self.constraints.transition(current[left], item) > options.transition
                similarity = self.constraints.similarity(current[left], item) > options.similarity
                passed = passes(options.constraint, transition, similarity)
                good = fresh & passed
                rejected += int((fresh & ~passed).sum())
                took = left[good]
                has[took, item[good]] = True
                current[took] = item[good]
                steps = np.full(len(took), begin + step + 1)
                drawn.append(
                    [users[took], item[good], steps, anchor[good], transition[good], similarity[good]]
                )
                left = left[~good]
                if not len(left):
                    break
        return [np.concatenate(column) for column in zip(*drawn, strict=True)], rejected

    def _uniform(self, users: Ints, begin: int) -> Iterator[Floats]:
        """Yield three random numbers of each step and attempt of each user; attempt 0 draws the bin."""
        for name in self.known.log.users[users]:
            draw = generator(self.options.seed, "synthesis", str(begin), str(name))
            yield draw.random((self.options.steps, self.options.attempts + 1, 3))

    def _anchor(self, users: Ints, chance: Floats) -> Ints:
        """Return a genre of each user, -1 for none."""
        upto = self.anchors[users]
        genre = (chance[:, 1, None] * upto[:, -1:] >= upto).sum(axis=1)
        return np.where((chance[:, 0] < self.options.anchored) & (upto[:, -1] > 0), genre, -1)


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
    def taken_items(self) -> csr_array[Any, Any]:
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
        graph = cosine_graph(known.taken_items, neighbours).tocoo()
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
