"""What a gate says → Markdown for a pull request, and plain JSON values."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from metaeval.base.counts import counted
from metaeval.engine.sheet import value_text
from metaeval.reports import escapes
from metaeval.reports.sheets import sheet_to_markdown
from metaeval.trust.gate.sheet import asked, gate_sheet, place

if TYPE_CHECKING:
    from metaeval.trust.gate.checks import Check, GateResult, Verdict

_WORDS: dict[Verdict, str] = {"fail": "failed", "inconclusive": "inconclusive", "pass": "passed"}
_MOST = 10  # checks that are named before the table


def gate_markdown(result: GateResult) -> str:
    """Return the verdict, what did not pass in a sentence each, and the table of all checks."""
    n = len(result.checks)
    counts = ", ".join(f"{result.count(v)} {w}" for v, w in _WORDS.items() if result.count(v))
    lines = [f"# Gate: {result.verdict.upper()}", "", f"{counted(n, 'check')}: {counts}.", ""]
    told = sorted((c for c in result.checks if c.verdict != "pass"), key=lambda c: c.verdict != "fail")
    lines += [f"- {escapes.markdown(sentence(check))}" for check in told[:_MOST]]
    if len(told) > _MOST:
        lines.append(f"- and {len(told) - _MOST} more, in the table")
    lines += [""] if told else []
    return "\n".join(lines) + "\n" + sheet_to_markdown(gate_sheet(result))


def sentence(check: Check) -> str:
    """Return what a check found, in words."""
    where = check.aspect + (f" of {check.category}" if check.category else "")
    value, low, high = (value_text(v, "number") for v in (check.value, check.low, check.high))
    what = "mean" if check.kind == "least" else "change"
    why = f"; {check.why}" if check.why else ""
    return f"{where}: {check.verdict}: {what} {value} [{low}, {high}], required {asked(check)}{why}"


def gate_record(result: GateResult) -> dict[str, Any]:
    """Return all that a gate says as plain JSON values; what is not known is None."""
    rules = result.rules
    return {
        "verdict": result.verdict,
        "evaluator": result.evaluator,
        **result.simulated.record(),
        "by": result.by,
        "cluster": result.cluster,
        "alpha": rules.alpha,
        "max_missing": rules.max_missing,
        "min": dict(rules.least),
        "max_drop": dict(rules.max_drop),
        "notes": list(result.notes),
        "checks": [
            _plain({**dataclasses.asdict(c), "asked": asked(c), "place": place(c)}) for c in result.checks
        ],
    }


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
