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
    from collections.abc import Iterable

    import pandas as pd

    from metaeval.base.simulation import Simulation
    from metaeval.trust.gate.pairs import GateScores
    from metaeval.trust.gate.rules import Rules

Verdict: TypeAlias = Literal["pass", "fail", "inconclusive"]
Kind: TypeAlias = Literal["least", "drop"]
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
    """Check a system's scores against thresholds and a baseline.

    Parameters
    ----------
    current, baseline
        The scores; without a baseline only means are checked.
    rules
        The thresholds.
    by
        The name of ``category``; with it, each category is checked beside each whole aspect.
    cluster
        The noun for the clusters of units, such as ``user``; ``unit`` if all units are independent. Default:
        `GateScores.usual_cluster`.
    notes
        Further notes for the result.

    Raises
    ------
    MetaevalError
        If there is nothing to check, a threshold is of nothing, or the two cannot be paired.
    """
    cells = cells_of(current, baseline, by)
    rules.check_names(cells)
    cluster = cluster or current.usual_cluster
    columns = {noun: key for key, noun in current.nouns.items()} | {"unit": ""}
    if cluster not in columns:
        have = ", ".join(current.nouns.values())
        raise MetaevalError(f"units cannot be clustered by {cluster!r}; give {have} or unit")
    both, unmatched = paired(current, baseline) if baseline else (None, [])
    scope = _Scope(rules, columns[cluster], *ends(current, baseline))
    found: list[Check] = []
    for place in cells:
        bound, drop = rules.least_of(*place), rules.max_drop_of(*place)
        if bound is not None:
            found.append(scope.check("least", place, bound, cell(current.frame, *place)))
        if drop is not None and both is not None:
            had = cell(both, *place)
            found.append(scope.check("drop", place, -drop, had[had["before"].notna()]))
    if not found:
        raise MetaevalError(
            "there is nothing to check: give --min, or --max-drop with a --baseline, as in --min ASPECT=4.2"
        )
    corrected = holm([check.p_fail_alone for check in found])
    tested = int(np.isfinite(corrected).sum())
    checks = tuple(_decided(c, float(p), rules, tested) for c, p in zip(found, corrected, strict=True))
    verdicts = [check.verdict for check in checks]
    verdict = next(v for v in ("fail", "inconclusive", "pass") if v in verdicts)
    simulated = current.simulated | (baseline.simulated if baseline else REAL)
    return GateResult(verdict, checks, current.evaluator, rules, cluster, by, (*unmatched, *notes), simulated)


@dataclass(frozen=True, slots=True)
class _Scope:
    """What all checks of a gate share."""

    rules: Rules
    cluster: str
    """A key column; empty if all units are independent."""
    least: float
    most: float

    def check(self, kind: Kind, place: tuple[str, str], bound: float, own: pd.DataFrame) -> Check:
        """Test the units of a cell; the verdict comes later."""
        scored = own[own["score"].notna()]
        clusters, missing, alpha = clusters_of(scored, self.cluster), len(own) - len(scored), self.rules.alpha
        score = scored["score"].to_numpy(float)
        before = math.nan
        if kind == "least":
            mean = cluster_mean(score, clusters, least=self.least, most=self.most)
            now = mean.value
        else:
            width = self.most - self.least
            change = score - scored["before"].to_numpy(float)
            mean = cluster_mean(change, clusters, least=-width, most=width)
            now, before = (float(scored[c].mean()) if len(scored) else math.nan for c in ("score", "before"))
        below = mean.p_below(bound)
        found = Check(
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
            "",
        )
        if kind == "drop" and len(scored) and bool(scored["same"].all()) and not missing:
            # The texts and the judge are those of the baseline: nothing was left to chance.
            nan = math.nan
            return replace(found, p_pass=0.0, p_fail=nan, p_fail_alone=nan, low=0.0, high=0.0, why=SAME)
        return found


def _decided(check: Check, p: float, rules: Rules, tested: int) -> Check:
    """Return a check with its verdict; ``p`` is corrected over so many tests."""
    asked = check.n_units + check.n_missing
    verdict: Verdict = "inconclusive"
    if p <= rules.alpha:
        verdict, why = "fail", ""
    elif check.n_missing > rules.max_missing * asked:
        why = f"{check.n_missing:,} of {asked:,} units have no score"
    elif check.p_pass <= rules.alpha:
        verdict, why = "pass", check.why
    elif check.n_clusters < 2:
        why = "all units are of one cluster" if check.n_units else "there is no unit"
    elif check.p_fail_alone <= rules.alpha:
        why = f"below the bound alone, but not after the correction for {tested} tests"
    else:
        why = "too few units to tell on which side of the bound it is"
    return replace(check, p_fail=p, verdict=verdict, why=why)
