"""Phoenix: spans and their annotations, as JSON lines of its API, or spans that hold their annotations.

An annotation of the kind ``HUMAN`` is a person's; ``LLM`` and ``CODE`` are scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.data.exports.export import Export, Judged, Mark, own_fields, text_in
from metaeval.data.exports.shape import keys_of, opened, shape

_BOTH = "put spans and span annotations into one folder, and name the folder"
_NO_ANNOTATION = f"annotations, which a file of spans has not; {_BOTH}"
_NO_SPAN = f"annotations whose span, and with it the text, is not in the file; {_BOTH}"
_ANNOTATION = shape("name", "annotator_kind", result=shape())
_SHAPE = shape(context=shape(), attributes=shape(), annotations=[_ANNOTATION])


def _fits(record: Mapping[str, Any]) -> bool:
    return {"span_kind", "context"} <= (keys := keys_of(record)) or "annotator_kind" in keys


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    marks: dict[str, list[Mark]] = {}
    for record in records:
        for given in record["annotations"]:
            span = given.get("span_id") or record["context"].get("span_id")
            marks.setdefault(str(span), []).append(_mark(given))
    done: set[str] = set()
    for record in records:
        span = str(record["context"].get("span_id"))
        if not record["context"] or span in done or (marks and span not in marks):
            continue  # an annotation, a span that stands in the file twice, or one that nobody annotated
        done.add(span)
        attributes = _paths(record["attributes"])
        given, metadata = opened(attributes.get("input.value")), opened(attributes.get("metadata"))
        flat = {k.removeprefix("metadata."): v for k, v in attributes.items() if k.startswith("metadata.")}
        told = {"user_id": attributes.get("user.id"), "output": text_in(attributes.get("output.value"))}
        fields = {"item_title": text_in(given), **told, **own_fields(given, metadata, flat)}
        failed = record.get("status_code") == "ERROR"
        unread = [] if marks else [_NO_ANNOTATION]
        yield Judged(span, fields, marks.get(span, ()), "output", failed, given, unread)
    yield from (Judged(span, {}, marks[span], unread=[_NO_SPAN]) for span in marks if span not in done)


def _annotation(record: dict[str, Any]) -> object:
    """Return an annotation, which a frame calls `annotation_name`, as one of a span."""
    if "annotator_kind" not in record:
        return record
    name = {"name": record["annotation_name"]} if record.get("annotation_name") else {}
    return {"annotations": [record | name]}


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
    *("Phoenix", "spans and span annotations, as JSON lines or in one folder", _fits, _SHAPE, _read),
    ("data",),
    first=_annotation,
)
