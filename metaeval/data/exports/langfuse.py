"""Langfuse: traces or observations with scores, or both of them apart, as JSON or JSON lines.

A score of the source ``ANNOTATION`` is a person's; ``API`` and ``EVAL`` are scores. Its ``dataType`` says
what it is: the ``value`` of a word is no number that anybody gave. Fields are those of the public API. A page
of traces has the ids of scores alone; the interface's export has values without their source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.data.exports.export import Export, Judged, Mark, own_fields, text_in
from metaeval.data.exports.shape import opened, shape

_NUMBERS = ("NUMERIC", "BOOLEAN")
_TRACE, _OF = {"input", "output"}, "traceId"
_INTERFACE = "of the interface"
_BOTH = "put traces and scores (`GET /api/public/traces` and `/scores`) into one folder, and name the folder"
_IDS = f"scores of which the page of traces has the ids alone; {_BOTH}"
_NO_TRACE = f"scores whose trace, and with it the text, is not in the file; {_BOTH}"
_NO_SOURCE = f"scores of the interface's export, which does not say who gave them; {_BOTH}"
_SHAPE = shape("id", scores=[shape("name") | str])


def _fits(record: Mapping[str, Any]) -> bool:
    trace = record.keys() >= _TRACE and isinstance(opened(record.get("scores")), list)
    return trace or _is_of_interface(record) or record.keys() >= {_OF, "name", "value", "source"}


def _first(record: dict[str, Any]) -> object:
    """Return a score as one of its trace; mark what is of the interface."""
    if _OF in record and "value" in record:
        return {"id": record[_OF], "scores": [record]}
    return record | ({_INTERFACE: True} if _is_of_interface(record) else {})


def _is_of_interface(record: Mapping[str, Any]) -> bool:
    return record.keys() >= {*_TRACE, "bookmarked", "sessionId"} and "scores" not in record


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    there: dict[str, Mapping[str, Any]] = {}
    for record in records:
        if _TRACE & record.keys() and (_INTERFACE not in record or record["id"] not in there):
            there[record["id"]] = record
    alone: dict[str, list[Any]] = {}
    for record in records:
        for score in () if _TRACE & record.keys() else record["scores"]:
            if not isinstance(score, str):
                of = score.get("observationId")
                alone.setdefault(str(of if of in there else record["id"]), []).append(score)
    for name, record in there.items():
        given = opened(record.get("input"))
        fields = {
            "item_title": text_in(given),
            "output": text_in(record.get("output")),
            "user_id": record.get("userId"),
            **own_fields(given, opened(record.get("metadata")), record),
        }
        scores = [*record["scores"], *alone.pop(name, [])]
        marks = [_mark(score) for score in scores if not isinstance(score, str)]
        unread = [_IDS] if scores and not marks else [_NO_SOURCE] if _INTERFACE in record else []
        yield Judged(name, fields, marks, "output", record.get("level") == "ERROR", given, unread)
    for name, scores in alone.items():
        yield Judged(name, {}, [_mark(score) for score in scores], "output", unread=[_NO_TRACE])


def _mark(score: Mapping[str, Any]) -> Mark:
    value, word, kind = score.get("value"), score.get("stringValue"), score.get("dataType")
    if value is None or (kind not in _NUMBERS and (kind or word)):
        value = word or (value if isinstance(value, str) else None)
    who, source = score.get("authorUserId"), str(score.get("source", "api"))
    return Mark(score["name"], value, str(who or source.lower()), source == "ANNOTATION", named=bool(who))


LANGFUSE = Export(
    *(
        "Langfuse",
        "`GET /api/public/traces/ID` of each trace, or a folder of traces and scores",
        _fits,
        _SHAPE,
        _read,
    ),
    ("data",),
    first=_first,
)
