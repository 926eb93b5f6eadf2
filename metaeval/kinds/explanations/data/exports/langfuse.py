"""Langfuse: traces or observations with scores, as JSON or JSON lines.

A score of the source ``ANNOTATION`` is a person's; ``API`` and ``EVAL`` are scores. Fields are those of the
public API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.kinds.explanations.data.exports.export import Export, Judged, Mark, opened, own_fields, text_in


def _fits(record: Mapping[str, Any]) -> bool:
    if isinstance(record.get("data"), list) and record["data"]:  # a page of the API
        return _fits(record["data"][0])
    return {"input", "output", "scores"} <= record.keys() and isinstance(opened(record["scores"]), list)


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for page in records:
        for record in page["data"] if isinstance(page.get("data"), list) else [page]:
            metadata = opened(record.get("metadata"))
            user = {"user_id": record["userId"]} if record.get("userId") else {}
            fields = {
                "item_title": text_in(record["input"]),
                "output": text_in(record["output"]),
                **user,
                **own_fields(opened(record["input"]), metadata, record),
            }
            marks = [
                Mark(*_score(s), person=s.get("source") == "ANNOTATION") for s in opened(record["scores"])
            ]
            yield Judged(str(record["id"]), fields, marks, "output")


def _score(score: Mapping[str, Any]) -> tuple[str, object, str]:
    value = score.get("value") if score.get("value") is not None else score.get("stringValue")
    who = score.get("authorUserId") or str(score.get("source", "api")).lower()
    return str(score["name"]), value, str(who)


LANGFUSE = Export("Langfuse", "traces with scores: `GET /api/public/traces`, or Export → JSON", _fits, _read)
