"""Verdicts of one judge, counted by pair, some groups at a time to save memory."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.stats.coefficients.tables import changes

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Ints

ONE, OTHER, NEITHER = range(3)  # who won: the name that comes first in the order of names, the second, none
_WINNERS = (FIRST, SECOND, TIE)
_SAID = 6  # things that a verdict may say: two orders in which the names were shown, three winners
_ROWS = 2**19  # verdicts that are counted at a time; more, if a group has more
PARTS = 1000  # in which pairs are resampled that are all of one cluster, if there are more


@dataclass(frozen=True, eq=False)
class CountedPairs:
    """The pairs of some groups. A player is a name within a group."""

    one: Ints
    """The player that comes first in the order of names, shape (pairs,)."""
    other: Ints
    """The other player: the same one where two identical sides were shown."""
    counts: Ints
    """Verdicts, shape (2, 3, pairs): names in their order or swapped; `ONE`, `OTHER` or `NEITHER` won."""
    asked: Ints
    """The same of each repeat by itself, shape (2, 3, pairs × repeats)."""
    of_asked: Ints
    """The pair of each of these."""
    unit: Ints
    """What is resampled for each pair: its cluster, or the pair's number if there is one cluster."""
    group: Ints
    """The group of each player, ascending from 0."""
    cluster: Ints
    """The cluster of each group."""

    @classmethod
    def of(cls, frame: pd.DataFrame, group: Ints, cluster: Ints) -> CountedPairs:
        """Count the verdicts of a frame, given the group of each row and the cluster of each group."""
        codes, words = pd.factorize(frame["winner"])
        winner = np.append(pd.Index(_WINNERS).get_indexer(words.astype(object)), -1)[codes]
        if (winner < 0).any():
            frame, group, winner = frame[winner >= 0], group[winner >= 0], winner[winner >= 0]
        names, n_names = _coded(pd.concat([frame[FIRST], frame[SECOND]], ignore_index=True))
        player, of_player = pd.factorize(np.tile(group, 2) * n_names + names, sort=True)
        repeat, repeats = _coded(frame["repeat"])
        first, second = player.reshape(2, -1)
        swapped, n = first > second, len(of_player)
        keys = (np.minimum(first, second) * n + np.maximum(first, second)) * repeats + repeat
        keys *= _SAID
        keys += np.where(winner == NEITHER, NEITHER, winner ^ swapped) + len(_WINNERS) * swapped
        keys.sort()
        asked, said = np.divmod(keys, _SAID)
        fresh = changes(asked)
        pair = asked[fresh] // repeats
        heads = changes(pair)
        at, of_asked = np.cumsum(fresh) - 1, np.cumsum(heads) - 1
        by_repeat = _counted(said, at)
        one, other = np.divmod(pair[heads], n)
        groups = of_player // n_names
        heads = changes(groups)
        players, clusters = np.cumsum(heads) - 1, cluster[groups[heads]]
        return cls(
            one=one,
            other=other,
            counts=by_repeat if repeats == 1 else _counted(said, of_asked[at]),
            asked=by_repeat,
            of_asked=of_asked,
            unit=clusters[players[one]] if cluster.any() else np.arange(len(one)),
            group=players,
            cluster=clusters,
        )

    def only(self, use: Any) -> CountedPairs:  # noqa: ANN401 - bool of shape (pairs,)
        """Return some of the pairs."""
        if use.all():
            return self
        there = use[self.of_asked]
        return replace(
            self,
            one=self.one[use],
            other=self.other[use],
            counts=self.counts[..., use],
            asked=self.asked[..., there],
            of_asked=(np.cumsum(use) - 1)[self.of_asked[there]],
            unit=self.unit[use],
        )


@dataclass(frozen=True, eq=False)
class VerdictGroups:
    """A judge's verdicts by group."""

    frame: pd.DataFrame
    """As `metaeval.analysis.verdicts.coherence.coherence` takes it."""
    group: Ints
    """The group of each row, ascending."""
    order: Ints | None
    """The rows in that order; None if it is their own."""
    cluster: Ints
    """The cluster of each group."""
    clusters: Any
    """The names of the clusters, in order."""

    @classmethod
    def of(cls, frame: pd.DataFrame) -> VerdictGroups:
        """Give clusters and groups numbers."""
        cluster, clusters = pd.factorize(frame["cluster"], sort=True)
        group, n = _coded(frame["group"])
        group, of_group = pd.factorize(cluster * n + group, sort=True)
        order = None if (group[1:] >= group[:-1]).all() else np.argsort(group, kind="stable")
        return cls(frame, group if order is None else group[order], order, of_group // max(1, n), clusters)

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return len(self.clusters)

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Where blocks of whole groups begin and end."""
        heads = np.searchsorted(self.group, np.arange(len(self.cluster)))
        return [*itertools.pairwise([*heads[changes(heads // _ROWS)].tolist(), len(self.group)])]

    def pairs(self, block: tuple[int, int]) -> CountedPairs:
        """Return the pairs of a block."""
        at = slice(*block)
        rows = self.frame.iloc[at if self.order is None else self.order[at]]
        return CountedPairs.of(rows, self.group[at], self.cluster)


def _counted(said: Ints, at: Ints) -> Ints:
    """Count what verdicts say, shape (2, 3, places)."""
    n = int(at.max(initial=-1)) + 1
    return np.bincount(said * n + at, minlength=_SAID * n).reshape(2, len(_WINNERS), n)


def _coded(column: pd.Series[Any]) -> tuple[Ints, int]:
    """Return a number for each value, in the order of values, and how many values there are."""
    codes, values = pd.factorize(column, sort=True)
    return codes, len(values)
