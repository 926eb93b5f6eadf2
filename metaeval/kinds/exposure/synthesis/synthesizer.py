"""Synthetic interactions: a chain of items for each user, drawn to a target exposure under constraints.

Each step of a user begins at the user's last item, real or synthetic. Its popularity bin is drawn from the
target curve. Candidates of that bin are drawn one after the other, by some share from an anchor: one of the
genres of the user's recent interactions, drawn by their shares. The first one that the user does not have yet
and that passes the constraints is the step. What is drawn for a user depends on the seed and on the user's
name alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.data.log_set import ITEM, USER
from metaeval.kinds.exposure.data.synthetic import REASON, SOURCE, STEP, SYNTH, SyntheticRows
from metaeval.kinds.exposure.propensity.features import popularity_bins
from metaeval.kinds.exposure.synthesis.constraints import Constraints, passes
from metaeval.kinds.exposure.synthesis.interactions import incidence
from metaeval.stats.resampling.draws import generator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from metaeval.kinds.exposure.synthesis.interactions import KnownInteractions
    from metaeval.kinds.exposure.synthesis.options import SynthesisOptions
    from metaeval.stats.coefficients.tables import Floats, Ints

_USERS = 512  # worked on at a time


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
    """Candidates that did not pass."""
    repeats: int
    """Candidates that the user had already."""

    @property
    def accepted(self) -> float:
        """Share of new candidates that passed."""
        return len(self.item) / max(1, len(self.item) + self.rejected)

    def rows(self) -> SyntheticRows:
        """Return the interactions as a table."""
        of, genres = self.known.of, np.array([*self.known.genres, ""], dtype=object)
        passed = np.array(["nothing", "transition", "similarity", "transition and similarity"], dtype=object)
        anchors = np.where(self.anchor < 0, "none", genres[self.anchor])
        frame = pd.DataFrame(
            {
                USER: of.users.to_numpy(dtype=object)[self.user],
                ITEM: of.items.to_numpy(dtype=object)[self.item],
                STEP: self.step,
                SOURCE: SYNTH,
                REASON: "anchor: "
                + anchors
                + "; passed: "
                + passed[self.by_transition + 2 * self.by_similarity],
            }
        )
        return SyntheticRows(frame)

    def first_and_second(self) -> tuple[Ints, Ints]:
        """Return the items of each synthetic step; that of the first is the user's last real item."""
        first = np.concatenate([[-1], self.item[:-1]])
        begins = np.diff(self.user, prepend=-1) != 0
        first[begins] = last_items(self.known)[self.user[begins]]
        return first, self.item


def target_curve(given: tuple[float, ...] | None, bins: int) -> Floats:
    """Return the share of each popularity bin: as given, or rising with the bin.

    Raises
    ------
    MetaevalError
        If there are more or fewer shares than bins, or all are 0.
    """
    shares = np.arange(1.0, bins + 1) if given is None else np.array(given)
    if len(shares) != bins or not shares.sum():
        raise MetaevalError(
            f"synthesis: target has {len(shares)} shares, and the items have {bins} bins of popularity "
            "(equal values share a bin); give one share per bin, the most popular first, or leave it out"
        )
    return np.asarray(shares / shares.sum())


def last_items(known: KnownInteractions) -> Ints:
    """Return the last item of each user; -1 for a user without interactions."""
    last = np.full(len(known.count), -1)
    last[known.user] = known.item  # in order of time, so the last one stays
    return last


def anchor_shares(known: KnownInteractions, recent: int, most: int) -> Floats:
    """Return the shares of each user's most frequent recent genres, shape (users, genres)."""
    count = known.count
    back = np.repeat(np.cumsum(count), count) - np.arange(len(known.rows))  # 1 for the last one
    near = back <= recent
    shares = genre_counts(known.user[near], known.item[near], known)
    least = np.argsort(-shares, axis=1, kind="stable")[:, most:]
    np.put_along_axis(shares, least, 0.0, axis=1)
    return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300))


def genre_counts(user: Ints, item: Ints, known: KnownInteractions) -> Floats:
    """Return how often users took each genre, shape (users, genres)."""
    columns = [np.bincount(user, has[item], len(known.count)) for has in known.has.T]
    return np.stack(columns, axis=1)


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
        order = np.argsort(cell, kind="stable")
        size = np.bincount(cell, minlength=(bins.max() + 1) * width).reshape(-1, width)
        return cls(item[order], (np.cumsum(size) - size.ravel()).reshape(size.shape), size)

    def draw(self, bins: Ints, genre: Ints, uniform: Floats) -> tuple[Ints, Ints]:
        """Return an item of each bin and genre (-1: any), and the genre, -1 where the bin has none of it."""
        genre = np.where(self.size[bins, genre] > 0, genre, -1)
        at = (uniform * self.size[bins, genre]).astype(np.int64)
        return self.items[self.start[bins, genre] + at], genre


def synthesize(known: KnownInteractions, how: SynthesisOptions, before: Synthesis | None = None) -> Synthesis:
    """Draw synthetic interactions of every user that has real ones.

    Parameters
    ----------
    known
        What they are modelled on.
    before
        An earlier round, whose chains are continued; its items count neither in constraints nor in anchors.

    Raises
    ------
    MetaevalError
        If the target has not a share for each popularity bin, or no candidate passed.
    """
    bins = popularity_bins(known.of)
    target = target_curve(how.target, int(bins.max()) + 1)
    constraints = Constraints.of(known, how.neighbours) if before is None else before.constraints
    drawing = _Drawing(
        known,
        constraints,
        how,
        np.cumsum(target)[:-1],
        bins,
        _Pools.of(bins, known.has),
        np.cumsum(anchor_shares(known, how.recent, how.anchors), axis=1),
    )
    users = np.flatnonzero(known.count)
    blocks = [drawing.block(users[at : at + _USERS], before) for at in range(0, len(users), _USERS)]
    found = [np.concatenate(columns) for columns in zip(*(steps for steps, _ in blocks), strict=True)]
    rejected, repeats = np.sum([lost for _, lost in blocks], axis=0).tolist()
    if not len(found[0]):
        raise MetaevalError(
            f"synthesis: none of {rejected:,} candidates passed the constraints; lower `transition` or "
            "`similarity`, or choose another `constraint`"
        )
    order = np.lexsort((found[2], found[0]))
    user, item, step, anchor, transition, similarity = (column[order] for column in found)
    return Synthesis(
        known,
        constraints,
        target,
        bins,
        user,
        item,
        step,
        anchor,
        transition.astype(bool),
        similarity.astype(bool),
        len(users) * how.steps,
        rejected,
        repeats,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Drawing:
    known: KnownInteractions
    constraints: Constraints
    how: SynthesisOptions
    target: Floats
    """Running sums of the shares of bins."""
    bins: Ints
    pools: _Pools
    anchors: Floats
    """Running sums of the shares of genres, shape (users, genres)."""

    def block(self, users: Ints, before: Synthesis | None) -> tuple[list[Ints], tuple[int, int]]:
        """Return user, item, step, anchor and what was passed of each step; and candidates that were lost."""
        of, how = self.known.of, self.how
        begin = 0 if before is None or not len(before.step) else int(before.step.max())
        has = incidence(of.user, of.item, (len(of.users), len(of.items)))[users].toarray() > 0
        current = last_items(self.known)[users]
        if before is not None:
            own = np.isin(before.user, users)
            place = np.searchsorted(users, before.user[own])
            has[place, before.item[own]] = True
            current[place] = before.item[own]
        uniform = np.stack([*self._uniform(users, begin)])
        drawn: list[list[Ints]] = []
        lost = np.zeros(2, dtype=np.int64)
        for step in range(how.steps):
            bins = np.searchsorted(self.target, uniform[:, step, 0, 0], side="right")
            left = np.arange(len(users))
            for attempt in range(1, how.attempts + 1):
                chance = uniform[left, step, attempt]
                item, anchor = self.pools.draw(bins[left], self._anchor(users[left], chance), chance[:, 2])
                fresh = ~has[left, item]
                transition = self.constraints.transition(current[left], item) > how.transition
                similarity = self.constraints.similarity(current[left], item) > how.similarity
                passed = passes(how.constraint, transition, similarity)
                good = fresh & passed
                lost += (fresh & ~passed).sum(), (~fresh).sum()
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
        columns = [np.concatenate(column) for column in zip(*drawn, strict=True)]
        return columns, (int(lost[0]), int(lost[1]))

    def _uniform(self, users: Ints, begin: int) -> Iterator[Floats]:
        """Yield three random numbers of each step and attempt of each user; attempt 0 draws the bin."""
        for name in self.known.names(users):
            draw = generator(self.how.seed, "synthesis", str(begin), name)
            yield draw.random((self.how.steps, self.how.attempts + 1, 3))

    def _anchor(self, users: Ints, chance: Floats) -> Ints:
        """Return a genre of each user, -1 for none."""
        upto = self.anchors[users]
        genre = (chance[:, 1, None] * upto[:, -1:] >= upto).sum(axis=1)
        return np.where((chance[:, 0] < self.how.anchored) & (upto[:, -1] > 0), genre, -1)
