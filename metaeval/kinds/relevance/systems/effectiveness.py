"""The effectiveness of every system for every user, by the labels of an evaluator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.kinds.relevance.data.collection import ITEM, USER
from metaeval.kinds.relevance.measures import SystemMeasure, Ties
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.ranking.effectiveness import JudgedLists, judged
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio

_CELLS = 2**21  # ranks that are worked with at a time


class ReadLabels(NamedTuple):
    """The labels of one evaluator, by what systems rank and by user."""

    of_pair: Floats
    """By the code of user and item; NaN where there is no label, and behind the end of lists."""
    grades: Floats
    """The labels that there are, rising."""
    counts: Ints
    """Shape (users, grades): how many items of a user have each label."""


@dataclass(frozen=True, slots=True, eq=False)
class RankedRuns:
    """The lists of all systems for all users that have a unit, as codes."""

    systems: tuple[str, ...]
    users: tuple[str, ...]
    pairs: Ints
    """Shape (systems, users, depth): which user and item stands at a rank; the last code behind the end."""
    by_ties: Callable[[Ties | None], Ints]
    """The same with ties of scores in another order."""
    lengths: Ints
    """Shape (systems, users); 0 where a system has no list of a user."""
    user_of_unit: Ints
    pair_of_unit: Ints
    """The code of each unit; the last code, if no system ranks it."""
    n_pairs: int

    @classmethod
    def of(cls, runs: pd.DataFrame, units: pd.DataFrame) -> RankedRuns:
        """Match runs with units.

        Parameters
        ----------
        runs
            ``system``, ``user_id``, ``item_id``, ``rank`` from 1, and perhaps ``score``. Users without a unit
            are left out, as nothing is known of them.
        units
            ``user_id``, ``item_id``.
        """
        users = pd.Index(units[USER].unique()).sort_values()  # draws are by place
        known = runs[USER].isin(users).to_numpy(dtype=bool)
        system, systems = pd.factorize(runs["system"])
        system, runs = system[known], runs[known].reset_index(drop=True)
        user_of_row = users.get_indexer(runs[USER]).astype(np.int64)
        item, items = pd.factorize(pd.concat([runs[ITEM], units[ITEM]], ignore_index=True))
        code, ranked = pd.factorize(user_of_row * len(items) + item[: len(runs)])
        rank = runs["rank"].to_numpy(np.int64)
        shape = (len(systems), len(users), int(rank.max(initial=1)))
        pairs: Ints = np.full(shape, len(ranked), dtype=np.int64)
        pairs[system, user_of_row, rank - 1] = code
        by_ties = cache(partial(_by_ties, runs, system * len(users) + user_of_row, code, pairs))
        user = users.get_indexer(units[USER]).astype(np.int64)
        of_unit = pd.Index(ranked).get_indexer(user * len(items) + item[len(runs) :])
        return cls(
            tuple(map(str, systems)),
            tuple(map(str, users)),
            pairs,
            by_ties,
            (pairs < len(ranked)).sum(axis=2),
            user,
            np.where(of_unit < 0, len(ranked), of_unit),
            len(ranked),
        )

    def read(self, labels: Floats) -> ReadLabels:
        """Return labels of the units, one each (NaN where there is none), ready for the lists."""
        there = ~np.isnan(labels)
        grades, grade = np.unique(labels[there], return_inverse=True)
        shape = len(self.users), len(grades)
        of_pair = np.full(self.n_pairs + 1, np.nan)
        of_pair[self.pair_of_unit[there]] = labels[there]
        of_pair[-1] = np.nan
        cell = self.user_of_unit[there] * len(grades) + grade
        return ReadLabels(of_pair, grades, np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape))

    def lists(
        self, read: ReadLabels, depth: int | None, ties: Ties | None
    ) -> Iterator[tuple[slice, JudgedLists]]:
        """Yield the lists of a few systems at a time, those of one system after the other.

        ``depth`` is how much of a list is read, all of it if None.
        """
        pairs = self.by_ties(ties)[:, :, :depth]
        step = max(1, _CELLS // max(1, pairs[0].size))
        for at in range(0, len(pairs), step):
            part = slice(at, min(at + step, len(pairs)))
            n = part.stop - part.start
            labels = read.of_pair[pairs[part]].reshape(n * len(self.users), -1)
            lengths = np.minimum(self.lengths[part], pairs.shape[2]).ravel()
            yield part, JudgedLists(labels, lengths, read.grades, np.tile(read.counts, (n, 1)))


def _by_ties(runs: pd.DataFrame, of_list: Ints, code: Ints, pairs: Ints, ties: Ties | None) -> Ints:
    """Return lists with ties of scores by item, as a program has them, of lists by rank.

    A list whose scores are all equal keeps the order of its ranks: its scores say nothing.
    """
    if ties is None or "score" not in runs.columns:
        return pairs
    score = runs["score"].astype(np.float32 if ties.bits == 32 else np.float64)
    scores = score.groupby(of_list)
    distinct = scores.transform("nunique")
    rows = np.flatnonzero((distinct > 1) & (distinct < scores.transform("count")))
    item = pd.factorize(runs[ITEM].iloc[rows], sort=True)[0]
    rows = rows[np.lexsort((item if ties.rising else -item, -score.to_numpy()[rows], of_list[rows]))]
    lists = of_list[rows]
    found = pairs.copy().reshape(-1, pairs.shape[2])
    found[lists, np.arange(len(rows)) - np.searchsorted(lists, lists)] = code[rows]
    return found.reshape(pairs.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Effectiveness:
    """What one evaluator's labels say of the systems."""

    of_user: Mapping[str, Floats]
    """Name of a measure → shape (systems, users); 0 where a system has no list, or an evaluator no label."""
    judged: Mapping[str, Floats]
    """Name of a measure → shape (systems,): the mean share of what it reads of a list that has a label."""
    counted: NDArray[np.bool_]
    """Shape (1 or systems, users): those over whom means are: with a label and, if such are left out that
    have no list of a system, with a list."""
    missing: Ints
    """Shape (systems,): users with a label for whom a system has no list. They count as 0 or are left out."""

    @property
    def users(self) -> NDArray[np.bool_]:
        """Shape (users,): those over whom the mean of any system is."""
        return np.asarray(self.counted.any(axis=0))

    def sums(self, measure: str, among: NDArray[np.bool_] | slice = slice(None)) -> ClusterSums:
        """Return the mean over users of each system under weights of the users, or of those ``among``."""
        values, counted = self.of_user[measure][:, among], self.counted[:, among].astype(np.float64)
        n = len(values)
        sums = np.concatenate([np.where(counted, values, 0.0), counted])
        return ClusterSums(sums, lambda s: ratio(s[:n], s[n:]))

    def means(self, measure: str, among: NDArray[np.bool_] | slice = slice(None)) -> Floats:
        """Return the mean over users of each system, shape (systems,)."""
        return self.sums(measure, among).at(np.ones((len(self.users[among]), 1)))[:, 0]


def effectiveness(
    runs: RankedRuns, labels: Floats, measures: Sequence[SystemMeasure], *, leave_out: bool = False
) -> Effectiveness:
    """Measure every system for every user by labels of the units, NaN where there is none.

    ``leave_out`` leaves a user for whom a system has no list out of its mean; else the user counts as 0.
    """
    shape = (len(runs.systems), len(runs.users))
    read = runs.read(labels)
    users = np.asarray(read.counts.any(axis=1))
    there = (runs.lengths > 0) & users
    values: dict[str, Floats] = {m.name: np.zeros(shape) for m in measures}
    shares: dict[str, Floats] = {}
    for depth, ties in dict.fromkeys((m.depth, m.ties) for m in measures):
        reading = [m for m in measures if (m.depth, m.ties) == (depth, ties)]
        share = np.zeros(shape)
        for part, lists in runs.lists(read, depth, ties):
            share[part] = judged(lists).reshape(-1, shape[1])
            for measure in reading:
                values[measure.name][part] = measure.values(lists).reshape(-1, shape[1])
        # Of the lists that there are.
        shares |= dict.fromkeys(
            [m.name for m in reading], ratio((share * users).sum(axis=1), there.sum(axis=1))
        )
    values = {name: np.where(there, v, 0.0) for name, v in values.items()}
    counted = there if leave_out else users[None]
    return Effectiveness(values, shares, counted, ((runs.lengths == 0) & users).sum(axis=1))
