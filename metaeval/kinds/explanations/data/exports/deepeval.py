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
    text_in,
)
from metaeval.kinds.explanations.data.exports.shape import shape

_MORE = {key: shape() for key in ("additional_metadata", "additionalMetadata", "metadata")}
_SHAPE = shape(metricsData=[shape("name")], metrics_data=[shape("name")], **_MORE)


def _fits(record: Mapping[str, Any]) -> bool:
    return bool({"metricsData", "metrics_data"} & record.keys())


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for n, case in enumerate(records):
        more = case["additional_metadata"] or case["additionalMetadata"] or case["metadata"]
        fields = {
            "item_title": text_in(case.get("input")),
            "output": text_in(case.get("actual_output") or case.get("actualOutput")),
            "reference": text_in(case.get("expected_output") or case.get("expectedOutput")),
            **own_fields(more),
        }
        marks = [_mark(metric) for metric in case["metricsData"] or case["metrics_data"]]
        marks += [
            Mark(name, value, METADATA, person=False)
            for name, value in more.items()
            if name not in OWN and number_of(value) is not None
        ]
        yield Judged(str(n), fields, marks, "output")


def _mark(metric: Mapping[str, Any]) -> Mark:
    name = metric["name"]
    return Mark(name, metric.get("score"), name, person=False, failed=metric.get("error"))


DEEPEVAL = Export(
    *("DeepEval", "`EvaluationResult.model_dump_json()`, or the JSON of a test run", _fits, _SHAPE, _read),
    ("testCases", "test_results", "testResults", "testRunData.testCases"),
)
