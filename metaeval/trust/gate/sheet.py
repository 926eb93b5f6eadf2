"""The result of a gate as a sheet: one row per check, and the rules in the notes."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import pandas as pd

from metaeval.engine.sheet import Column, Sheet
from metaeval.trust.gate.checks import SAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.trust.gate.checks import Check, GateResult, Verdict

ALL = "all"
"""The category of a whole aspect."""
_ORDER: tuple[Verdict, ...] = ("fail", "inconclusive", "pass")


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
        Column("verdict", "Verdict"),
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
        f"Gate by {result.evaluator}: {result.verdict}",
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
