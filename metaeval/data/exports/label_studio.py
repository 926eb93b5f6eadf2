"""Label Studio: the exports JSON, JSON-MIN, CSV and TSV.

Annotations are people's, predictions are scores of their ``model_version``. Fields are those of the export
formats in Label Studio's documentation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.data.exports.export import (
    OWN,
    Export,
    Judged,
    Mark,
    flat,
    named_numbers,
    own_fields,
)
from metaeval.data.exports.shape import opened, shape

_ASKED = ("rating", "number", "choices")
_TASK = {"id", "data", "annotations", "predictions"}
_MIN = {"annotation_id", "annotator", "created_at", "updated_at", "lead_time", *_TASK}

_IDS = (
    "predictions of models, of which this export has the ids alone; a snapshot holds them: POST "
    '/api/projects/ID/exports with {"serialization_options": {"predictions": {"only_id": false}}}'
)
_GIVEN = shape(result=[shape(value=shape())])
_SHAPE = shape("id", data=shape(), annotations=[_GIVEN], predictions=[_GIVEN | int])


def _fits(record: Mapping[str, Any]) -> bool:
    return {"data", "annotations"} <= record.keys() or {"annotation_id", "annotator"} <= record.keys()


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    if "annotation_id" in records[0]:
        yield from _read_min(records)
        return
    for record in records:
        marks: list[Mark] = []
        for annotation in record["annotations"]:
            if not annotation.get("was_cancelled"):
                by = annotation.get("completed_by")
                marks += _results(annotation, by.get("email") or by.get("id") if isinstance(by, dict) else by)
        for prediction in record["predictions"]:
            if isinstance(prediction, Mapping):
                marks += _results(prediction, prediction.get("model_version"), person=False)
        fields = {**flat(record["data"]), **own_fields(record["data"], record.get("meta"))}
        ids = any(not isinstance(prediction, Mapping) for prediction in record["predictions"])
        yield Judged(record["id"], fields, marks, unread=[_IDS] if ids else [])


def _results(given: Mapping[str, Any], name: object, *, person: bool = True) -> Iterator[Mark]:
    who = str(name or ("annotator" if person else "prediction"))
    for result in given["result"]:
        if (kind := result.get("type")) in _ASKED:
            value = _plain(result["value"].get(kind))
            yield Mark(str(result.get("from_name", kind)), value, who, person, named=bool(name))


def _plain(value: object) -> object:
    """Return one choice, or the number of one rating; None of several."""
    value = opened(value)
    if isinstance(value, list):
        return _plain(value[0]) if len(value) == 1 else None
    if isinstance(value, Mapping):
        return next((value[kind] for kind in _ASKED if kind in value), None)
    return value


def _read_min(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    """Read a row per annotation: what differs by annotation within a task was asked, or has the form of it.

    Other numbers may be of the task: nobody's.
    """
    tasks: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        tasks.setdefault(record["id"], []).append(record)
    columns = [c for c in dict.fromkeys(c for r in records for c in r) if c not in _MIN and c not in OWN]
    asked = [
        c
        for c in columns
        if any(len({str(r.get(c)) for r in rows}) > 1 for rows in tasks.values())
        or any(isinstance(opened(r.get(c)), list | dict) and _plain(r.get(c)) is not None for r in records)
    ]
    for task, rows in tasks.items():
        marks = [
            Mark(c, _plain(r.get(c)), str(r.get("annotator", "annotator")), True, named="annotator" in r)
            for r in rows
            for c in asked
        ]
        fields = {c: v for c, v in rows[0].items() if c not in {*_MIN, *asked} and isinstance(v, str | int)}
        yield Judged(task, fields, [*marks, *named_numbers(fields)])


LABEL_STUDIO = Export("Label Studio", "Export → JSON, JSON-MIN, CSV or TSV", _fits, _SHAPE, _read)
