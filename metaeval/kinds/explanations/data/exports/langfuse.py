"""Langfuse: traces or observations with scores, as JSON or JSON lines.

A score of the source ``ANNOTATION`` is a person's; ``API`` and ``EVAL`` are scores. Its ``dataType`` says
what it is: the ``value`` of a word is no number that anybody gave. Fields are those of the public API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.kinds.explanations.data.exports.export import Export, Judged, Mark, own_fields, text_in
from metaeval.kinds.explanations.data.exports.shape import opened, shape

_NUMBERS = ("NUMERIC", "BOOLEAN")
_SHAPE = shape("id", scores=[shape("name")])


def _fits(record: Mapping[str, Any]) -> bool:
    return {"input", "output", "scores"} <= record.keys() and isinstance(opened(record["scores"]), list)


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for record in records:
        given = opened(record.get("input"))
        fields = {
            "item_title": text_in(given),
            "output": text_in(record.get("output")),
            "user_id": record.get("userId"),
            **own_fields(given, opened(record.get("metadata")), record),
        }
        marks = [_mark(score) for score in record["scores"]]
        yield Judged(record["id"], fields, marks, "output", record.get("level") == "ERROR")


def _mark(score: Mapping[str, Any]) -> Mark:
    value, word, kind = score.get("value"), score.get("stringValue"), score.get("dataType")
    if value is None or (kind not in _NUMBERS and (kind or word)):
        value = word or (value if isinstance(value, str) else None)
    who, source = score.get("authorUserId"), str(score.get("source", "api"))
    return Mark(score["name"], value, str(who or source.lower()), source == "ANNOTATION", named=bool(who))


LANGFUSE = Export(
    *("Langfuse", "`GET /api/public/traces/ID` of each trace, with its scores", _fits, _SHAPE, _read),
    ("data",),
)
