"""Synthetic interactions: a chain of items for each user, drawn to a target exposure under constraints.

Each step of a user begins at the user's last item, real or synthetic. Its popularity bin is drawn from the
target curve. Candidates of that bin are drawn one after the other, by some share from an anchor: one of the
genres of the user's recent interactions, drawn by their shares. The first one that the user does not have yet
and that passes the constraints is the step. What is drawn for a user depends on the seed and on the user's
name alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.data.log_set import ITEM, REASON, SOURCE, STEP, SYNTH, USER, SyntheticRows
from metaeval.kinds.exposure.propensity.exposures import popularity_bins
from metaeval.kinds.exposure.study import SynthesisOptions
from metaeval.kinds.exposure.synthesis.interactions import Constraints, KnownInteractions, incidence, passes
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.draws import generator

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
