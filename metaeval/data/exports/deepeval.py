"""DeepEval: the results of a test run, as its JSON: `EvaluationResult`, or the file of a run.

Metrics are scores of their evaluation model; ` [GEval]` in a name is the kind of the metric. Numbers in a
test case's ``additional_metadata``, and metrics without a model, are people's if they are named for people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.data.exports.export import (
    Export,
    Judged,
    Mark,
    named_numbers,
    own_fields,
    text_in,
)
from metaeval.data.exports.shape import shape

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
        marks += named_numbers(more)
        yield Judged(str(n), fields, marks, "output", given=case.get("input"))


def _mark(metric: Mapping[str, Any]) -> Mark:
    name = metric["name"].removesuffix(" [GEval]")
    model = metric.get("evaluation_model") or metric.get("evaluationModel")
    return Mark(name, metric.get("score"), str(model or name), person=False, failed=metric.get("error"))


DEEPEVAL = Export(
    *("DeepEval", "`EvaluationResult.model_dump_json()`, or the JSON of a test run", _fits, _SHAPE, _read),
    ("testCases", "test_results", "testResults", "testRunData.testCases"),
)
