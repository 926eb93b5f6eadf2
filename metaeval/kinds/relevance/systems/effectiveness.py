"""The effectiveness of every system for every user, by the labels of an evaluator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.kinds.relevance.data.collection import ITEM, USER
from metaeval.stats.ranking.effectiveness import JudgedLists, judged
from metaeval.stats.resampling.bootstrap import bootstrap
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio
from metaeval.stats.resampling.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from metaeval.kinds.relevance.systems.measures import SystemMeasure
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.resampling.bootstrap import Resampler

_CELLS = 2**21  # ranks that are worked with at a time


@dataclass(frozen=True, slots=True, eq=False)
class ReadLabels:
    """The labels of one evaluator, by what systems rank and by user."""

    of_pair: Floats
    """By the code of user and item; NaN where there is no label, and behind the end of lists."""
    grades: Floats
    """The whole numbers from the lowest to the highest label."""
    counts: Ints
    """Shape (users, grades): how many items of a user have each label."""

    @property
    def users(self) -> NDArray[np.bool_]:
        """Which users have a label, shape (users,)."""
        return np.asarray(self.counts.any(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class RankedRuns:
    """The lists of all systems for all users that have a unit, as codes."""

    systems: tuple[str, ...]
    users: tuple[str, ...]
    pairs: Ints
    """Shape (systems, users, depth): which user and item stands at a rank; the last code behind the end."""
    pairs_by_item: Ints
    """The same with ties of scores in the order of trec_eval, by item, descending."""
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
        of_run = users.get_indexer(runs[USER])
        known = of_run >= 0
        row_user = of_run[known].astype(np.int64)
        system, systems = pd.factorize(runs["system"])
        item, items = pd.factorize(pd.concat([runs[ITEM], units[ITEM]], ignore_index=True))
        code, ranked = pd.factorize(row_user * len(items) + item[: len(runs)][known])
        rank = runs["rank"].to_numpy(np.int64)[known]
        shape = (len(systems), len(users), int(rank.max(initial=1)))
        pairs: Ints = np.full(shape, len(ranked), dtype=np.int64)
        pairs[system[known], row_user, rank - 1] = code
        by_item = pairs
        if "score" in runs.columns:
            of_list = system[known] * np.int64(len(users)) + row_user
            by_item = _ties_by_item(pairs, of_list, runs.loc[known].reset_index(drop=True), code)
        user = users.get_indexer(units[USER]).astype(np.int64)
        of_unit = pd.Index(ranked).get_indexer(user * len(items) + item[len(runs) :])
        return cls(
            tuple(map(str, systems)),
            tuple(map(str, users)),
            pairs,
            by_item,
            (pairs < len(ranked)).sum(axis=2),
            user,
            np.where(of_unit < 0, len(ranked), of_unit),
            len(ranked),
        )

    def read(self, labels: Floats) -> ReadLabels:
        """Return labels of the units, one each (NaN where there is none), ready for the lists."""
        there = ~np.isnan(labels)
        known = labels[there]
        low, high = (int(known.min()), int(known.max())) if len(known) else (0, 0)
        n_grades, n_users = high - low + 1, len(self.users)
        of_pair = np.full(self.n_pairs + 1, np.nan)
        of_pair[self.pair_of_unit[there]] = known
        of_pair[-1] = np.nan
        cell = self.user_of_unit[there] * n_grades + (known - low).astype(np.int64)
        counts = np.bincount(cell, minlength=n_users * n_grades).reshape(n_users, n_grades)
        return ReadLabels(of_pair, np.arange(low, high + 1, dtype=np.float64), counts)

    def lists(
        self, read: ReadLabels, depth: int | None = None, *, by_item: bool = False
    ) -> Iterator[tuple[slice, JudgedLists]]:
        """Yield the lists of a few systems at a time, those of one system after the other.

        Parameters
        ----------
        depth
            How much of a list is read; all of it, if None.
        by_item
            Whether ties of scores come as trec_eval has them, not by rank.
        """
        pairs = (self.pairs_by_item if by_item else self.pairs)[:, :, :depth]
        step = max(1, _CELLS // max(1, pairs[0].size))
        for at in range(0, len(pairs), step):
            part = slice(at, min(at + step, len(pairs)))
            n = part.stop - part.start
            labels = read.of_pair[pairs[part]].reshape(n * len(self.users), -1)
            lengths = np.minimum(self.lengths[part], pairs.shape[2]).ravel()
            yield part, JudgedLists(labels, lengths, read.grades, np.tile(read.counts, (n, 1)))


def _ties_by_item(pairs: Ints, of_list: Ints, runs: pd.DataFrame, place: Ints) -> Ints:
    """Put ties of scores in the order of trec_eval: by item, descending.

    A list whose scores are all equal keeps the order of its ranks: its scores say nothing.
    """
    score, rank = runs["score"].to_numpy(np.float64), runs["rank"].to_numpy(np.int64)
    by_rank = np.lexsort((rank, of_list))
    same_list = np.diff(of_list[by_rank]) == 0
    level = np.diff(score[by_rank]) == 0
    varied = np.zeros(pairs.shape[0] * pairs.shape[1], dtype=bool)
    varied[of_list[by_rank][1:][same_list & ~level]] = True
    tied = np.zeros(len(varied), dtype=bool)
    tied[of_list[by_rank][1:][same_list & level]] = True
    rows = np.flatnonzero((varied & tied)[of_list])
    if not len(rows):
        return pairs
    item = pd.factorize(runs[ITEM].iloc[rows], sort=True)[0]
    rows = rows[np.lexsort((-item, -score[rows], of_list[rows]))]
    lists = of_list[rows]
    found = pairs.copy().reshape(-1, pairs.shape[2])
    found[lists, np.arange(len(rows)) - np.searchsorted(lists, lists)] = place[rows]
    return found.reshape(pairs.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Effectiveness:
    """What one evaluator's labels say of the systems."""

    of_user: Mapping[str, Floats]
    """Name of a measure → shape (systems, users); 0 where a system has no list, or an evaluator no label."""
    judged: Mapping[str, Floats]
    """Name of a measure → shape (systems,): the mean share of what it reads of a list that has a label."""
    users: NDArray[np.bool_]
    """Shape (users,): those with a label. Means are over them."""
    missing: Ints
    """Shape (systems,): users with a label for whom a system has no list. They count as 0."""

    def means(self, measure: str) -> ClusterSums:
        """Return the mean over users of each system, as a function of the users' weights."""
        counted = self.users.astype(np.float64)
        sums = np.concatenate([self.of_user[measure] * counted, counted[None]])
        return ClusterSums(sums, lambda s: ratio(s[:-1], s[-1:]))


def effectiveness(runs: RankedRuns, labels: Floats, measures: Sequence[SystemMeasure]) -> Effectiveness:
    """Measure every system for every user.

    Parameters
    ----------
    labels
        Of each unit that the runs were matched with; NaN where there is none.
    """
    shape = (len(runs.systems), len(runs.users))
    read = runs.read(labels)
    users = read.users
    values: dict[str, Floats] = {}
    shares: dict[str, Floats] = {}
    for depth, by_item in dict.fromkeys((m.depth, m.of_trec_eval) for m in measures):
        reading = [m for m in measures if (m.depth, m.of_trec_eval) == (depth, by_item)]
        found = {m.name: np.zeros(shape) for m in reading}
        share = np.zeros(shape)
        for part, lists in runs.lists(read, depth, by_item=by_item):
            share[part] = judged(lists).reshape(-1, shape[1])
            for measure in reading:
                found[measure.name][part] = measure.values(lists).reshape(-1, shape[1])
        values |= {name: np.where((runs.lengths > 0) & users, v, 0.0) for name, v in found.items()}
        # Of the lists that there are.
        mean = ratio((share * users).sum(axis=1), ((runs.lengths > 0) & users).sum(axis=1))
        shares |= dict.fromkeys(found, mean)
    missing = ((runs.lengths == 0) & users).sum(axis=1)
    return Effectiveness({m.name: values[m.name] for m in measures}, shares, users, missing)


def by_evaluator(
    runs: RankedRuns, labels: Mapping[str, Floats], measures: Sequence[SystemMeasure]
) -> dict[str, Effectiveness]:
    """Measure every system by the labels of every evaluator."""
    found = in_threads(lambda name: effectiveness(runs, labels[name], measures), list(labels))
    return dict(zip(labels, found, strict=True))


def systems_frame(
    runs: RankedRuns, found: Mapping[str, Effectiveness], measures: Sequence[str], resampler: Resampler | None
) -> pd.DataFrame:
    """Return a row per evaluator, measure and system: its mean over users, with a bootstrap interval.

    Returns
    -------
    DataFrame
        ``evaluator``, ``measure``, ``system``, ``value``, ``ci_low``, ``ci_high``, ``n_users`` (with a
        label), ``judged``, ``n_missing`` (users among them without a list, who count as 0).
    """

    def rows(evaluator: str) -> Iterator[pd.DataFrame]:
        of = found[evaluator]
        for measure in measures:
            means = of.means(measure)
            value = means.at(np.ones((len(runs.users), 1)))[:, 0]
            low = high = np.full(len(value), np.nan)
            if resampler is not None:
                ends = bootstrap(means, resampler.of(len(runs.users)), stretch=False)
                low, high = ends.low, ends.high
            columns = {
                "evaluator": evaluator,
                "measure": measure,
                "system": runs.systems,
                "value": value,
                "ci_low": low,
                "ci_high": high,
                "n_users": int(of.users.sum()),
                "judged": of.judged[measure],
                "n_missing": of.missing,
            }
            yield pd.DataFrame(columns)

    if resampler is not None:
        resampler.of(len(runs.users)).weights()  # once for all threads
    parts = in_threads(lambda evaluator: list(rows(evaluator)), list(found))
    return pd.concat([part for of in parts for part in of], ignore_index=True)
