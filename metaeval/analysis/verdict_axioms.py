"""The axioms of a preference, counted for one judge: how much of what was asked keeps to each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.engine.alignment.aligned import Bools
from metaeval.stats.coefficients.tables import Floats, Ints, changes
from metaeval.stats.ranking.comparisons import CYCLES_BY_CHANCE, Triads, triads
from metaeval.stats.resampling.weights import in_threads

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
        by_repeat = _tabulated(said, at)
        one, other = np.divmod(pair[heads], n)
        groups = of_player // n_names
        heads = changes(groups)
        players, clusters = np.cumsum(heads) - 1, cluster[groups[heads]]
        return cls(
            one=one,
            other=other,
            counts=by_repeat if repeats == 1 else _tabulated(said, of_asked[at]),
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
    """As `metaeval.analysis.verdict_coherence.coherence` takes it."""
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


def _tabulated(said: Ints, at: Ints) -> Ints:
    """Count what verdicts say, shape (2, 3, places)."""
    n = int(at.max(initial=-1)) + 1
    return np.bincount(said * n + at, minlength=_SAID * n).reshape(2, len(_WINNERS), n)


def _coded(column: pd.Series[Any]) -> tuple[Ints, int]:
    """Return a number for each value, in the order of values, and how many values there are."""
    codes, values = pd.factorize(column, sort=True)
    return codes, len(values)


TRANSITIVITY, BOTH_ORDERS = "transitivity", "transitivity_both_orders"
ANY_ORDER = "transitivity_any_order"
ASYMMETRY, REPEATABILITY = "asymmetry", "repeatability"
IRREFLEXIVITY, FIRST_POSITION = "irreflexivity", "first_position"
_FEW = 500  # units up to which an interval is that of those which count
_OF_TRIPLES = (TRANSITIVITY, BOTH_ORDERS, ANY_ORDER)
_AXIOMS = (*_OF_TRIPLES, ASYMMETRY, REPEATABILITY, IRREFLEXIVITY, FIRST_POSITION)


@dataclass(frozen=True, eq=False)
class AxiomTally:
    """What was asked of an axiom, and how much of it keeps to it."""

    axiom: str
    kept: Floats
    """Of each unit that is resampled: a cluster, or some pairs."""
    of: Floats
    unit: Ints
    """The number of each: clusters are numbered in the order of their names."""
    every: int
    """The units of the judge and task, those without anything asked too."""
    chance: float
    expected: float
    """Of triples: the share that Bradley and Terry's model expects; else NaN."""
    in_cycles: float
    """Of triples: the share of players that are in a cycle; else NaN."""

    @property
    def units(self) -> int:
        """How many units to resample: where most of many count, all, so that axioms share their resamples."""
        n = len(self.of)
        return self.every if n > max(_FEW, self.every // 2) and not self.certain else n

    @property
    def certain(self) -> bool:
        """Whether no resample differs: all of what was asked keeps to the axiom, or nothing of it."""
        return not self.kept.any() or np.array_equal(self.kept, self.of)

    @property
    def cells(self) -> dict[str, Any]:
        """What a table says of it, beside the share."""
        counts = {"n": round(float(self.of.sum())), "n_clusters": len(self.of)}
        told = {"axiom": self.axiom, "chance": self.chance}
        return {**told, **counts, "expected": self.expected, "in_cycles": self.in_cycles}


class _Count(NamedTuple):
    """One axiom, counted in some groups of verdicts."""

    axiom: str
    unit: Ints
    kept: Floats
    of: Floats
    facts: tuple[float, ...]
    """Of triples: cycles expected, players in cycles, players. Else, verdicts: `ONE`, `OTHER`, `NEITHER`."""


class JudgeAxioms(NamedTuple):
    """The axioms of a judge and task for which something was asked."""

    evaluator: str
    task: str
    tallies: list[AxiomTally]
    clusters: Any
    """Names, in order."""
    n_missing: int
    """Verdicts."""


def judge_axioms(evaluator: str, task: str, frame: pd.DataFrame) -> JudgeAxioms:
    """Count the axioms in rows of one evaluator and task, as `coherence` takes them."""
    groups = VerdictGroups.of(frame)
    of_pairs = groups.n_clusters if groups.n_clusters > 1 else PARTS
    sums = {a: np.zeros((2, groups.n_clusters if a in _OF_TRIPLES else of_pairs)) for a in _AXIOMS}
    facts = {axiom: np.zeros(3) for axiom in _AXIOMS}
    before = 0
    for n_pairs, counts in in_threads(lambda block: _counted(groups.pairs(block)), groups.blocks):
        for count in counts:
            both, unit = sums[count.axiom], count.unit
            if groups.n_clusters == 1 and count.axiom not in _OF_TRIPLES:
                unit = (unit + before) % PARTS
            both += [np.bincount(unit, values, both.shape[1]) for values in (count.kept, count.of)]
            facts[count.axiom] += count.facts
        before += n_pairs
    ties = facts[FIRST_POSITION][NEITHER] / max(1.0, facts[FIRST_POSITION].sum())
    same = (1 - ties) ** 2 / 2 + ties**2
    chance = dict.fromkeys(_OF_TRIPLES, 1 - CYCLES_BY_CHANCE)
    chance |= {ASYMMETRY: same, REPEATABILITY: same, FIRST_POSITION: 0.5}
    chance |= {IRREFLEXIVITY: _even_by_chance(*map(int, facts[IRREFLEXIVITY]))}
    found = []
    for axiom, (kept, of) in sums.items():
        if (there := of > 0).any():
            shares = (np.nan, np.nan)
            if axiom in _OF_TRIPLES:
                expected, cyclic, players = facts[axiom]
                shares = 1 - expected / of.sum(), cyclic / players
            found.append(
                AxiomTally(
                    axiom, kept[there], of[there], np.flatnonzero(there), len(of), chance[axiom], *shares
                )
            )
    n = int(facts[FIRST_POSITION].sum() + facts[IRREFLEXIVITY].sum())
    return JudgeAxioms(evaluator, task, found, groups.clusters, len(frame) - n)


def _counted(block: CountedPairs) -> tuple[int, list[_Count]]:
    """Return how many pairs there are, and the counts of all axioms."""
    apart = block.one != block.other
    pairs, alike = block.only(apart), block.only(~apart)
    first, second, neither = alike.counts[0]
    even = _Count(IRREFLEXIVITY, alike.unit, first + neither / 2, first + second + neither, _said(alike))
    return len(block.one), [*_transitivity(pairs), *_of_pairs(pairs), even]


def _said(pairs: CountedPairs) -> tuple[float, ...]:
    return tuple(pairs.counts.sum(axis=(0, 2)).tolist())


def _transitivity(pairs: CountedPairs) -> Iterator[_Count]:
    """Count triples of a group that are no cycle.

    Of decided pairs: all verdicts name the same winner. In any order: one of the verdicts on each pair, drawn
    at random, by expectation.
    """
    one, other, neither = pairs.counts.sum(axis=0)
    decided = (neither == 0) & ((one == 0) != (other == 0))
    both = decided & pairs.counts.any(axis=1).all(axis=0)
    every = np.ones_like(decided)

    def counted(use: Bools) -> Triads:
        won = np.concatenate([one, other])[np.tile(use, 2)] / np.tile((one + other + neither)[use], 2)
        sides = np.stack([pairs.one[use], pairs.other[use]])
        winner, loser = np.hstack([sides, sides[::-1]])[:, won > 0]
        return triads(winner, loser, pairs.group, won[won > 0])

    of_decided = counted(decided)
    for axiom, use in ((TRANSITIVITY, decided), (BOTH_ORDERS, both), (ANY_ORDER, every)):
        found = of_decided if np.array_equal(use, decided) else counted(use)
        there = found.triples > 0
        cyclic = np.nan if axiom == ANY_ORDER else found.in_cycles[there].sum()
        facts = found.expected.sum(), cyclic, found.players[there].sum()
        yield _Count(axiom, pairs.cluster, found.triples - found.cycles, found.triples, facts)


def _of_pairs(pairs: CountedPairs) -> Iterator[_Count]:
    """Count what is asked of a pair: verdicts in both orders, and again in the same order."""
    asked = pairs.asked.sum(axis=1)
    both = asked.all(axis=0)
    first, swapped = pairs.asked[..., both]
    # As often as a verdict in the one order and one in the other agree: mostly there is one of each.
    kept = (first * swapped).sum(axis=0) / asked[:, both].prod(axis=0)
    yield _Count(ASYMMETRY, pairs.unit[pairs.of_asked[both]], kept, np.ones(len(kept)), _said(pairs))
    counts = pairs.counts
    again = (counts.sum(axis=1) > 1).any(axis=0)
    kept, of = (_two_of(n[..., again]).sum(axis=(0, 1)) for n in (counts, counts.sum(axis=1, keepdims=True)))
    yield _Count(REPEATABILITY, pairs.unit[again], kept, of, _said(pairs))
    for_first, for_second = counts[0, ONE] + counts[1, OTHER], counts[0, OTHER] + counts[1, ONE]
    yield _Count(FIRST_POSITION, pairs.unit, for_first, for_first + for_second, _said(pairs))


def _two_of(n: Ints) -> Ints:
    """Return in how many ways two can be taken of ``n``."""
    return n * (n - 1) // 2


def _even_by_chance(first: int, second: int, ties: int) -> float:
    """Return the expectation of 1 - |2p - 1|, p the share of the first, of fair coins and as many ties.

    Heads and tails of 2m coins, or of one coin less, differ by 2m · C(2m, m) / 4^m on average.
    """
    m = (first + second + 1) // 2
    apart = 2 * m * math.exp(math.lgamma(2 * m + 1) - 2 * math.lgamma(m + 1) - m * math.log(4))
    return 1 - apart / max(1, first + second + ties)
