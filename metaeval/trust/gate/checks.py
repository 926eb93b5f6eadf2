"""A gate: whether the scores of a system are good enough, and no worse than in the last accepted run.

The answer is pass, fail or, where the sample is too small to say, inconclusive. Each aspect and category is
checked by itself:

========  ======================================  ====================================================
check     passes if                               fails if
========  ======================================  ====================================================
least     the mean is above the threshold, by a   it is below, by a one-sided test at level alpha,
          one-sided test at level alpha           corrected by Holm over all checks of the gate
drop      the paired mean of current - baseline   it is below minus the margin, by a one-sided test,
          is above minus the margin, by a         corrected likewise
          one-sided test at level alpha
========  ======================================  ====================================================

The gate passes if every check does, fails if any fails, and is inconclusive otherwise. A check by a judge
that cannot serve as a gate, by an audit of the run or by its calibration for the aspect, is inconclusive. A
system that did not change and meets its thresholds fails with probability alpha at most, whatever the number
of checks (Holm 1979). One that is worse than allowed in any cell passes with probability alpha at most,
without a correction (intersection-union test, Berger 1982, Technometrics 24, 295).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, holm
from metaeval.trust.gate.baseline import GateScores, cell, cells_of, ends, paired
from metaeval.trust.gate.drift import marked, split
from metaeval.trust.gate.rules import Rules, cluster_mean

Verdict: TypeAlias = Literal["pass", "fail", "inconclusive"]
Kind: TypeAlias = Literal["least", "drop"]
_ORDER: tuple[Verdict, ...] = ("fail", "inconclusive", "pass")
NOTHING_ASKED = (
    "there is nothing to check: give --min, or --max-drop with a --baseline, as in --min ASPECT=4.2"
)
UNFIT = "the judge cannot serve as a gate"
SAME = "the same texts, and the same judge"
"""The remark on a check that had nothing to test."""


@dataclass(frozen=True, slots=True)
class Check:
    """One test of a gate."""

    kind: Kind
    aspect: str
    category: str
    """Empty for all units of the aspect."""
    bound: float
    """The lowest mean that is allowed, or minus the largest drop."""
    value: float
    """The mean, or the paired mean of current - baseline."""
    low: float
    """One-sided confidence bounds at level alpha."""
    high: float
    p_pass: float
    """p-value of the null hypothesis that the value is at most the bound; NaN without a test."""
    p_fail: float
    """p-value of the null hypothesis that the value is at least the bound, corrected over the gate."""
    p_fail_alone: float
    """The same, not corrected."""
    smallest_effect: float
    """The smallest distance from the bound that is detected with 80 % power."""
    n_units: int
    n_clusters: int
    n_missing: int
    """Units of the run (of a drop: of the baseline) without a score in the run."""
    current: float
    """Mean of the tested units."""
    baseline: float
    """Mean of the same units in the baseline; NaN for ``least``."""
    verdict: Verdict
    why: str
    """A remark, such as why it is inconclusive; may be empty."""


@dataclass(frozen=True, slots=True, eq=False)
class GateResult:
    """The result of a gate."""

    verdict: Verdict
    checks: tuple[Check, ...]
    evaluator: str
    rules: Rules
    cluster: str
    by: str
    """The column of the categories; empty if there are none."""
    notes: tuple[str, ...]
    simulated: Simulation
    first: tuple[str, ...] = ()
    """What is said first: that the judge cannot serve as a gate, and what is known of it."""
    answer: Mapping[str, Any] = field(default_factory=dict)
    """What the run says, as plain JSON values."""
    label: str = ""
    """The name of the evaluator that is printed."""

    def count(self, verdict: Verdict) -> int:
        """Return how many checks have a verdict."""
        return sum(check.verdict == verdict for check in self.checks)


def gate(
    current: GateScores,
    baseline: GateScores | None,
    rules: Rules,
    *,
    by: str = "",
    cluster: str | None = None,
    notes: Iterable[str] = (),
    anchors: pd.DataFrame | None = None,
    unfit: Collection[str] = (),
) -> GateResult:
    """Check a system's scores against thresholds and a baseline, without which only means are checked.

    With ``by``, the name of ``category``, each category is checked beside each whole aspect. ``cluster`` is
    the noun for the clusters of units, such as ``user``; ``unit`` if all units are independent. ``anchors``
    are units judged then and now (key columns, ``aspect``, ``score``, ``then``): their mean change is the
    judge's, and is subtracted from that of the other units. Checks of ``unfit`` aspects, for which the judge
    cannot serve as a gate, are inconclusive.
    `MetaevalError` is raised if there is nothing to check, a threshold is of nothing, or the two cannot be
    paired.
    """
    cells = cells_of(current, baseline, by)
    rules.check_names(cells)
    cluster = cluster or current.usual_cluster
    columns = {noun: key for key, noun in current.nouns.items()} | {"unit": ""}
    if cluster not in columns:
        have = ", ".join(current.nouns.values())
        raise MetaevalError(f"units cannot be clustered by {cluster!r}; give {have} or unit")
    both, unmatched = paired(current, baseline) if baseline else (None, [])
    how: dict[str, Any] = {"rules": rules, "cluster": columns[cluster], "limits": ends(current, baseline)}
    if both is not None and anchors is not None:
        both = marked(both, anchors[current.keys])
        how["anchors"] = anchors[anchors["score"].notna() & anchors["then"].notna()]
    found: list[Check] = []
    for place in cells:
        bound, drop = rules.least_of(*place), rules.max_drop_of(*place)
        if bound is not None:
            found.append(_checked("least", place, bound, cell(current.frame, *place), **how))
        if drop is not None and both is not None:
            had = cell(both, *place)
            found.append(_checked("drop", place, -drop, had[had["before"].notna()], **how))
    if not found:
        raise MetaevalError(NOTHING_ASKED)
    corrected = holm([check.p_fail_alone for check in found])
    tested = int(np.isfinite(corrected).sum())
    decided = [_decided(c, float(p), rules, tested) for c, p in zip(found, corrected, strict=True)]
    checks = tuple(replace(c, verdict="inconclusive", why=UNFIT) if c.aspect in unfit else c for c in decided)
    verdicts = [check.verdict for check in checks]
    verdict = next(v for v in _ORDER if v in verdicts)
    simulated = current.simulated | (baseline.simulated if baseline else REAL)
    told = (*unmatched, *notes, *(_drift_notes(how["anchors"]) if "anchors" in how else ()))
    return GateResult(verdict, checks, current.evaluator, rules, cluster, by, told, simulated)


def _drift_notes(anchors: pd.DataFrame) -> Iterator[str]:
    """Say what is subtracted from drops."""
    change = (anchors["score"] - anchors["then"]).groupby(anchors["aspect"]).agg(["mean", "count"])
    drifts = [
        f"{aspect} {row['mean']:+.2f} on {row['count']:,.0f}" for aspect, row in change.dropna().iterrows()
    ]
    yield (
        "Drops are of units that are no anchors, less the judge's drift, the mean change on anchors "
        f"({'; '.join(drifts) or 'none has a score'}); its uncertainty is in the interval (jackknife)."
    )


def _checked(
    kind: Kind,
    place: tuple[str, str],
    bound: float,
    own: pd.DataFrame,
    *,
    rules: Rules,
    cluster: str,
    limits: tuple[float, float],
    anchors: pd.DataFrame | None = None,
) -> Check:
    """Test the units of a cell, by the clusters of a key column, if any; the verdict comes later."""
    unchanged = kind == "drop" and len(own) > 0 and bool((own["same"] & own["score"].notna()).all())
    anchors = None if unchanged else anchors
    if kind == "drop" and anchors is not None:
        own = own[~own["anchor"]]
    scored, alpha, (least, most) = own[own["score"].notna()], rules.alpha, limits
    missing, before, why = len(own) - len(scored), math.nan, ""

    def clusters_of(frame: pd.DataFrame, apart: str = "") -> list[str]:
        return [*frame[cluster].astype(str)] if cluster else [f"{apart}{i}" for i in range(len(frame))]

    clusters, score = clusters_of(scored), scored["score"].to_numpy(float)
    if kind == "least":
        mean = cluster_mean(score, clusters, least=least, most=most)
        now = mean.value
    else:
        then = scored["before"].to_numpy(float)
        if anchors is None:
            mean = cluster_mean(score - then, clusters, least=least - most, most=most - least)
        else:
            same = anchors[anchors["aspect"] == place[0]]
            change = (same["score"] - same["then"]).to_numpy(float)
            parts = split((change, clusters_of(same, "anchor ")), (score, clusters), (then, clusters), limits)
            mean, few = parts.system, parts.judge.n_clusters < 2
            why = "fewer than two clusters of anchors, so the judge's drift is not known" if few else ""
            why = why if len(scored) else "every unit is an anchor: nothing is left of the system"
        now, before = (float(scored[c].mean()) if len(scored) else math.nan for c in ("score", "before"))
    below = mean.p_below(bound)
    check = Check(
        kind,
        *place,
        bound,
        mean.value,
        *mean.ends(alpha),
        mean.p_above(bound),
        below,
        below,
        mean.smallest_effect(alpha),
        mean.n_units,
        mean.n_clusters,
        missing,
        now,
        before,
        "inconclusive",
        why,
    )
    if unchanged:
        # The texts and the judge are those of the baseline: nothing was left to chance.
        nan = math.nan
        return replace(check, p_pass=0.0, p_fail=nan, p_fail_alone=nan, low=0.0, high=0.0, why=SAME)
    return check


def _decided(check: Check, p: float, rules: Rules, tested: int) -> Check:
    """Return a check with its verdict; ``p`` is corrected over so many tests."""
    asked = check.n_units + check.n_missing
    verdict: Verdict = "inconclusive"
    few = check.n_clusters < FEWEST_CLUSTERS and check.why != SAME
    if p <= rules.alpha and not few:
        verdict, why = "fail", ""
    elif check.n_missing > rules.max_missing * asked:
        why = f"{check.n_missing:,} of {asked:,} units have no score"
    elif check.p_pass <= rules.alpha and not few:
        verdict, why = "pass", check.why
    elif check.why:
        why = check.why
    elif check.n_clusters < 2:
        why = "all units are of one cluster" if check.n_units else "there is no unit"
    elif few:
        why = f"too few units: they are of fewer than {FEWEST_CLUSTERS} clusters"
    elif check.p_fail_alone <= rules.alpha:
        why = f"below the bound alone, but not after the correction for {tested} tests"
    else:
        why = "too few units to tell on which side of the bound it is"
    return replace(check, p_fail=p, verdict=verdict, why=why)


ALL = "all"
"""The category of a whole aspect."""


def gate_sheet(result: GateResult) -> Sheet:
    """Return the checks of a gate, those that failed first.

    Returns
    -------
    Sheet
        ``gate``: the fields of `metaeval.trust.gate.checks.Check`, and ``asked``, the bound in words.
    """
    checks = sorted(result.checks, key=lambda check: _ORDER.index(check.verdict))
    rows = [
        {**dataclasses.asdict(check), "asked": asked(check), "category": place(check)} for check in checks
    ]
    people = f"{result.cluster}s"
    columns = [
        Column("verdict", "Verdict", keep=True),
        Column("aspect", "Aspect"),
        *([Column("category", result.by)] if result.by else []),
        Column("asked", "Asked for"),
        Column("value", "Found", "number", "low", "high"),
        *([Column("baseline", "Baseline", "number")] if any(c.kind == "drop" for c in checks) else []),
        Column("current", "Now", "number"),
        Column("smallest_effect", "Smallest effect", "number"),
        Column("n_units", "Units", "count"),
        *([Column("n_clusters", people.capitalize(), "count")] if result.cluster != "unit" else []),
        Column("n_missing", "Without a score", "count"),
        Column("why", "Remark"),
    ]
    return Sheet(
        "gate",
        f"Gate by {result.label or result.evaluator}: {result.verdict}",
        pd.DataFrame(rows),
        tuple(columns),
        tuple(_notes(result)),
        result.simulated,
    )


def asked(check: Check) -> str:
    """Return the bound of a check in words."""
    return f"mean ≥ {check.bound:g}" if check.kind == "least" else f"drop ≤ {-check.bound:g}"


def place(check: Check) -> str:
    """Return the category of a check; `ALL` for a whole aspect."""
    return check.category or ALL


def _notes(result: GateResult) -> Iterator[str]:
    rules, n = result.rules, sum(math.isfinite(check.p_fail) for check in result.checks)
    share = f"{100 * rules.alpha:g} %"
    clusters = "units one by one" if result.cluster == "unit" else f"{result.cluster}s as clusters"
    yield from result.notes
    yield (
        "“Found” is the mean score, or the paired mean of now - baseline on the same units, with its "
        f"{100 - 200 * rules.alpha:g} % interval ({clusters}, Bell & McCaffrey 2002)."
    )
    if n:
        corrected = f", corrected by Holm over {n} tests" if n > 1 else ""
        yield (
            f"A check passes if a one-sided test at {share} shows a value above the bound, and fails if one "
            f"shows a value below{corrected}; else it is inconclusive."
        )
    if any(check.why == SAME for check in result.checks):
        yield "With the texts and the judge of the baseline, there was nothing to test."
    yield (
        f"The gate passes if every check does. A system that is good enough fails in at most {share} of all "
        f"cases; one that is not passes in at most {share}."
    )
    yield "Smallest effect: the distance from the bound that is detected with 80 % power."
    if any(check.n_missing for check in result.checks):
        most = f"{100 * rules.max_missing:g} %"
        yield f"A check with more than {most} of its units without a score cannot pass."
