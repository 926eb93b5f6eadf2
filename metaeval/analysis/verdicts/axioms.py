"""The axioms of a preference, counted for one judge: how much of what was asked keeps to each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from metaeval.analysis.verdicts.pairs import NEITHER, ONE, OTHER, PARTS, VerdictGroups
from metaeval.stats.ranking.triads import CYCLES_BY_CHANCE, triads
from metaeval.stats.resampling.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from metaeval.analysis.verdicts.pairs import CountedPairs
    from metaeval.engine.alignment.aligned import Bools
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.ranking.triads import Triads

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
    """The same of some groups."""

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
