"""The rows of a log that are held out, and what recommenders recommend, as codes of users and items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.kinds.exposure.data.log_set import ITEM, USER

if TYPE_CHECKING:
    from metaeval.kinds.exposure.propensity.exposures import Exposures
    from metaeval.kinds.exposure.propensity.propensities import Propensities
    from metaeval.stats.coefficients.tables import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """The rows on which recommenders are measured.

    Parameters
    ----------
    of
        The log.
    rows
        Those that are held out, of items that the user's other rows, the training part, do not have.
    share
        Of each user's rows that are held out.
    trained
        Users and items of the training part, as `Exposures.pair` numbers them.
    early
        The rows of the training part.
    """

    of: Exposures
    rows: Ints
    share: Floats
    trained: Ints
    early: Ints

    @classmethod
    def latest(cls, of: Exposures, share: float, seed: int) -> HeldOut:
        """Hold out so much of each user's rows: the latest, or random ones where the log has no times."""
        n = np.bincount(of.user, minlength=of.n_clusters)
        by_name = np.lexsort((of.outcome, of.item, of.user))
        when = of.time
        if when is None:
            when = np.empty(len(of))
            when[by_name] = np.random.default_rng([seed, 17]).random(len(of))
        order = by_name[np.lexsort((when[by_name], of.user[by_name]))]
        kept = np.ceil(share * n).astype(np.int64)
        place = np.arange(len(of)) - np.repeat(np.cumsum(n) - n, n)
        late = place >= (n - kept)[of.user[order]]
        early = np.sort(order[~late])
        trained = np.unique(of.pair[early])
        rows = np.sort(order[late])
        rows = rows[~np.isin(of.pair[rows], trained)]
        return cls(of, rows, kept / np.maximum(n, 1), trained, early)

    def probability(self, given: Propensities, floor: float) -> Floats:
        """Return the propensity of each held-out row, the floor at least.

        A pair that the log has with probability p is held out with probability p s, where s is the user's
        share; of the pairs that are not in the training part it is p s / (1 - p (1 - s)).
        """
        p = np.maximum(given.probability[self.rows], floor)
        if given.exposure == "choice":
            return p
        s = self.share[self.of.user[self.rows]]
        return np.asarray(p * s / (1 - p * (1 - s)))

    def weight(self, given: Propensities, floor: float) -> Floats:
        """Return how many of the user's items each held-out row stands for."""
        p = self.probability(given, floor)
        if given.exposure == "choice":
            rows = self.share * np.bincount(self.of.user, minlength=self.of.n_clusters)
            return np.asarray(1 / (p * rows[self.of.user[self.rows]]))
        _, code, n = np.unique(self.of.pair[self.rows], return_inverse=True, return_counts=True)
        return np.asarray(1 / (p * n[code]))


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """The first K items of every list, without those of the user's training part, which keep their places.

    Parameters
    ----------
    systems
        Names, in order.
    pairs
        Of each system: users and items, as `Exposures.pair` numbers them, ascending.
    ranks
        Of each system, in the order of its pairs.
    has_list
        Whether a system has a list of a user, shape (systems, users).
    """

    systems: tuple[str, ...]
    pairs: tuple[Ints, ...]
    ranks: tuple[Ints, ...]
    has_list: Floats

    @classmethod
    def of(cls, runs: pd.DataFrame, held: HeldOut, k: int) -> Lists:
        """Read what recommenders recommend."""
        of = held.of
        user, item = of.users.get_indexer(pd.Index(runs[USER])), of.items.get_indexer(pd.Index(runs[ITEM]))
        code, names = pd.factorize(runs["system"], sort=True)
        rank = runs["rank"].to_numpy()
        listed = np.zeros((len(names), of.n_clusters), dtype=bool)
        listed[code[user >= 0], user[user >= 0]] = True
        pair = user.astype(np.int64) * len(of.items) + item
        # An item that the log does not know can be no hit, but takes a place.
        used = (user >= 0) & (item >= 0) & (rank <= k) & ~np.isin(pair, held.trained)
        rows = [np.flatnonzero(used & (code == s)) for s in range(len(names))]
        # A system of which no item is known cannot be measured.
        kept = [s for s, own in enumerate(rows) if len(own)]
        rows = [rows[s][np.argsort(pair[rows[s]], kind="stable")] for s in kept]
        return cls(
            tuple(str(names[s]) for s in kept),
            tuple(pair[r] for r in rows),
            tuple(rank[r] for r in rows),
            listed[kept],
        )

    def places(self, pair: Ints) -> Ints:
        """Return the rank that each system gives to users and items, 0 for none, shape (systems, pairs)."""
        found = np.zeros((len(self.systems), len(pair)), dtype=np.int64)
        for s, (pairs, ranks) in enumerate(zip(self.pairs, self.ranks, strict=True)):
            if len(pairs):
                at = np.minimum(np.searchsorted(pairs, pair), len(pairs) - 1)
                found[s] = np.where(pairs[at] == pair, ranks[at], 0)
        return found


def gain(rank: Ints, measure: str) -> Floats:
    """Return what a hit at a rank adds to a measure; nothing at rank 0."""
    there = rank > 0
    return np.asarray(there / np.log2(np.maximum(rank, 1) + 1) if measure == "nDCG" else there, np.float64)
