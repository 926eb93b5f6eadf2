"""What part of a change of scores is the judge's, and what the system's: by anchors judged then and now."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.keys import key_columns
from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.index import kind_named
from metaeval.runs.command import Names, Place, Printed, Typed, command
from metaeval.runs.finished import OpenRun
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import ClusterSums, jackknife_deviations, ratio
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, TOO_FEW, holm
from metaeval.study.plan import data_of
from metaeval.trust.calibration.record import changes, identity
from metaeval.trust.gate.rules import ClusterMean

ALPHA = 0.05

Clustered: TypeAlias = "tuple[Floats, Sequence[Any] | Ints]"
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
    """Split a change of mean scores: changes of anchors, scores of other units, the ends of the scale.

    A cluster has one weight in all parts, so that units of one user are paired, whichever part they are in.
    Standard errors are by the jackknife over clusters; the degrees of freedom are one less than the clusters
    of the part that has the fewest.
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
    """Return the two-sided p-value of no change; NaN without a standard error, and of few clusters."""
    if math.isnan(part.se) or part.n_clusters < FEWEST_CLUSTERS:
        return math.nan
    if part.se == 0 and part.value == 0:
        return 1.0
    return min(1.0, 2 * min(part.p_above(0.0), part.p_below(0.0)))


def _verdict(row: pd.Series[Any], p_judge: float, p_system: float) -> str:
    """Return the answer in a sentence, given corrected p-values."""
    if math.isnan(row["judge"]):
        return "cannot be said: no anchor has a score in both runs"
    if math.isnan(p_judge):
        return f"cannot be said: the anchors are of fewer than {FEWEST_CLUSTERS} clusters"
    drifted = "drifted" if p_judge <= ALPHA else "was not seen to drift"
    changed = "changed" if p_system <= ALPHA else "was not seen to change"
    changed = f"has clusters {TOO_FEW}" if math.isnan(p_system) else changed
    said = f"the judge {drifted} ({row['judge']:+.2f})"
    if row["same"] == 1:
        said = "the judge gave all anchors the same score"
    if math.isnan(row["whole"]):
        return f"{said}; nothing is said of the system, as there is no other unit in both runs"
    return f"{said}; the system {changed} ({row['system']:+.2f})"


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


def drift_sheets(
    then: pd.DataFrame,
    now: pd.DataFrame,
    anchors: pd.DataFrame,
    evaluators: Sequence[str],
    *,
    cluster: str,
    limits: tuple[float, float],
    notes: Sequence[str] = (),
) -> list[Sheet]:
    """Split the change of each evaluator's mean score, by aspect.

    ``then`` and ``now`` are scores, long; ``anchors`` has the key columns of the units with equal texts.
    Units are clustered by the key column ``cluster``, or independent if it is empty.

    Returns ``drift``, with a verdict in words each, and ``drift-parts`` with the numbers; none if no
    evaluator has scores of one aspect in both runs.
    """
    keys = list(anchors.columns)
    rows: list[dict[str, Any]] = []
    for evaluator in evaluators:
        mine, before = (
            marked(f[(f["evaluator"] == evaluator) & f["score"].notna()][[*keys, "aspect", "score"]], anchors)
            for f in (now, then)
        )
        for aspect in (a for a in mine["aspect"].unique() if (before["aspect"] == a).any()):
            new, old = (f[f["aspect"] == aspect] for f in (mine, before))
            both = new[new["anchor"]].merge(old, on=keys, suffixes=("", "_then"))
            change = both["score"] - both["score_then"]
            parts = (both.assign(score=change), new[~new["anchor"]], old[~old["anchor"]])
            values = [f["score"].to_numpy(np.float64) for f in parts]
            of, of_new, of_old = zip(values, (_clusters(f, cluster, keys) for f in parts), strict=True)
            found = split(of, of_new, of_old, limits)
            row: dict[str, Any] = {"evaluator": evaluator, "aspect": aspect, "same": (change == 0).mean()}
            for name in ("judge", "system", "whole"):
                part = getattr(found, name)
                low, high = part.ends(ALPHA / 2)
                row |= {name: part.value, f"{name}_low": low, f"{name}_high": high, f"{name}_p": p_of(part)}
            row |= {"anchors": found.judge.n_units, "n_clusters": found.judge.n_clusters}
            rows.append(row | {"n_units": found.whole.n_units, "n_then": len(parts[2])})
    if not rows:
        return []
    frame = pd.DataFrame(rows)
    frame["judge_p"], frame["system_p"] = holm(frame["judge_p"]), holm(frame["system_p"])
    frame["verdict"] = [_verdict(r, r["judge_p"], r["system_p"]) for _, r in frame.iterrows()]
    words = (*_HEAD, Column("verdict", "Since then", keep=True))
    of_parts = (
        "Judge's part: the mean change on anchors, units with the same keys and texts in both runs.",
        "Change: of the mean of all other units. System's part: the change less the judge's part.",
        "It takes that the judge drifted on other texts as on anchors, so let these be like the others.",
        "95 % intervals and two-sided tests by the jackknife over clusters; p corrected by Holm.",
        "Anchors must be judged anew: replies from the store are those of then.",
    )
    title, of_change = "Did the judge change, or the system?", "The change of mean scores and its parts"
    return [
        Sheet("drift", title, frame, words, tuple(notes)),
        Sheet("drift-parts", of_change, frame, _PARTS, of_parts),
    ]


class Drifting(Typed):
    """What is compared."""

    evaluators: Annotated[Names, "--evaluator NAME"] = ()
    """Evaluator of both runs; may be given again.  [default: the judges]"""
    data: Path | None = None
    """Data-set folder of NEW.  [default: its study's]"""
    old_data: Path | None = None
    """Data-set folder of OLD.  [default: its study's]"""
    cluster: Annotated[str | None, "user|item|generator|unit"] = None
    """Key by which units depend on each other.  [default: the run's]"""


@command("drift", view="drift")
def drift_of(old: Annotated[OpenRun, "OLD"], new: Annotated[OpenRun, "NEW"], how: Drifting) -> Printed:
    """Say whether scores changed between two finished runs by the judge or by the system.

    Units that have the same keys and the same texts in both are anchors: what changed on them is the judge.
    The rest of the change is the system. Each part has an interval and a test. Judge the anchors anew, with
    another store or replicate=1: replies from the store do not change. The report of NEW shows the result.
    """
    known = [name for name in new.scores.evaluators if name in old.scores.evaluators]
    for name in how.evaluators:
        one_of(name, known, "the two runs have no evaluator")
    names = list(how.evaluators) or [name for name in new.judges if name in known]
    if not names:
        raise MetaevalError(
            "no judge is in both runs; name what is in both with --evaluator "
            f"({', '.join(known) or 'nothing is'})"
        )
    anchors = anchor_units(old, new, how.data, how.old_data)
    by = {noun: key for key, noun in new.nouns.items()} | {"unit": ""}
    key = new.cluster
    if how.cluster:
        key = by[one_of(how.cluster, list(by), "units cannot be clustered by", "but by")]
    known_changes = {
        name: changes(*(identity(run.scores.signatures[name]) for run in (old, new))) for name in names
    }
    sheets = drift_sheets(
        *(old.scores.frame, new.scores.frame, anchors, names),
        cluster=key,
        limits=_limits(new),
        notes=[
            f"Known to have changed of {n}: {'; '.join(c) or 'nothing'}." for n, c in known_changes.items()
        ],
    )
    if not sheets:
        raise MetaevalError("no judge has scores of one aspect in both runs")
    return Printed(sheets, new.scores.simulation.among(names), found=_clauses(sheets[0].frame))


def _clauses(drift: pd.DataFrame) -> dict[str, str]:
    """Say in a clause whether each judge drifted."""
    clauses = {}
    for name, own in drift.groupby("evaluator", sort=False):
        drifted = own[own["judge_p"] <= ALPHA]
        parts = [f"{row['aspect']} {row['judge']:+.2f}" for row in drifted.to_dict("records")]
        none = "whether it drifted cannot be said" if own["judge_p"].isna().all() else "not seen to drift"
        clauses[str(name)] = f"drifted ({', '.join(parts)})" if parts else none
    return clauses


def anchor_units(
    old: OpenRun, new: OpenRun, data: Place | None = None, old_data: Place | None = None
) -> pd.DataFrame:
    """Return the units that have the same keys and texts in two runs; `MetaevalError` if none has.

    Data sets are loaded, from where the studies or ``data`` and ``old_data`` say, if they are not the same.
    """
    keys = list(key_columns(new.truth))
    for a, b in ((list(key_columns(old.truth)), keys), (_limits(old), _limits(new))):
        if a != b:
            raise MetaevalError(f"{old.folder} and {new.folder} cannot be compared: {a} is not {b}")
    if old.record.data.fingerprint == new.record.data.fingerprint:
        return new.scores.frame[keys].astype(str).drop_duplicates()
    texts = []
    for run, place in ((old, old_data), (new, data)):
        loaded = data_of(run, place)
        view = kind_named(run.record.study.kind).unit_view(loaded, ())
        shown = {f"text {i}": list(part.texts) for i, part in enumerate(view.texts)}
        if not shown:
            raise MetaevalError(f"the units of {run.folder} have no texts, so none are known to be the same")
        units = loaded.units[keys].astype(str).assign(**shown).fillna("")
        texts.append(units.drop_duplicates(keys))
    both: pd.DataFrame = texts[0].merge(texts[1], on=list(texts[0].columns))
    if both.empty:
        raise MetaevalError(
            f"no unit has the same keys and texts in {old.folder} and {new.folder}: judge some texts in "
            "both, as anchors"
        )
    return both.loc[:, keys]


def _limits(run: OpenRun) -> tuple[float, float]:
    return float(run.record.data.scale.min), float(run.record.data.scale.max)
