"""Phoenix: spans and their annotations, as JSON lines of its API, or spans that hold their annotations.

An annotation of the kind ``HUMAN`` is a person's; ``LLM`` and ``CODE`` are scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.kinds.explanations.data.exports.export import Export, Judged, Mark, opened, own_fields, text_in


def _fits(record: Mapping[str, Any]) -> bool:
    return {"span_kind", "context"} <= record.keys() or {"span_id", "annotator_kind"} <= record.keys()


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    marks: dict[str, list[Mark]] = {}
    for record in records:
        within = {"span_id": (record.get("context") or {}).get("span_id")}
        for given in [record] if "annotator_kind" in record else record.get("annotations") or ():
            marks.setdefault(str({**within, **given}["span_id"]), []).append(_mark(given))
    for record in records:
        span = str((record.get("context") or {}).get("span_id"))
        if span not in marks:
            continue
        attributes = _paths(record.get("attributes") or {})
        given, metadata = opened(attributes.get("input.value")), opened(attributes.get("metadata"))
        user = {"user_id": attributes["user.id"]} if attributes.get("user.id") else {}
        fields = {"item_title": text_in(given), "output": text_in(attributes.get("output.value"))}
        yield Judged(span, {**fields, **user, **own_fields(given, metadata)}, marks[span], "output")


def _paths(attributes: Mapping[str, Any], name: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in attributes.items():
        found[f"{name}{key}"] = value
        if isinstance(value, Mapping):
            found |= _paths(value, f"{name}{key}.")
    return found


def _mark(given: Mapping[str, Any]) -> Mark:
    result = given.get("result") or {}
    value = result.get("score") if result.get("score") is not None else result.get("label")
    kind = str(given["annotator_kind"])
    who = given.get("user_id") or given.get("identifier") or kind.lower()
    return Mark(str(given["name"]), value, str(who), person=kind == "HUMAN")


PHOENIX = Export("Phoenix", "spans and span annotations of its API, as JSON lines", _fits, _read)
