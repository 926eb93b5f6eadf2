"""What a gate says → JUnit XML, as the servers that run checks read it: a test case per check."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from metaeval.reports.gate_summary import sentence
from metaeval.trust.gate.sheet import asked, place

if TYPE_CHECKING:
    from metaeval.trust.gate.checks import GateResult

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
        *(("note", note) for note in result.notes),
    ):
        ET.SubElement(properties, "property", {"name": name, "value": _clean(value)})
    for check in result.checks:
        name = f"{place(check)}: {asked(check)}" if result.by else asked(check)
        attributes = {"classname": _clean(f"gate.{check.aspect}"), "name": _clean(name), "time": "0"}
        case = ET.SubElement(suite, "testcase", attributes)
        if check.verdict in _ELEMENTS:
            told = {"message": _clean(sentence(check)), "type": check.verdict}
            ET.SubElement(case, _ELEMENTS[check.verdict], told)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _clean(text: str) -> str:
    """Replace the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
