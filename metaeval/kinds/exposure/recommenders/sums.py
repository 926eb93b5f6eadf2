"""Recall and nDCG of recommenders as functions of sums by user, by each off-policy estimator.

A user u has the items i of the catalogue that the training part does not have; y is 1 for a liked one. g is
what a hit at the item's rank adds: 1 for Recall, 1 / log2(rank + 1) for nDCG, 0 beyond rank K. Summed over
all users, hits are H = Σ g y and likes L = Σ y, and

- Recall@K = H / L (Yang et al. 2018, with all users' likes together);
- nDCG@K = (H / U) / ideal(L / U): of U users, and ideal(m) = Σ 1 / log2(r + 1) over ranks r to min(K, m).

A log knows y for the rows that it has; w is how many of the user's items a row stands for, 1 / p for pairs.

=========  ==========================================  ============================================
estimator  H                                           L
=========  ==========================================  ============================================
naive      Σ g y over rows                             Σ y over rows
ips        Σ w g y                                     Σ w y
snips      Σ w g y · (Σ g over lists / Σ w g)          Σ w y · (Σ 1 over the catalogue / Σ w)
dr         Σ g q over lists + Σ w g (y - q)            Σ q over the catalogue + Σ w (y - q)
=========  ==========================================  ============================================

q is what a model of outcomes predicts, fitted without the user (Dudík et al. 2011); SNIPS divides by the
weights that there are (Swaminathan & Joachims 2015). Weights may be clipped or trimmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.kinds.exposure.data.log_set import ITEM, USER, LogSet
from metaeval.kinds.exposure.off_policy.evaluation import FOLDS
from metaeval.kinds.exposure.off_policy.policies import context_codes, numbered
from metaeval.kinds.exposure.propensity.exposures import Exposures
from metaeval.kinds.exposure.propensity.propensities import Propensities
from metaeval.kinds.exposure.study import RecommenderOptions
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.off_policy.estimators import Estimator
from metaeval.stats.regression.propensity import OutcomeCells, OutcomeModel, fit_outcomes
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """The rows on which recommenders are measured."""

    log: Exposures
    rows: Ints
    """Those that are held out, of items that the user's other rows, the training part, do not have."""
    share: Floats
    """Of each user's rows that are held out."""
    trained: Ints
    """Users and items of the training part, as `Exposures.pair` numbers them."""
    early: Ints
    """The rows of the training part."""

    @classmethod
    def latest(cls, log: Exposures, share: float, seed: int) -> HeldOut:
        """Hold out so much of each user's rows: the latest, or random ones where the log has no times."""
        n = np.bincount(log.user, minlength=log.n_clusters)
        by_name = np.lexsort((log.outcome, log.item, log.user))
        when = log.time
        if when is None:
            when = np.empty(len(log))
            when[by_name] = np.random.default_rng([seed, 17]).random(len(log))
        order = by_name[np.lexsort((when[by_name], log.user[by_name]))]
        kept = np.ceil(share * n).astype(np.int64)
        place = np.arange(len(log)) - np.repeat(np.cumsum(n) - n, n)
        late = place >= (n - kept)[log.user[order]]
        early = np.sort(order[~late])
        trained = np.unique(log.pair[early])
        rows = np.sort(order[late])
        rows = rows[~np.isin(log.pair[rows], trained)]
        return cls(log, rows, kept / np.maximum(n, 1), trained, early)

    def probability(self, propensities: Propensities, floor: float) -> Floats:
        """Return the propensity of each held-out row, the floor at least.

        A pair that the log has with probability p is held out with probability p s, where s is the user's
        share; of the pairs that are not in the training part it is p s / (1 - p (1 - s)).
        """
        p = np.maximum(propensities.probability[self.rows], floor)
        if propensities.exposure == "choice":
            return p
        s = self.share[self.log.user[self.rows]]
        return np.asarray(p * s / (1 - p * (1 - s)))

    def weight(self, propensities: Propensities, floor: float) -> Floats:
        """Return how many of the user's items each held-out row stands for."""
        p = self.probability(propensities, floor)
        if propensities.exposure == "choice":
            rows = self.share * np.bincount(self.log.user, minlength=self.log.n_clusters)
            return np.asarray(1 / (p * rows[self.log.user[self.rows]]))
        _, code, n = np.unique(self.log.pair[self.rows], return_inverse=True, return_counts=True)
        return np.asarray(1 / (p * n[code]))


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """The first K items of every list, without those of the user's training part, which keep their places."""

    systems: tuple[str, ...]
    """Names, in order."""
    pairs: tuple[Ints, ...]
    """Of each system: users and items, as `Exposures.pair` numbers them, ascending."""
    ranks: tuple[Ints, ...]
    """Of each system, in the order of its pairs."""
    has_list: Floats
    """Whether a system has a list of a user, shape (systems, users)."""

    @classmethod
    def of(cls, runs: pd.DataFrame, held: HeldOut, k: int) -> Lists:
        """Read what recommenders recommend."""
        log = held.log
        user, item = log.users.get_indexer(pd.Index(runs[USER])), log.items.get_indexer(pd.Index(runs[ITEM]))
        code, names = pd.factorize(runs["system"], sort=True)
        rank = runs["rank"].to_numpy()
        listed = np.zeros((len(names), log.n_clusters), dtype=bool)
        listed[code[user >= 0], user[user >= 0]] = True
        pair = user.astype(np.int64) * len(log.items) + item
        # An item that the log does not know can be no hit, but takes a place.
        used = (user >= 0) & (item >= 0) & (rank <= k) & ~np.isin(pair, held.trained)
        rows = [np.flatnonzero(used & (code == s)) for s in range(len(names))]
        # A system of which no item is known cannot be measured.
        kept = [s for s, own in enumerate(rows) if len(own)]
        rows = [rows[s][np.argsort(pair[rows[s]], kind="stable")] for s in kept]
        systems = tuple(str(names[s]) for s in kept)
        return cls(systems, tuple(pair[r] for r in rows), tuple(rank[r] for r in rows), listed[kept])

    def places(self, pair: Ints) -> Ints:
        """Return the rank that each system gives to users and items, 0 for none, shape (systems, pairs)."""
        places = np.zeros((len(self.systems), len(pair)), dtype=np.int64)
        for s, (pairs, ranks) in enumerate(zip(self.pairs, self.ranks, strict=True)):
            at = np.minimum(np.searchsorted(pairs, pair), len(pairs) - 1)
            places[s] = np.where(pairs[at] == pair, ranks[at], 0)
        return places


def gain(rank: Ints, measure: str) -> Floats:
    """Return what a hit at a rank adds to a measure; nothing at rank 0."""
    there = rank > 0
    return np.asarray(there / np.log2(np.maximum(rank, 1) + 1) if measure == "nDCG" else there, np.float64)


def some(statistic: ClusterSums, systems: Sequence[int] | Ints) -> ClusterSums:
    """Return a statistic of a few of the systems."""
    return ClusterSums(statistic.by_cluster[:, systems], statistic.of_sums)


class LogPart(NamedTuple):
    """A part of a log, such as the items of a bin, the users of a segment, or a later time."""

    rows: NDArray[np.bool_] | None = None
    """Of the log."""
    items: NDArray[np.bool_] | None = None
    users: NDArray[np.bool_] | None = None

    @property
    def others(self) -> LogPart:
        """The rest of the log."""
        return LogPart(*(None if mask is None else ~mask for mask in self))


WHOLE = LogPart()


@dataclass(frozen=True, eq=False)
class Recommended:
    """What a log says of recommenders; users are those with a list, in the order of their names."""

    data: LogSet
    runs: pd.DataFrame
    propensities: Propensities
    options: RecommenderOptions
    floor: float
    held: HeldOut
    lists: Lists

    @classmethod
    def of(
        cls, data: LogSet, propensities: Propensities, options: RecommenderOptions, floor: float
    ) -> Recommended | None:
        """Match the lists of a data set with the rows that are held out; None if there is no list."""
        if data.runs is None or data.runs.empty:
            return None
        held = HeldOut.latest(propensities.log, options.held_out, options.seed)
        return cls(data, data.runs, propensities, options, floor, held, Lists.of(data.runs, held, options.k))

    @property
    def log(self) -> Exposures:
        """All rows of the log."""
        return self.held.log

    @property
    def every(self) -> list[tuple[str, Estimator]]:
        """Each measure with each estimator."""
        return [(measure, estimator) for measure in self.options.measures for estimator in self.options.every]

    @property
    def systems(self) -> tuple[str, ...]:
        """The recommenders, in the order of their names."""
        return self.lists.systems

    @cached_property
    def users(self) -> Ints:
        """Which users have a list of any system."""
        return np.flatnonzero(self.lists.has_list.any(axis=0))

    @cached_property
    def liked(self) -> Floats:
        """1 for each held-out row with a positive outcome, else 0."""
        return (self.log.outcome[self.held.rows] >= self.data.positive).astype(np.float64)

    def statistic(self, measure: str, estimator: Estimator, within: LogPart = WHOLE) -> ClusterSums:
        """Return the measure of each system, as a function of how often each user counts."""
        sums = self.by_user(self.propensities, measure, estimator, within)
        return ClusterSums(sums, lambda totals: self.finish(totals, measure, estimator))

    def finish(self, sums: Floats, measure: str, estimator: Estimator) -> Floats:
        """Return the measure from weighted sums of `by_user`, shape (systems, columns)."""
        hits, likes, listed, weighted, items, weight, users = sums
        if estimator.name == "snips":
            hits, likes = hits * ratio(listed, weighted), likes * ratio(items, weight)
        if measure == "Recall":
            return ratio(hits, likes)
        k = np.arange(self.options.k + 1)
        ideal = np.cumsum(np.append(0.0, 1 / np.log2(k[1:] + 1)))
        return ratio(ratio(hits, users), np.interp(ratio(likes, users), k, ideal))

    def by_user(
        self, propensities: Propensities, measure: str, estimator: Estimator, within: LogPart = WHOLE
    ) -> Floats:
        """Return sums of hits, likes, Σg of lists, Σwg, items, Σw and 1, shape (7, systems, users).

        Where ``within`` has rows, each of them stands for as many more as it leaves out.
        """
        log, held, n_users = self.log, self.held, self.log.n_clusters
        items = np.ones(len(log.items), dtype=bool) if within.items is None else within.items
        counted = np.ones(n_users, dtype=bool) if within.users is None else within.users
        used, share = items[log.item[held.rows]] & counted[log.user[held.rows]], 1.0
        if within.rows is not None:
            used &= within.rows[held.rows]
            share = float(within.rows[held.rows].mean())
        rows = held.rows[used]
        user, pair, y, w = log.user[rows], log.pair[rows], self.liked[used], np.ones(len(rows))
        if estimator.name != "naive":
            w = estimator.weighting.of(held.weight(propensities, self.floor)[used] / share)

        def inside(pairs: Ints) -> NDArray[np.bool_]:
            return np.asarray(counted[pairs // len(items)] & items[pairs % len(items)])

        g = gain(self.lists.places(pair), measure)
        lists = self.lists.pairs
        listed = [gain(ranks, measure) * inside(p) for p, ranks in zip(lists, self.lists.ranks, strict=True)]
        left, likes, hits = y, np.zeros(n_users), np.zeros((1, n_users))
        if estimator.name == "dr":
            left, likes = y - self.predicted(pair), self._expected(items) * counted
            hits = np.stack([self._sum(p, c * self.predicted(p)) for p, c in zip(lists, listed, strict=True)])
        every = [
            hits + np.stack([np.bincount(user, w * c * left, n_users) for c in g]),
            likes + np.bincount(user, w * left, n_users),
            np.stack([self._sum(p, c) for p, c in zip(lists, listed, strict=True)]),
            np.stack([np.bincount(user, w * c, n_users) for c in g]),
            items.sum() * counted - self._sum(held.trained, inside(held.trained)),
            np.bincount(user, w, n_users),
            counted.astype(np.float64),
        ]
        shape = (len(self.systems), n_users)
        return np.stack([np.broadcast_to(sums, shape) for sums in every])[..., self.users]

    def _sum(self, pair: Ints, values: Floats | NDArray[np.bool_]) -> Floats:
        """Sum values of users and items by user."""
        return np.bincount(pair // len(self.log.items), values, self.log.n_clusters).astype(np.float64)

    @cached_property
    def _model(self) -> tuple[OutcomeModel, Ints]:
        """A model of what is liked by item and profile, each fold of users predicted by the others."""
        log, data = self.log, self.data
        fold = np.random.default_rng([self.options.seed, 18]).permutation(log.n_clusters)
        fields: list[Ints] = [(fold % min(FOLDS, log.n_clusters)).astype(np.int64)]
        if data.profiles is not None:
            known = data.profiles.set_index(USER).reindex(log.users).fillna("")
            fields += [context_codes(known[name]) for name in known]
        situation, first = numbered(fields)
        cell, first_of_cell = numbered([situation[log.user], log.item])
        liked = (log.outcome >= data.positive).astype(np.float64)
        context = [field[first] for field in fields[1:]]
        cells = OutcomeCells(
            np.array(context, dtype=np.int64).reshape(len(context), len(first)).T,
            fields[0][first],
            situation[log.user[first_of_cell]],
            log.item[first_of_cell],
            np.bincount(cell).astype(np.float64),
            np.bincount(cell, liked).astype(np.float64),
        )
        return fit_outcomes(cells, len(log.items), logistic=True), situation

    def predicted(self, pair: Ints) -> Floats:
        """Return how likely users are to like items, by models that were fitted without them."""
        model, situation = self._model
        user, item = np.divmod(pair, len(self.log.items))
        return model.at(situation[user], item)

    def _expected(self, items: NDArray[np.bool_]) -> Floats:
        """Return the predicted likes of each user, without those of the training part."""
        model, situation = self._model
        every = model.expected_under(
            situation, items[None].astype(np.float64), np.zeros(len(situation), np.int64)
        )
        trained = self.held.trained
        known = self.predicted(trained) * items[trained % len(items)]
        return np.asarray(every - self._sum(trained, known))
