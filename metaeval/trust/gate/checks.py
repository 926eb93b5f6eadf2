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

The gate passes if every check does, fails if any fails, and is inconclusive otherwise. A system that did not
change and meets its thresholds fails with probability alpha at most, whatever the number of checks (Holm
1979). One that is worse than allowed in any cell passes with probability alpha at most, without a correction
(intersection-union test, Berger 1982, Technometrics 24, 295).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from metaeval.base.errors import MetaevalError
from metaeval.base.simulation import REAL
from metaeval.stats.resampling.multiplicity import holm
from metaeval.trust.gate.pairs import cell, cells_of, clusters_of, ends, paired
from metaeval.trust.gate.tests_of_means import cluster_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from metaeval.base.simulation import Simulation
    from metaeval.trust.gate.pairs import GateScores
    from metaeval.trust.gate.rules import Rules
    from metaeval.trust.gate.tests_of_means import ClusterMean

Verdict: TypeAlias = Literal["pass", "fail", "inconclusive"]
Kind: TypeAlias = Literal["least", "drop"]
SAME = "the same texts, and the same judge"
"""Why a check passes that had nothing to test."""


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
    """One-sided lower and upper bounds at level alpha."""
    high: float
    p_pass: float
    """Of the value being no higher than the bound; NaN if there is no test."""
    p_fail: float
    """Of the value being no lower than the bound, corrected over the gate."""
    p_fail_alone: float
    """The same, not corrected."""
    smallest_effect: float
    """How far from the bound a value must lie to be told from it with 80 % power."""
    n_units: int
    n_clusters: int
    n_missing: int
    """Units of the run without a score; of a drop, units of the baseline that the run has no score for."""
    current: float
    """Mean of the units that enter."""
    baseline: float
    """Mean of the same units in the baseline; NaN for ``least``."""
    verdict: Verdict
    why: str
    """Why it is inconclusive, or what else is to be said; may be empty."""


@dataclass(frozen=True, slots=True, eq=False)
class GateResult:
    """What a gate says."""

    verdict: Verdict
    checks: tuple[Check, ...]
    evaluator: str
    rules: Rules
    cluster: str
    by: str
    """The column of the categories; empty if there are none."""
    notes: tuple[str, ...]
    simulated: Simulation

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
) -> GateResult:
    """Hold a system's scores against thresholds and a baseline.

    Parameters
    ----------
    current, baseline
        The scores; without a baseline only means are checked.
    rules
        The thresholds.
    by
        What ``category`` stands for; with it, each category is checked beside each whole aspect.
    cluster
        What names units that are not independent, such as ``user``; ``unit`` if all are independent. The
        usual cluster of the scores, if left out.
    notes
        What else is to be said.

    Raises
    ------
    MetaevalError
        If there is nothing to check, a threshold is one of nothing, or the two cannot be paired.
    """
    cells = cells_of(current, baseline, by)
    rules.check_names(cells)
    cluster = cluster or current.usual_cluster
    columns = {noun: key for key, noun in current.nouns.items()} | {"unit": ""}
    if cluster not in columns:
        have = ", ".join(current.nouns.values())
        raise MetaevalError(f"units cannot be clustered by {cluster!r}; give {have} or unit")
    both, said = paired(current, baseline) if baseline else (None, [])
    scope = _Scope(rules, columns[cluster], *ends(current, baseline))
    found: list[Check] = []
    for place in cells:
        bound, drop = rules.least_of(*place), rules.max_drop_of(*place)
        if bound is not None:
            found.append(_least(cell(current.frame, *place), place, bound, scope))
        if drop is not None and both is not None:
            found.append(_drop(cell(both, *place), place, -drop, scope))
    if not found:
        raise MetaevalError(
            "there is nothing to check: give --min, or --max-drop with a --baseline, as in --min ASPECT=4.2"
        )
    checks = _decided(found, rules)
    verdicts = {check.verdict for check in checks}
    verdict: Verdict = (
        "fail" if "fail" in verdicts else "inconclusive" if "inconclusive" in verdicts else "pass"
    )
    simulated = current.simulated | (baseline.simulated if baseline else REAL)
    return GateResult(
        verdict, tuple(checks), current.evaluator, rules, cluster, by, (*said, *notes), simulated
    )


@dataclass(frozen=True, slots=True)
class _Scope:
    """What all checks of a gate share."""

    rules: Rules
    cluster: str
    """A key column; empty if all units are independent."""
    least: float
    most: float


def _least(own: pd.DataFrame, place: tuple[str, str], bound: float, scope: _Scope) -> Check:
    scored = own[own["score"].notna()]
    missing, clusters = len(own) - len(scored), clusters_of(scored, scope.cluster)
    mean = cluster_mean(scored["score"].to_numpy(float), clusters, least=scope.least, most=scope.most)
    return _check("least", place, bound, mean, scope.rules, n_missing=missing, current=mean.value)


def _drop(own: pd.DataFrame, place: tuple[str, str], bound: float, scope: _Scope) -> Check:
    had = own[own["before"].notna()]
    scored = had[had["score"].notna()]
    width = scope.most - scope.least
    change = (scored["score"] - scored["before"]).to_numpy(float)
    mean = cluster_mean(change, clusters_of(scored, scope.cluster), least=-width, most=width)
    now, then = (float(scored[c].mean()) if len(scored) else math.nan for c in ("score", "before"))
    missing = len(had) - len(scored)
    check = _check("drop", place, bound, mean, scope.rules, n_missing=missing, current=now, baseline=then)
    if len(scored) and bool(scored["same"].all()) and not missing:
        # Nothing was left to chance here: the texts and the judge are those of the baseline.
        nothing = math.nan
        return replace(check, p_pass=0.0, p_fail=nothing, p_fail_alone=nothing, low=0.0, high=0.0, why=SAME)
    return check


def _check(
    kind: Kind,
    place: tuple[str, str],
    bound: float,
    mean: ClusterMean,
    rules: Rules,
    *,
    n_missing: int,
    current: float,
    baseline: float = math.nan,
) -> Check:
    """Return a check that nothing is decided of yet."""
    below = mean.p_below(bound)
    return Check(
        kind,
        *place,
        bound,
        mean.value,
        *mean.ends(rules.alpha),
        mean.p_above(bound),
        below,
        below,
        mean.smallest_effect(rules.alpha),
        mean.n_units,
        mean.n_clusters,
        n_missing,
        current,
        baseline,
        "inconclusive",
        "",
    )


def _decided(checks: Sequence[Check], rules: Rules) -> list[Check]:
    """Return the checks with their verdicts; corrected, for they are one family."""
    corrected = holm([check.p_fail_alone for check in checks])
    tested = int(np.isfinite(corrected).sum())
    found = []
    for check, p in zip(checks, corrected, strict=True):
        verdict, why = _verdict(check, float(p), rules, tested)
        found.append(replace(check, p_fail=float(p), verdict=verdict, why=why))
    return found


def _verdict(check: Check, p: float, rules: Rules, tested: int) -> tuple[Verdict, str]:
    asked = check.n_units + check.n_missing
    if p <= rules.alpha:
        return "fail", ""
    if check.n_missing > rules.max_missing * asked:
        return "inconclusive", f"{check.n_missing:,} of {asked:,} units have no score"
    if check.p_pass <= rules.alpha:
        return "pass", check.why
    if check.n_clusters < 2:
        why = "all units are of one cluster" if check.n_units else "there is no unit"
    elif check.p_fail_alone <= rules.alpha:
        why = f"below the bound alone, but not after the correction for {tested} tests"
    else:
        why = "too few units to say on which side of the bound it is"
    return "inconclusive", why
