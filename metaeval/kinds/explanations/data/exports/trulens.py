"""TruLens: records and feedback, `session.get_records_and_feedback()` as CSV or JSON.

Every feedback is a score: the table does not say which are people's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.kinds.explanations.data.exports.export import Export, Judged, Mark, own_fields, text_in
from metaeval.kinds.explanations.data.exports.shape import opened, shape


def _fits(record: Mapping[str, Any]) -> bool:
    return {"record_id", "input", "output"} <= record.keys() and bool({"app_id", "app_name"} & record.keys())


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    # Each feedback has a second column with its calls.
    columns = dict.fromkeys(c for record in records for c in record)
    feedback = [c for c in columns if f"{c}_calls" in columns]
    for record in records:
        fields = {
            "item_title": text_in(record.get("input")),
            "output": text_in(record.get("output")),
            "generator": record.get("app_name") or record.get("app_id"),
            **own_fields(opened(record.get("meta"))),
        }
        marks = [Mark(name, record.get(name), name, person=False) for name in feedback]
        told = opened(record.get("record_json"))
        failed = isinstance(told, Mapping) and told.get("main_error")
        yield Judged(record["record_id"], fields, marks, "output", failed)


_SHAPE = shape("record_id")
TRULENS = Export("TruLens", "`session.get_records_and_feedback()[0]`, as CSV or JSON", _fits, _SHAPE, _read)
