"""OpenTelemetry: events of generative AI, as JSON lines of OTLP logs, and spans.

``gen_ai.evaluation.result`` has a score by its name; the event with the messages, or the span that events
belong to, has the text. Which evaluations are people's, no attribute says; ``gen_ai.evaluation.source:
human`` is taken for one. An event with ``error.type`` failed. Names are those of the semantic conventions for
generative AI.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.data.exports.export import Export, Judged, Mark, own_fields, text_in
from metaeval.data.exports.shape import shape

_RESULT, _PREFIX = "gen_ai.evaluation.result", "gen_ai.evaluation."
_WHO = ("evaluator.id", "gen_ai.evaluation.evaluator", "user.name")

_SHAPE = shape(attributes=shape() | list[shape("key")])  # type: ignore[misc]


def _fits(record: Mapping[str, Any]) -> bool:
    return _event(record).startswith("gen_ai.") or any(
        k.startswith("gen_ai.") for k in _attributes(record.get("attributes"))
    )


def _event(record: Mapping[str, Any]) -> str:
    """Return the name of an event."""
    named = _attributes(record.get("attributes")).get("event.name")
    return str(record.get("eventName") or record.get("name") or named)


def _attributes(given: object) -> dict[str, Any]:
    """Return attributes, of which OTLP makes a list of keys and values, as an object."""
    if isinstance(given, Mapping):
        return dict(given)
    listed = given if isinstance(given, list) else ()
    return {str(a["key"]): _value(a.get("value")) for a in listed if isinstance(a, Mapping) and "key" in a}


def _value(given: Any) -> Any:  # noqa: ANN401 - one of OTLP's types
    kind, value = next(iter(given.items()), ("", "")) if isinstance(given, Mapping) else ("", given)
    inner = value.get("values") if isinstance(value, Mapping) else None
    if kind == "kvlistValue":
        return _attributes(inner)
    if kind == "arrayValue":
        return [_value(v) for v in inner] if isinstance(inner, list) else []
    return value


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    marks: dict[str, list[Mark]] = {}
    fields: dict[str, dict[str, object]] = {}
    given: dict[str, object] = {}
    failed: set[str] = set()
    for record in records:
        name, attributes = _event(record), _attributes(record["attributes"])
        of = str(attributes.get("gen_ai.response.id") or record.get("spanId") or record.get("traceId"))
        error = attributes.get("error.type")
        if name != _RESULT:
            if not _fits(record):
                continue
            given.setdefault(of, attributes.get("gen_ai.input.messages"))
            told = {
                "item_title": text_in(attributes.get("gen_ai.input.messages")),
                "output": text_in(attributes.get("gen_ai.output.messages")),
                "generator": attributes.get("gen_ai.response.model")
                or attributes.get("gen_ai.request.model"),
                "user_id": attributes.get("user.id") or attributes.get("enduser.id"),
                **own_fields(attributes),
            }
            fields.setdefault(of, {}).update({k: v for k, v in told.items() if v})
            failed |= {of} if error else set()
            continue
        aspect = str(attributes.get(f"{_PREFIX}name", "evaluation"))
        score = attributes.get(f"{_PREFIX}score.value", attributes.get(f"{_PREFIX}score.label"))
        person = attributes.get(f"{_PREFIX}source") == "human"
        who = next((attributes[k] for k in _WHO if attributes.get(k)), None)
        name = str(who or ("human" if person else "evaluation"))
        marks.setdefault(of, []).append(Mark(aspect, score, name, person, named=bool(who), failed=error))
    for of in dict.fromkeys([*fields, *marks]):
        yield Judged(of, fields.get(of, {}), marks.get(of, ()), "output", of in failed, given.get(of))


OPENTELEMETRY = Export(
    *("OpenTelemetry", "events of `gen_ai.*`, and spans, as JSON lines (OTLP)", _fits, _SHAPE, _read),
    ("resourceLogs.scopeLogs.logRecords", "resourceSpans.scopeSpans.spans"),
)
