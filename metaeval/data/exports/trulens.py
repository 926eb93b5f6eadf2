"""TruLens: records and feedback, `session.get_records_and_feedback()` as CSV or JSON.

Every feedback is a score, and a person's if it is named for people; the table does not say more. Versions of
one app are generators of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.data.exports.export import Export, Judged, Mark, own_fields, text_in
from metaeval.data.exports.shape import of_json, opened, shape


def _fits(record: Mapping[str, Any]) -> bool:
    return {"record_id", "input", "output"} <= record.keys() and bool({"app_id", "app_name"} & record.keys())


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    # Each feedback has a second column with its calls.
    columns = dict.fromkeys(c for record in records for c in record)
    feedback = [c for c in columns if f"{c}_calls" in columns]
    apps = [[str(record[k]) for k in ("app_name", "app_version") if record.get(k)] for record in records]
    named = {app[0] for app in apps if app}
    versions = len({*map(tuple, apps)}) > len(named)
    for record, app in zip(records, apps, strict=True):
        system = app[1:] if versions and len(named) == 1 else app[: 2 if versions else 1]
        fields = {
            "item_title": text_in(of_json(record.get("input"))),
            "output": text_in(of_json(record.get("output"))),
            "generator": " ".join(system) or record.get("app_id"),
            **own_fields(opened(record.get("meta"))),
        }
        marks = [Mark(name, record.get(name), name, person=False) for name in feedback]
        told = opened(record.get("record_json"))
        failed = isinstance(told, Mapping) and told.get("main_error")
        yield Judged(record["record_id"], fields, marks, "output", failed, record.get("input"))


_SHAPE = shape("record_id")
TRULENS = Export("TruLens", "`session.get_records_and_feedback()[0]`, as CSV or JSON", _fits, _SHAPE, _read)
