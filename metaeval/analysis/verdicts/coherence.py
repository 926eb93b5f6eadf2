"""Whether a judge's verdicts are coherent: alike with sides swapped and when asked again, without cycles.

The axioms of a strict preference, after Bonin et al. (2025, section 2), each as a share that is 1 for a judge
that keeps to it. `docs/reference/coherence.md` has the formulas, what ties and missing verdicts do, and what
chance gives.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.progress import progress
from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.evaluators.verdicts import pair_keys
from metaeval.sources.verdict_orders import ALL
from metaeval.stats.ranking.triads import CYCLES_BY_CHANCE, triads
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from metaeval.stats.coefficients.tables import Floats, Ints

COLUMNS = (
    *("evaluator", "task", "axiom", "estimate", "ci_low", "ci_high", "chance", "n"),
    *("n_clusters", "n_missing", "expected", "in_cycles"),
)

_WINNERS = (FIRST, SECOND, TIE)
_ONE, _OTHER, _TIE = range(3)  # who won: the name that comes first as text, the other one, neither


def coherence(verdicts: pd.DataFrame, *, resamples: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Measure the axioms, for each judge and task.

    Parameters
    ----------
    verdicts
        A row per verdict: ``evaluator``, ``task``, ``cluster`` (what is resampled, such as a user), ``group``
        (within a cluster: pairs of a group are compared, such as those of a user and an item), ``repeat``,
        ``first`` and ``second`` (what was shown first and second), ``winner``: ``first``, ``second``,
        ``tie``, or empty for a missing verdict. See `metaeval.sources.verdict_orders`.

    Returns
    -------
    DataFrame
        A row per evaluator, task and axiom for which something was asked; see `COLUMNS`. ``n`` counts what
        the estimate is a share of; ``n_missing`` missing verdicts; ``expected`` is the transitivity that
        Bradley and Terry's model expects of a judge with the same wins, ``in_cycles`` the share of items that
        are in a cycle.
    """
    rows: list[dict[str, Any]] = []
    parts = list(verdicts.groupby(["evaluator", "task"], sort=False))
    with progress("coherence", len(parts)) as advance:
        for (evaluator, task), part in parts:
            there = part[part["winner"].isin(_WINNERS)]
            shared = {"evaluator": evaluator, "task": task, "n_missing": len(part) - len(there)}
            for axiom, found, chance in _axioms(_Asked.of(there)):
                if found.n:
                    rows.append({**shared, "axiom": axiom, **found.row(resamples, seed), "chance": chance})
            advance()
    return pd.DataFrame(rows, columns=list(COLUMNS))


def orders_of(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts of pairwise evaluators (`metaeval.evaluators.verdicts`) as `coherence` takes them."""
    keys = pair_keys(verdicts)
    swapped = (verdicts["order"] == SECOND).to_numpy()
    sides = verdicts[[FIRST, SECOND]].astype(object).to_numpy()
    winner = verdicts["winner"].astype(object)
    turned = winner.map({FIRST: SECOND, SECOND: FIRST}).fillna(winner)
    return pd.DataFrame(
        {
            "evaluator": verdicts["evaluator"].astype(object),
            "task": verdicts["aspect"].astype(object).replace("", ALL),
            "cluster": verdicts[keys[0]].astype(object),
            "group": verdicts[keys].astype(str).agg(" ".join, axis=1),
            "repeat": "",
            FIRST: np.where(swapped, sides[:, 1], sides[:, 0]),
            SECOND: np.where(swapped, sides[:, 0], sides[:, 1]),
            "winner": np.where(swapped, turned, winner),
        }
    )


@dataclass(frozen=True, eq=False)
class _Asked:
    """Verdicts of one judge, as codes; arrays have shape (verdicts,), those of pairs (pairs,)."""

    group: Ints
    repeat: Ints
    pair: Ints
    """The pair of each verdict: two names of a group, in whichever order they were shown."""
    swapped: Ints
    """1 where the name that comes second as text was shown first."""
    winner: Ints
    names: Ints
    """Shape (2, pairs): the two names, in their order as text."""
    group_of: Ints
    """The group of each pair."""
    cluster_of: Ints
    """The cluster of each group."""

    @classmethod
    def of(cls, frame: pd.DataFrame) -> _Asked:
        codes, names = pd.factorize(pd.concat([frame[FIRST], frame[SECOND]]))
        place = np.argsort(np.argsort(names.astype(str)))[codes].reshape(2, -1).astype(np.int64)
        swapped = (place[0] > place[1]).astype(np.int64)
        winner = pd.Index(_WINNERS).get_indexer(pd.Index(frame["winner"])).astype(np.int64)
        winner = np.where(winner == _TIE, _TIE, winner ^ swapped)
        group = frame.groupby(["cluster", "group"], sort=False).ngroup().to_numpy().astype(np.int64)
        repeat, cluster = (pd.factorize(frame[c])[0].astype(np.int64) for c in ("repeat", "cluster"))
        _, head = np.unique(group, return_index=True)
        key = (group * len(names) + place.min(axis=0)) * len(names) + place.max(axis=0)
        pair, keys = pd.factorize(key)
        sides = np.stack([keys // len(names) % len(names), keys % len(names)])
        of_pairs = sides, keys // max(1, len(names) ** 2), cluster[head]
        return cls(group, repeat, pair.astype(np.int64), swapped, winner, *of_pairs)

    def __len__(self) -> int:
        return len(self.group)

    def only(self, use: Any) -> _Asked:  # noqa: ANN401 - bool of shape (verdicts,)
        """Return some of the verdicts."""
        return replace(
            self,
            group=self.group[use],
            repeat=self.repeat[use],
            pair=self.pair[use],
            swapped=self.swapped[use],
            winner=self.winner[use],
        )

    def counts(self, cell: Ints, n: int) -> Floats:
        """Count winners by cell, shape (n, 3)."""
        counts = np.bincount(cell * 3 + self.winner, minlength=3 * n)
        return counts.reshape(-1, 3).astype(np.float64)

    def clusters(self, pair: Ints) -> Ints:
        """Return what is resampled for some pairs: their clusters, or the pairs if there is one cluster."""
        return self.cluster_of[self.group_of[pair]] if self.cluster_of.any() else pair


@dataclass(frozen=True, eq=False)
class _Counted:
    """What an axiom was kept in, and of how much, by cluster."""

    kept: Floats
    of: Floats
    cluster: Ints
    facts: Mapping[str, float] = field(default_factory=dict)

    @property
    def n(self) -> float:
        return float(self.of.sum())

    def share(self, sums: Floats) -> Floats:
        return ratio(sums[0], sums[1])[None]

    def row(self, resamples: int, seed: int) -> dict[str, float]:
        clusters, of_cell = np.unique(self.cluster, return_inverse=True)
        sums = np.stack([np.bincount(of_cell, v, len(clusters)) for v in (self.kept, self.of)])
        resampler = Resampler(len(clusters), resamples, seed)
        found = bootstrap(ClusterSums(sums.astype(np.float64), self.share), resampler, bounds=(0.0, 1.0))
        ends = (found.low[0], found.high[0]) if len(clusters) > 1 else (np.nan, np.nan)
        cells = {"estimate": float(found.value[0]), "ci_low": float(ends[0]), "ci_high": float(ends[1])}
        return {**cells, "n": round(self.n), "n_clusters": len(clusters), **self.facts}


class _Even(_Counted):
    """One less how far the share is from one half, twice: 1 for an even share."""

    def share(self, sums: Floats) -> Floats:
        return 1 - np.abs(2 * super().share(sums) - 1)


def _axioms(asked: _Asked) -> Iterator[tuple[str, _Counted, float]]:
    """Yield each axiom, what was counted, and what chance gives."""
    same = np.equal(*asked.names)[asked.pair]
    pairs, alike = asked.only(~same), asked.only(same)
    ties = float((pairs.winner == _TIE).mean()) if len(pairs) else 0.0
    by_chance = (1 - ties) ** 2 / 2 + ties**2
    yield "transitivity", _transitivity(pairs, both_orders=False), 1 - CYCLES_BY_CHANCE
    yield "transitivity_both_orders", _transitivity(pairs, both_orders=True), 1 - CYCLES_BY_CHANCE
    yield "asymmetry", _asymmetry(pairs), by_chance
    yield "repeatability", _repeatability(pairs), by_chance
    even = _irreflexivity(alike)
    yield "irreflexivity", even, _even_by_chance(round(even.n))
    yield "first_position", _first_position(pairs), 0.5


def _transitivity(pairs: _Asked, *, both_orders: bool) -> _Counted:
    """Count triples of a group that are no cycle, of decided pairs: all verdicts name the same winner."""
    n = pairs.names.shape[1]
    counts = pairs.counts(pairs.pair, n)
    decided = ((counts > 0).sum(axis=1) == 1) & (counts[:, _TIE] == 0)
    if both_orders:
        orders = np.bincount(pairs.pair * 2 + pairs.swapped, minlength=2 * n).reshape(-1, 2)
        decided &= orders.all(axis=1)
    at = np.flatnonzero(decided)
    at = at[np.argsort(pairs.group_of[at], kind="stable")]
    one, other = pairs.names[:, at]
    turned = counts[at, _OTHER] > 0
    won, lost = np.where(turned, other, one), np.where(turned, one, other)
    groups, starts = np.unique(pairs.group_of[at], return_index=True)
    found = []
    for here in np.split(np.arange(len(at)), starts[1:]) if len(at) else ():
        names, codes = np.unique(np.concatenate([won[here], lost[here]]), return_inverse=True)
        winners, losers = codes.reshape(2, -1)
        found.append(triads(winners, losers, len(names)))
    of = np.array([t.triples for t in found])
    kept = of - np.array([t.cycles for t in found])
    facts = {}
    if of.sum():
        facts["expected"] = 1 - sum(t.expected for t in found) / float(of.sum())
        facts["in_cycles"] = sum(t.in_cycles for t in found) / sum(t.players for t in found if t.triples)
    return _Counted(kept, of, pairs.cluster_of[groups], facts)


def _asymmetry(pairs: _Asked) -> _Counted:
    """Count pairs, of each repeat, on which both orders agree."""
    asked, cell = np.unique(
        pairs.pair * (pairs.repeat.max(initial=0) + 1) + pairs.repeat, return_inverse=True
    )
    counts = pairs.counts(cell * 2 + pairs.swapped, 2 * len(asked)).reshape(-1, 2, 3)
    n = counts.sum(axis=2)
    both = n.all(axis=1)
    kept = (counts[both, 0] * counts[both, 1]).sum(axis=1) / n[both].prod(axis=1)
    pair = asked[both] // (pairs.repeat.max(initial=0) + 1)
    return _Counted(kept, np.ones(len(kept)), pairs.clusters(pair))


def _repeatability(pairs: _Asked) -> _Counted:
    """Count two verdicts on the same pair in the same order that agree."""
    counts = pairs.counts(pairs.pair * 2 + pairs.swapped, 2 * pairs.names.shape[1])
    n = counts.sum(axis=1)
    again = np.flatnonzero(n > 1)
    kept, of = (counts[again] * (counts[again] - 1) / 2).sum(axis=1), n[again] * (n[again] - 1) / 2
    return _Counted(kept, of, pairs.clusters(again // 2))


def _irreflexivity(alike: _Asked) -> _Counted:
    """Count verdicts for the first of two identical sides, a tie as half of one."""
    kept = np.array([1.0, 0.0, 0.5])[alike.winner]
    return _Even(kept, np.ones(len(alike)), alike.clusters(alike.pair))


def _even_by_chance(n: int) -> float:
    """Return the expectation of 1 - |2p - 1|, p the share of heads of n fair coins."""
    from scipy.stats import binom

    heads = np.arange(n + 1)
    return float((binom.pmf(heads, n, 0.5) * (1 - np.abs(2 * heads / max(n, 1) - 1))).sum())


def _first_position(pairs: _Asked) -> _Counted:
    """Count verdicts for what was shown first, of those that name a side."""
    named = pairs.only(pairs.winner != _TIE)
    kept = (named.winner == named.swapped).astype(np.float64)
    return _Counted(kept, np.ones(len(named)), named.clusters(named.pair))
