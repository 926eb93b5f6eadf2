"""What part of a change of scores is the judge's, and what the system's: by anchors judged then and now."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio
from metaeval.stats.resampling.many_clusters import jackknife_deviations
from metaeval.stats.resampling.significance import holm
from metaeval.trust.gate.tests_of_means import ClusterMean

ALPHA = 0.05
_NOT_JUDGED = "cannot be said: no anchor has a score in both runs"

Clustered: TypeAlias = tuple[Floats, Sequence[Any]]
"""Values, and the cluster of each."""


@dataclass(frozen=True, slots=True)
class Split:
    """A change of mean scores, and its parts."""

    judge: ClusterMean
    """The change on anchors, whose texts are the same."""
    system: ClusterMean
    """The change on all other units, less that of the judge."""
    whole: ClusterMean
    """The change on all other units."""


def split(anchors: Clustered, now: Clustered, then: Clustered, limits: tuple[float, float]) -> Split:
    """Split a change of mean scores.

    A cluster has one weight in all parts, so that units of one user are paired, whichever part they are in.
    Standard errors are by the jackknife over clusters; the degrees of freedom are one less than the clusters
    of the part that has the fewest.

    Parameters
    ----------
    anchors
        The change of each anchor.
    now, then
        Scores of other units.
    limits
        The lowest and the highest score possible.
    """
    parts = (anchors, now, then)
    codes, names = pd.factorize(np.concatenate([np.asarray(of, dtype=str) for _, of in parts]))
    where = np.split(codes, np.cumsum([len(of) for _, of in parts])[:-1])
    n = len(names)
    sums = [
        np.bincount(at, weights, n)
        for (values, _), at in zip(parts, where, strict=True)
        for weights in (np.ones(len(at)), values)
    ]

    def changes(of: Floats) -> Floats:
        judge, new, old = ratio(of[1::2], of[::2])
        return np.stack([judge, new - old - judge, new - old])

    statistic = ClusterSums(np.asarray(sums, dtype=np.float64).reshape(6, n), changes)
    value = statistic.at(np.ones((n, 1)))[:, 0] if n else np.full(3, np.nan)
    error = np.full(3, np.nan)
    if n > 1:
        error = np.sqrt(np.square(jackknife_deviations(statistic, n)).sum(axis=1))
    clusters = [len(np.unique(at)) for at in where]
    units = [len(at) for at in where]
    room = limits[1] - limits[0]

    def part(i: int, of: Sequence[int], size: int, spans: int) -> ClusterMean:
        fewest = min(clusters[o] for o in of)
        known = fewest > 1 and math.isfinite(error[i])
        se = float(error[i]) if known else math.nan
        se = 0.0 if se <= 1e-12 * max(1.0, room) else se
        return ClusterMean(float(value[i]), se, fewest - 1, size, fewest, -spans * room, spans * room)

    return Split(part(0, [0], units[0], 1), part(1, [0, 1, 2], units[1], 2), part(2, [1, 2], units[1], 1))


def p_of(part: ClusterMean) -> float:
    """Return the two-sided p-value of no change."""
    if part.se == 0 and part.value == 0:
        return 1.0
    return min(1.0, 2 * min(part.p_above(0.0), part.p_below(0.0)))


@dataclass(frozen=True, slots=True, eq=False)
class Drift:
    """How the scores of a judge changed between two runs, by an aspect."""

    evaluator: str
    aspect: str
    split: Split
    same: float
    """The share of anchors with the same score."""
    n_then: int
    """Other units of the older run."""
    changes: tuple[str, ...] = field(default=())
    """What changed of the judge, as far as its signature says."""

    def verdict(self, p_judge: float, p_system: float) -> str:
        """Return the answer in a sentence, given corrected p-values."""
        of = self.split
        if math.isnan(of.judge.value):
            return _NOT_JUDGED
        if math.isnan(p_judge):
            return "cannot be said: all anchors are of one cluster"
        said = f"the judge {_moved('drift', 'drifted', of.judge, p_judge)}"
        if self.same == 1:
            said = "the judge gave all anchors the same score"
        if math.isnan(of.whole.value):
            return f"{said}; nothing is said of the system, as there is no other unit in both runs"
        return f"{said}; the system {_moved('change', 'changed', of.system, p_system)}"


def _moved(verb: str, past: str, part: ClusterMean, p: float) -> str:
    return f"{past} by {part.value:+.2f}" if p <= ALPHA else f"was not seen to {verb} ({part.value:+.2f})"


def drifts(
    then: pd.DataFrame,
    now: pd.DataFrame,
    anchors: pd.DataFrame,
    evaluators: Sequence[str],
    *,
    cluster: str,
    limits: tuple[float, float],
) -> Iterator[Drift]:
    """Yield the drift of each evaluator by aspect.

    Parameters
    ----------
    then, now
        Scores of both runs, long.
    anchors
        The key columns of the units with equal texts.
    cluster
        The key column that units are clustered by; empty if units are independent.
    """
    keys = list(anchors.columns)
    for evaluator in evaluators:
        old, new = (f[(f["evaluator"] == evaluator) & f["score"].notna()] for f in (then, now))
        aspects = [a for a in new["aspect"].unique() if (old["aspect"] == a).any()]
        for aspect in aspects:
            mine, before = (marked(f[f["aspect"] == aspect][[*keys, "score"]], anchors) for f in (new, old))
            both = mine[mine["anchor"]].merge(before, on=keys, suffixes=("", "_then"))
            change = (both["score"] - both["score_then"]).to_numpy(np.float64)
            rest, rest_then = (f[~f["anchor"]] for f in (mine, before))
            others, others_then = (
                (f["score"].to_numpy(np.float64), _clusters(f, cluster, keys)) for f in (rest, rest_then)
            )
            found = split((change, _clusters(both, cluster, keys)), others, others_then, limits)
            same = float((change == 0).mean()) if len(change) else math.nan
            yield Drift(evaluator, str(aspect), found, same, len(rest_then))


def marked(units: pd.DataFrame, anchors: pd.DataFrame) -> pd.DataFrame:
    """Return rows of units with a column ``anchor``, which says whether the unit is one."""
    keys = list(anchors.columns)
    found = units.assign(**{key: units[key].astype(str) for key in keys})
    known = found.merge(anchors.astype(str).drop_duplicates(), how="left", on=keys, indicator=True)
    return found.assign(anchor=(known["_merge"] == "both").to_numpy())


def _clusters(units: pd.DataFrame, cluster: str, keys: Sequence[str]) -> list[str]:
    columns = [cluster] if cluster else list(keys)
    return list(map("\0".join, zip(*(units[c].astype(str) for c in columns), strict=True)))


_HEAD = (Column("evaluator", "Evaluator"), Column("aspect", "Aspect"))
_PARTS = (
    *_HEAD,
    Column("judge", "Judge's part", "hundredths", "judge_low", "judge_high"),
    Column("judge_p", "p", "p"),
    Column("system", "System's part", "hundredths", "system_low", "system_high"),
    Column("system_p", "p", "p"),
    Column("whole", "Change", "hundredths", "whole_low", "whole_high"),
    Column("same", "Same score", "share"),
    Column("anchors", "Anchors", "count"),
    Column("n_clusters", "Their clusters", "count"),
    Column("n_units", "Other units", "count"),
    Column("n_then", "Other units then", "count"),
)


def drift_sheets(found: Sequence[Drift], *, simulated: Simulation = REAL) -> list[Sheet]:
    """Return ``drift``, with a verdict in words each, and ``drift-parts`` with the numbers."""
    judge, system = (
        holm([p_of(part) if math.isfinite(part.se) else math.nan for part in parts])
        for parts in ([d.split.judge for d in found], [d.split.system for d in found])
    )
    rows: list[dict[str, Any]] = []
    for one, p_judge, p_system in zip(found, judge, system, strict=True):
        row: dict[str, Any] = {"evaluator": one.evaluator, "aspect": one.aspect}
        row["verdict"] = one.verdict(float(p_judge), float(p_system))
        for name in ("judge", "system", "whole"):
            part = getattr(one.split, name)
            low, high = part.ends(ALPHA / 2)
            row |= {name: part.value, f"{name}_low": low, f"{name}_high": high}
        row |= {"judge_p": p_judge, "system_p": p_system, "same": one.same, "n_then": one.n_then}
        row |= {"anchors": one.split.judge.n_units, "n_clusters": one.split.judge.n_clusters}
        rows.append(row | {"n_units": one.split.whole.n_units})
    frame = pd.DataFrame(rows)
    words = (*_HEAD, Column("verdict", "Since then"))
    known = dict.fromkeys(
        f"Known to have changed of {one.evaluator}: {'; '.join(one.changes) or 'nothing'}." for one in found
    )
    notes = (
        "Judge's part: the mean change on anchors, units with the same keys and texts in both runs.",
        "Change: of the mean of all other units. System's part: the change less the judge's part.",
        "It takes that the judge drifted on other texts as on anchors, so let these be like the others.",
        "95 % intervals and two-sided tests by the jackknife over clusters; p corrected by Holm.",
        "Anchors must be judged anew: replies from the store are those of then.",
    )
    title = "Did the judge change, or the system?"
    return [
        Sheet("drift", title, frame, words, tuple(known), simulated),
        Sheet("drift-parts", "The change of mean scores and its parts", frame, _PARTS, notes, simulated),
    ]
