"""TruLens: records and feedback, `session.get_records_and_feedback()` as CSV or JSON.

Every feedback is a score: the table does not say which are people's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.kinds.explanations.data.exports.export import Export, Judged, Mark, opened, own_fields, text_in


def _fits(record: Mapping[str, Any]) -> bool:
    return {"record_id", "input", "output"} <= record.keys() and bool({"app_id", "app_name"} & record.keys())


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    # Each feedback has a second column with its calls.
    feedback = [c for c in records[0] if f"{c}_calls" in records[0]]
    for record in records:
        fields = {
            "item_title": text_in(record["input"]),
            "output": text_in(record["output"]),
            "generator": record.get("app_name") or record.get("app_id"),
            **own_fields(opened(record.get("meta"))),
        }
        marks = [Mark(name, record.get(name), name, person=False) for name in feedback]
        yield Judged(str(record["record_id"]), fields, marks, "output")


TRULENS = Export("TruLens", "`session.get_records_and_feedback()[0]`, as CSV or JSON", _fits, _read)
