"""Phoenix: spans and their annotations, as JSON lines of its API, or spans that hold their annotations.

An annotation of the kind ``HUMAN`` is a person's; ``LLM`` and ``CODE`` are scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.kinds.explanations.data.exports.export import Export, Judged, Mark, own_fields, text_in
from metaeval.kinds.explanations.data.exports.shape import opened, shape

_ANNOTATION = shape("name", "annotator_kind", result=shape())
_SHAPE = shape(context=shape(), attributes=shape(), annotations=[_ANNOTATION])


def _fits(record: Mapping[str, Any]) -> bool:
    return {"span_kind", "context"} <= record.keys() or {"span_id", "annotator_kind"} <= record.keys()


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    marks: dict[str, list[Mark]] = {}
    for record in records:
        for given in record["annotations"]:
            span = given.get("span_id") or record["context"].get("span_id")
            marks.setdefault(str(span), []).append(_mark(given))
    for record in records:
        span = str(record["context"].get("span_id"))
        if span not in marks:  # nobody annotated it, or it stands in the file twice
            continue
        attributes = _paths(record["attributes"])
        given, metadata = opened(attributes.get("input.value")), opened(attributes.get("metadata"))
        told = {"user_id": attributes.get("user.id"), "output": text_in(attributes.get("output.value"))}
        fields = {"item_title": text_in(given), **told, **own_fields(given, metadata)}
        failed = record.get("status_code") == "ERROR"
        yield Judged(span, fields, marks.pop(span), "output", failed)
    yield from (Judged(span, {}, rest) for span, rest in marks.items())


def _paths(attributes: Mapping[str, Any], name: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in attributes.items():
        found[f"{name}{key}"] = value
        if isinstance(value, Mapping):
            found |= _paths(value, f"{name}{key}.")
    return found


def _mark(given: Mapping[str, Any]) -> Mark:
    score, kind = given["result"].get("score"), given["annotator_kind"]
    who = given.get("user_id") or given.get("identifier")
    value = given["result"].get("label") if score is None else score
    return Mark(given["name"], value, str(who or kind.lower()), kind == "HUMAN", named=bool(who))


PHOENIX = Export(
    *("Phoenix", "spans and span annotations of its API, as JSON lines", _fits, _SHAPE, _read),
    first=lambda record: {"annotations": [record]} if "annotator_kind" in record else record,
)
