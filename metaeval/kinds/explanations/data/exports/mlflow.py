"""MLflow: traces with assessments, as ``trace.to_json()`` per line, or ``search_traces()`` as JSON.

An assessment of the source ``HUMAN`` is a person's; ``LLM_JUDGE`` and ``CODE`` are scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.kinds.explanations.data.exports.export import Export, Judged, Mark, opened, own_fields, text_in


def _fits(record: Mapping[str, Any]) -> bool:
    info = record.get("info")
    in_trace = isinstance(info, Mapping) and ("assessments" in info or "trace_id" in info)
    return in_trace or {"trace_id", "assessments"} <= record.keys()


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for record in records:
        info = record.get("info") or record
        spans = (record.get("data") or {}).get("spans") or ()
        roots = [span for span in spans if not span.get("parent_span_id")]
        own = (roots[0].get("attributes") if roots else None) or {}
        given = own.get("mlflow.spanInputs") or info.get("request") or info.get("request_preview")
        made = own.get("mlflow.spanOutputs") or info.get("response") or info.get("response_preview")
        more = [opened(info.get(k)) for k in ("tags", "trace_metadata", "request_metadata")]
        inputs = opened(given)
        fields = {"item_title": text_in(inputs), "response": text_in(made), **own_fields(inputs, *more)}
        if isinstance(user := (more[1] or {}).get("mlflow.trace.user"), str):
            fields.setdefault("user_id", user)
        marks = [m for a in opened(info.get("assessments")) or () for m in _assessed(a)]
        yield Judged(str(info["trace_id"]), fields, marks, "response")


def _assessed(given: Mapping[str, Any]) -> Iterator[Mark]:
    source = given.get("source") or {}
    found = given.get("feedback") or given.get("expectation") or {}
    kind = str(source.get("source_type"))
    if given.get("valid", True):
        name = given.get("assessment_name") or given.get("name")
        yield Mark(
            str(name), found.get("value"), str(source.get("source_id") or kind), person=kind == "HUMAN"
        )


MLFLOW = Export("MLflow", "`trace.to_json()` of each trace, one per line", _fits, _read)
