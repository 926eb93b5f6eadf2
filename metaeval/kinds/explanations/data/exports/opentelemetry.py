"""OpenTelemetry: events of generative AI, as JSON lines of OTLP logs.

``gen_ai.evaluation.result`` has a score by its name; the event with the messages has the text. Which
evaluations are people's, no attribute says; ``gen_ai.evaluation.source: human`` is taken for one. Names are
those of the semantic conventions for generative AI.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.kinds.explanations.data.exports.export import Export, Judged, Mark, own_fields, text_in

_RESULT, _PREFIX = "gen_ai.evaluation.result", "gen_ai.evaluation."


def _fits(record: Mapping[str, Any]) -> bool:
    return any(True for _ in _events([record]))


def _events(records: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the name, the trace or response, and the attributes of each event."""
    for record in records:
        logs = [
            log
            for resource in record.get("resourceLogs") or ()
            for scope in resource.get("scopeLogs") or ()
            for log in scope.get("logRecords") or ()
        ]
        for log in logs or [record]:
            attributes = _values(log.get("attributes") or {})
            name = str(log.get("eventName") or log.get("name") or attributes.get("event.name") or "")
            if name.startswith("gen_ai."):
                of = attributes.get("gen_ai.response.id") or log.get("spanId") or log.get("traceId")
                yield name, str(of), attributes


def _values(attributes: Any) -> dict[str, Any]:  # noqa: ANN401 - a list of key and value, or an object
    if isinstance(attributes, Mapping):
        return dict(attributes)
    return {a["key"]: _value(a["value"]) for a in attributes}


def _value(given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - one of OTLP's types
    kind, value = next(iter(given.items()))
    if kind == "intValue":
        return int(value)
    if kind == "arrayValue":
        return [_value(v) for v in value.get("values", ())]
    if kind == "kvlistValue":
        return {v["key"]: _value(v["value"]) for v in value.get("values", ())}
    return value


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    marks: dict[str, list[Mark]] = {}
    fields: dict[str, dict[str, object]] = {}
    for name, of, attributes in _events(records):
        if name != _RESULT:
            told = {
                "item_title": text_in(attributes.get("gen_ai.input.messages")),
                "output": text_in(attributes.get("gen_ai.output.messages")),
                "generator": attributes.get("gen_ai.response.model")
                or attributes.get("gen_ai.request.model"),
                "user_id": attributes.get("user.id") or attributes.get("enduser.id"),
                **own_fields(attributes),
            }
            fields.setdefault(of, {}).update({k: v for k, v in told.items() if v})
            continue
        aspect = str(attributes.get(f"{_PREFIX}name"))
        score = attributes.get(f"{_PREFIX}score.value", attributes.get(f"{_PREFIX}score.label"))
        person = attributes.get(f"{_PREFIX}source") == "human"
        who = str(
            attributes.get("evaluator.id") or attributes.get("user.name") or ("human" if person else aspect)
        )
        marks.setdefault(of, []).append(Mark(aspect, score, who, person))
    for of, own in fields.items():
        yield Judged(of, own, marks.get(of, ()), "output")


OPENTELEMETRY = Export("OpenTelemetry", "events of `gen_ai.*` as JSON lines (OTLP)", _fits, _read)
