"""What a gate says → Markdown for a pull request, plain JSON values, and JUnit XML."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any
from xml.etree import ElementTree as ET

from metaeval.base.counts import counted
from metaeval.engine.sheet import value_text
from metaeval.reports.sheets import markdown, sheet_to_markdown
from metaeval.trust.gate.checks import Check, GateResult, Verdict, asked, gate_sheet, place

_WORDS: dict[Verdict, str] = {"fail": "failed", "inconclusive": "inconclusive", "pass": "passed"}
_MOST = 10  # checks that are named before the table


def gate_markdown(result: GateResult) -> str:
    """Return the verdict, what did not pass in a sentence each, and the table of all checks."""
    n = len(result.checks)
    counts = ", ".join(f"{result.count(v)} {w}" for v, w in _WORDS.items() if result.count(v))
    lines = [f"# Gate: {result.verdict.upper()}", "", *(f"{markdown(line)}\n" for line in result.first)]
    lines += [f"{counted(n, 'check')}: {counts}.", ""]
    unpassed = sorted((c for c in result.checks if c.verdict != "pass"), key=lambda c: c.verdict != "fail")
    lines += [f"- {markdown(sentence(check))}" for check in unpassed[:_MOST]]
    if len(unpassed) > _MOST:
        lines.append(f"- and {len(unpassed) - _MOST} more, in the table")
    lines += [""] if unpassed else []
    return "\n".join(lines) + "\n" + sheet_to_markdown(gate_sheet(result))


def sentence(check: Check, *, judged: bool = True) -> str:
    """Return what a check found, in words; ``judged`` with its verdict."""
    where = check.aspect + (f" of {check.category}" if check.category else "")
    value, low, high = (value_text(v, "number") for v in (check.value, check.low, check.high))
    what = "mean" if check.kind == "least" else "change"
    why = f"; {check.why}" if check.why else ""
    verdict = f" {check.verdict}:" if judged else ""
    return f"{where}:{verdict} {what} {value} [{low}, {high}], required {asked(check)}{why}"


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
        "answer": dict(result.answer),
        "notes": [*result.first, *result.notes],
        "checks": [
            _json_values({**dataclasses.asdict(c), "asked": asked(c), "place": place(c)})
            for c in result.checks
        ],
    }


def _json_values(row: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENTS = {"fail": "failure", "inconclusive": "skipped"}


def junit_xml(result: GateResult) -> str:
    """Return one test suite: a failed check is a failure, an inconclusive one is skipped, with the reason."""
    counts = {
        "tests": str(len(result.checks)),
        "failures": str(result.count("fail")),
        "errors": "0",
        "skipped": str(result.count("inconclusive")),
        "time": "0",
    }
    root = ET.Element("testsuites", {"name": "metaeval gate", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": f"gate by {_clean(result.evaluator)}", **counts})
    properties = ET.SubElement(suite, "properties")
    for name, value in (
        ("verdict", result.verdict),
        ("evaluator", result.evaluator),
        ("simulated", result.simulated.what or "no"),
        *(("note", note) for note in (*result.first, *result.notes)),
    ):
        ET.SubElement(properties, "property", {"name": name, "value": _clean(value)})
    for check in result.checks:
        name = f"{place(check)}: {asked(check)}" if result.by else asked(check)
        attributes = {"classname": _clean(f"gate.{check.aspect}"), "name": _clean(name), "time": "0"}
        case = ET.SubElement(suite, "testcase", attributes)
        if check.verdict in _ELEMENTS:
            reason = {"message": _clean(sentence(check)), "type": check.verdict}
            ET.SubElement(case, _ELEMENTS[check.verdict], reason)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _clean(text: str) -> str:
    """Replace the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
