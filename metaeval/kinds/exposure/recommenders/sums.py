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

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from metaeval.kinds.exposure.data.log_set import USER
from metaeval.kinds.exposure.off_policy.arrays import context_codes
from metaeval.kinds.exposure.off_policy.model import FOLDS, numbered
from metaeval.kinds.exposure.recommenders.lists import HeldOut, Lists, gain
from metaeval.stats.regression.outcomes import OutcomeCells, fit_outcomes
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.kinds.exposure.propensity.propensities import Propensities
    from metaeval.kinds.exposure.recommenders.options import RecommenderOptions
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.off_policy.terms import Estimator
    from metaeval.stats.regression.outcomes import OutcomeModel


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
    given: Propensities
    options: RecommenderOptions
    floor: float
    held: HeldOut
    lists: Lists

    @classmethod
    def of(
        cls, data: LogSet, given: Propensities, options: RecommenderOptions, floor: float
    ) -> Recommended | None:
        """Match the lists of a data set with the rows that are held out; None if there is no list."""
        if data.runs is None or data.runs.empty:
            return None
        held = HeldOut.latest(given.of, options.held_out, options.seed)
        return cls(data, data.runs, given, options, floor, held, Lists.of(data.runs, held, options.k))

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
        return (self.given.of.outcome[self.held.rows] >= self.data.positive).astype(np.float64)

    def statistic(self, measure: str, estimator: Estimator, within: LogPart = WHOLE) -> ClusterSums:
        """Return the measure of each system, as a function of how often each user counts."""
        sums = self.by_user(self.given, measure, estimator, within)
        return ClusterSums(sums, lambda found: self.finish(found, measure, estimator))

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
        self, given: Propensities, measure: str, estimator: Estimator, within: LogPart = WHOLE
    ) -> Floats:
        """Return sums of hits, likes, Σg of lists, Σwg, items, Σw and 1, shape (7, systems, users).

        Where ``within`` has rows, each of them stands for as many more as it leaves out.
        """
        of, held, n_users = self.given.of, self.held, self.given.of.n_clusters
        n_items = len(of.items)
        items = np.ones(n_items, dtype=bool) if within.items is None else within.items
        counted = np.ones(n_users, dtype=bool) if within.users is None else within.users
        used = items[of.item[held.rows]] & counted[of.user[held.rows]]
        share = 1.0
        if within.rows is not None:
            used &= within.rows[held.rows]
            share = float(within.rows[held.rows].mean())
        rows = np.flatnonzero(used)
        user, y = of.user[held.rows[rows]], self.liked[rows]
        w = np.ones(len(rows))
        if estimator.name != "naive":
            w = estimator.weighting.of(held.weight(given, self.floor)[rows] / share)
        g = gain(self.lists.places(of.pair[held.rows[rows]]), measure)
        listed = [gain(ranks, measure) * self._within(pairs, items, counted) for pairs, ranks in self._lists]
        left = y
        likes = hits = np.zeros(n_users)
        if estimator.name == "dr":
            left = y - self.predicted(of.pair[held.rows[rows]])
            likes = self._expected(items) * counted
            hits = np.stack(
                [self._sum(p, c * self.predicted(p)) for (p, _), c in zip(self._lists, listed, strict=True)]
            )
        trained = self._sum(held.trained, self._within(held.trained, items, counted))
        every = [
            hits + np.stack([np.bincount(user, w * c * left, n_users) for c in g]),
            likes + np.bincount(user, w * left, n_users),
            np.stack([self._sum(p, c) for (p, _), c in zip(self._lists, listed, strict=True)]),
            np.stack([np.bincount(user, w * c, n_users) for c in g]),
            items.sum() * counted - trained,
            np.bincount(user, w, n_users),
            counted.astype(np.float64),
        ]
        shape = (len(self.systems), n_users)
        return np.stack([np.broadcast_to(sums, shape) for sums in every])[..., self.users]

    @property
    def _lists(self) -> list[tuple[Ints, Ints]]:
        return list(zip(self.lists.pairs, self.lists.ranks, strict=True))

    def _within(self, pair: Ints, items: NDArray[np.bool_], users: NDArray[np.bool_]) -> NDArray[np.bool_]:
        user, item = np.divmod(pair, len(items))
        return np.asarray(users[user] & items[item])

    def _sum(self, pair: Ints, values: Floats | NDArray[np.bool_]) -> Floats:
        """Sum values of users and items by user."""
        of = self.given.of
        return np.bincount(pair // len(of.items), values, of.n_clusters).astype(np.float64)

    @cached_property
    def _model(self) -> tuple[OutcomeModel, Ints]:
        """A model of what is liked by item and profile, each fold of users predicted by the others."""
        of, data = self.given.of, self.data
        fold = np.random.default_rng([self.options.seed, 18]).permutation(of.n_clusters)
        fields: list[Ints] = [(fold % min(FOLDS, of.n_clusters)).astype(np.int64)]
        if data.profiles is not None:
            known = data.profiles.set_index(USER).reindex(of.users).fillna("")
            fields += [context_codes(known[name]) for name in known]
        situation, first = numbered(fields)
        cell, first_of_cell = numbered([situation[of.user], of.item])
        liked = (of.outcome >= data.positive).astype(np.float64)
        cells = OutcomeCells(
            np.stack([field[first] for field in fields[1:]], axis=1)
            if fields[1:]
            else np.zeros((len(first), 0), dtype=np.int64),
            fields[0][first],
            situation[of.user[first_of_cell]],
            of.item[first_of_cell],
            np.bincount(cell).astype(np.float64),
            np.bincount(cell, liked).astype(np.float64),
        )
        return fit_outcomes(cells, len(of.items), logistic=True), situation

    def predicted(self, pair: Ints) -> Floats:
        """Return how likely users are to like items, by models that were fitted without them."""
        model, situation = self._model
        user, item = np.divmod(pair, len(self.given.of.items))
        return model.at(situation[user], item)

    def _expected(self, items: NDArray[np.bool_]) -> Floats:
        """Return the predicted likes of each user, without those of the training part."""
        model, situation = self._model
        every = model.under(situation, items[None].astype(np.float64), np.zeros(len(situation), np.int64))
        trained = self.held.trained
        known = self.predicted(trained) * items[trained % len(items)]
        return np.asarray(every - self._sum(trained, known))
