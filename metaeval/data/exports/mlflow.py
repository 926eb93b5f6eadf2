"""MLflow: traces with assessments, as ``trace.to_json()`` per line, or ``search_traces()`` as JSON.

An assessment of the source ``HUMAN`` is a person's; ``LLM_JUDGE`` and ``CODE`` are scores. ``yes`` and ``no``
are MLflow's own ratings (`CategoricalRating`): passed, and not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.data.exports.export import Export, Judged, Mark, own_fields, text_in
from metaeval.data.exports.shape import of_json, opened, shape

_RATINGS = {"yes": 1.0, "no": 0.0}
_DATA = shape(spans=[shape(attributes=shape())])
_ASSESSMENT = shape("assessment_name", source=shape(), feedback=shape(), expectation=shape())
_SHAPE = shape(info=shape("trace_id", assessments=[_ASSESSMENT]), data=_DATA)


def _fits(record: Mapping[str, Any]) -> bool:
    info = opened(record.get("info"))
    in_trace = isinstance(info, Mapping) and ("assessments" in info or "trace_id" in info)
    return in_trace or {"trace_id", "assessments"} <= record.keys()


def _trace(record: dict[str, Any]) -> object:
    """Return a row of a frame as the trace that it is of, whose spans and assessments may be columns."""
    whole = opened(record.get("trace"))
    if isinstance(whole, dict) and "info" in whole:
        return whole
    data = {"data": {"spans": opened(record.get("spans")) or []}}
    return record if "info" in record else {"info": record, **data}


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for record in records:
        info = record["info"]
        roots = [span["attributes"] for span in record["data"]["spans"] if not span.get("parent_span_id")]
        own = roots[0] if roots else {}
        given = own.get("mlflow.spanInputs") or info.get("request") or info.get("request_preview")
        made = own.get("mlflow.spanOutputs") or info.get("response") or info.get("response_preview")
        more = [opened(info.get(k)) for k in ("tags", "trace_metadata", "request_metadata")]
        inputs = of_json(given)
        user = more[1].get("mlflow.trace.user") if isinstance(more[1], Mapping) else None
        fields = {"item_title": text_in(inputs), "response": text_in(of_json(made)), "user_id": user}
        failed = info.get("state") == "ERROR"
        marks = [_mark(given) for given in info["assessments"] if given.get("valid", True)]
        yield Judged(info["trace_id"], fields | own_fields(inputs, *more), marks, "response", failed, inputs)


def _mark(given: Mapping[str, Any]) -> Mark:
    kind, who = str(given["source"].get("source_type")), given["source"].get("source_id")
    found = given["feedback"] or given["expectation"]
    value, failed = found.get("value"), found.get("error")
    value = _RATINGS.get(value, value) if isinstance(value, str) else value
    name = given["assessment_name"]
    return Mark(name, value, str(who or kind), kind == "HUMAN", named=bool(who), failed=failed)


MLFLOW = Export(
    *("MLflow", "`trace.to_json()` of each trace, one per line, or frames of traces", _fits, _SHAPE, _read),
    first=_trace,
)
