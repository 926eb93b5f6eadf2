"""What a gate says, as servers and people read it."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from junitparser import Failure, JUnitXml, Skipped

from metaeval.reports.sheets import SHEET_FORMATS
from metaeval.trust.gate.checks import gate, gate_sheet
from metaeval.trust.gate.report import gate_markdown, gate_record, junit_xml, sentence
from metaeval.trust.gate.rules import Rules
from tests.trust.gates import scored

RESULT = gate(
    scored(1, shift=-0.3), scored(0), Rules({"clear": 4.5, "fitting": 2}, {"*": 0.3}), by="category"
)


def test_a_server_reads_it() -> None:
    report = JUnitXml.fromstring(junit_xml(RESULT).encode())
    (suite,) = report
    cases = list(suite)
    assert (suite.tests, suite.failures, suite.skipped) == (
        12,
        RESULT.count("fail"),
        RESULT.count("inconclusive"),
    )
    verdicts = {Failure: "fail", Skipped: "inconclusive"}
    for case, check in zip(cases, RESULT.checks, strict=True):
        assert case.classname == f"gate.{check.aspect}"
        found = [verdicts[type(result)] for result in case.result] or ["pass"]
        assert found == [check.verdict]
        if case.result:
            assert case.result[0].message == sentence(check)
    assert len({(c.classname, c.name) for c in cases}) == 12
    assert RESULT.count("fail") >= 3
    assert RESULT.count("inconclusive") >= 1


def test_no_name_breaks_the_xml() -> None:
    checks = tuple(replace(c, category='<a> & "b"\x00\x1b\ud800') for c in RESULT.checks)
    text = junit_xml(replace(RESULT, checks=checks, evaluator="]]>\x01", notes=("\x0b<note>",)))
    (suite,) = JUnitXml.fromstring(text.encode())
    assert next(iter(suite)).name.startswith('<a> & "b"\ufffd\ufffd\ufffd: mean')


def test_people_see_first_what_did_not_pass() -> None:
    text = gate_markdown(RESULT)
    assert text.startswith("# Gate: FAIL\n\n12 checks: ")
    listed = [line for line in text.splitlines() if line.startswith("- ")]
    assert len(listed) == 12 - RESULT.count("pass")
    verdicts = [line.split(": ")[1] for line in listed]
    assert verdicts == sorted(verdicts, key=["fail", "inconclusive"].index)
    assert "| fail | clear | all | mean ≥ 4.5 |" in text
    assert "corrected by Holm over 12 tests" in text
    assert "SIMULATED" in text


def test_json_has_no_number_that_json_has_not() -> None:
    record = gate_record(RESULT)
    plain = json.loads(json.dumps(record, allow_nan=False))
    assert plain == record
    assert [c["baseline"] is None for c in record["checks"]] == [c.kind == "least" for c in RESULT.checks]
    assert math.isclose(record["checks"][0]["value"], RESULT.checks[0].value)


def test_every_format_takes_the_sheet() -> None:
    for render in SHEET_FORMATS.values():
        assert "fitting" in render(gate_sheet(RESULT))
