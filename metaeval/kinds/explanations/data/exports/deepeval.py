"""DeepEval: the results of a test run, as its JSON: `EvaluationResult`, or the file of a run.

Metrics are scores of their evaluation model. Numbers in a test case's ``additional_metadata`` are not known
to be people's, unless the user says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.kinds.explanations.data.exports.export import (
    METADATA,
    OWN,
    Export,
    Judged,
    Mark,
    number_of,
    own_fields,
)

_CASES = ("testCases", "test_results", "testResults")


def _fits(record: Mapping[str, Any]) -> bool:
    cases = _cases([record])
    return bool(cases) and bool({"metricsData", "metrics_data"} & cases[0].keys())


def _cases(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    found = [case for r in records for k in _CASES for case in r.get(k) or ()]
    return found or [r for r in records if {"metricsData", "metrics_data"} & r.keys()]


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for n, case in enumerate(_cases(records)):
        more = case.get("additional_metadata") or case.get("additionalMetadata") or case.get("metadata") or {}
        fields = {
            "item_title": case.get("input"),
            "output": case.get("actual_output", case.get("actualOutput")),
            "reference": case.get("expected_output") or case.get("expectedOutput"),
            **own_fields(more),
        }
        metrics = case.get("metricsData") or case.get("metrics_data") or ()
        marks = [Mark(str(m["name"]), m.get("score"), str(m["name"]), person=False) for m in metrics]
        marks += [
            Mark(name, value, METADATA, person=False)
            for name, value in more.items()
            if name not in OWN and number_of(value) is not None
        ]
        yield Judged(str(n), fields, marks, "output")


DEEPEVAL = Export("DeepEval", "`EvaluationResult.model_dump_json()`, or the JSON of a test run", _fits, _read)
