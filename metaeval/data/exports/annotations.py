"""Tools in which people annotate: Argilla, Label Studio, MTurk, Prodigy, doccano.

Argilla (versions 1 and 2): responses are people's, suggestions are scores of their ``agent``; fields are
those of ``Record.to_dict``, ``Dataset.records.to_datasets`` and ``FeedbackRecord``. Label Studio: annotations
are people's, predictions are scores of their ``model_version``. Of a batch of MTurk, a row is a worker's: its
fields are ``Input.*``, and numbers among them nobody's, its answers ``Answer.*``; rejected assignments are
left out. The choice among options of a task of Prodigy is the rating, and the one label of an example of
doccano.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.base.errors import DataError, shown
from metaeval.data.exports.export import OWN, Judged, Mark, Record, flat, has, named_numbers, own_fields, tool
from metaeval.data.exports.shape import opened, shape

_ANSWERS, _USERS, _SUGGESTED, _SUGGESTED_1 = ".responses", ".responses.users", ".suggestion", "-suggestion"
_NO_TEXTS = {"id", "status", "external_id", "metadata", "_server_id"}


def _argilla_record(given: dict[str, Any]) -> object:
    """Return a row of a table, which has its columns by question, as the record that it was."""
    if "fields" in given:
        return given
    answers: dict[str, Any] = {}
    suggestions: dict[str, Any] = {}
    for column, cell in given.items():
        if column.endswith(_ANSWERS):  # version 2
            parts = {"value": column, "user_id": f"{column}.users", "status": f"{column}.status"}
            cells = {part: opened(given[c]) for part, c in parts.items() if given.get(c) not in (None, "")}
            if len({len(cell) if isinstance(cell, list) else str(cell) for cell in cells.values()}) > 1:
                raise DataError(f"{column} must hold lists of one length in JSON, not {shown(cells)}")
            rows = zip(*cells.values(), strict=True)
            answers[column.removesuffix(_ANSWERS)] = [dict(zip(cells, row, strict=True)) for row in rows]
        elif column.endswith(_SUGGESTED):
            found = {"value": opened(cell), "agent": given.get(f"{column}.agent")}
            suggestions[column.removesuffix(_SUGGESTED)] = found
        elif column.endswith(_SUGGESTED_1):  # version 1
            question, about = column.removesuffix(_SUGGESTED_1), opened(given.get(f"{column}-metadata"))
            suggestions[question] = {**(about if isinstance(about, Mapping) else {}), "value": opened(cell)}
            answers[question] = opened(given.get(question)) or []
    asked = tuple(f"{question}{sign}" for question in {*answers, *suggestions} for sign in ".-")
    texts = {
        k: v
        for k, v in given.items()
        if isinstance(v, str) and not (k in _NO_TEXTS or k in answers or k.startswith(asked))
    }
    return {**given, "fields": texts, "responses": answers, "suggestions": suggestions}


def _is_of_argilla(record: Record) -> bool:
    nested = has("fields responses", "fields suggestions")(record)
    return nested or any(k.endswith((_USERS, _SUGGESTED_1)) for k in record)


@tool(
    "Argilla",
    "`dataset.records.to_json(…)`, or `to_datasets()` as JSON, CSV, Parquet or a folder",
    _is_of_argilla,
    shape(
        fields=shape(),
        responses=dict[str, list[shape()]] | list[shape(values=dict[str, shape()])],  # type: ignore[misc]
        suggestions=dict[str, shape()] | list[shape("question_name")],  # type: ignore[misc]
    ),
    first=_argilla_record,
)
def argilla(records: Sequence[Record]) -> Iterator[Judged]:
    """Read records of version 2, by question, or 1, by person."""
    for n, record in enumerate(records):
        fields = {**flat(record["fields"]), **own_fields(opened(record.get("metadata")), record)}
        name = str(record.get("id") or record.get("external_id") or n)
        yield Judged(name, fields, [*_argilla_marks(record)])


def _argilla_marks(record: Record) -> Iterator[Mark]:
    given, suggested = record["responses"], record["suggestions"]
    if isinstance(given, Mapping):  # version 2: by question
        answers = [(question, one, one) for question, ones in given.items() for one in ones]
    else:  # version 1: by person
        answers = [(question, one, by) for by in given for question, one in by["values"].items()]
    for question, one, by in answers:
        if by.get("status", "submitted") == "submitted":
            yield Mark.by(by.get("user_id"), "annotator", question, one.get("value"), person=True)
    if isinstance(suggested, Mapping):
        suggested = [{**one, "question_name": question} for question, one in suggested.items()]
    for one in suggested:
        yield Mark.by(one.get("agent"), "suggestion", one["question_name"], one.get("value"))


_ASKED = ("rating", "number", "choices")
_TASK = {"id", "data", "annotations", "predictions"}
_MIN = {"annotation_id", "annotator", "created_at", "updated_at", "lead_time", *_TASK}
_IDS = (
    "predictions of models, of which this export has the ids alone; a snapshot holds them: POST "
    '/api/projects/ID/exports with {"serialization_options": {"predictions": {"only_id": false}}}'
)


_GIVEN = shape(result=[shape(value=shape())])


@tool(
    "Label Studio",
    "Export → JSON, JSON-MIN, CSV or TSV",
    has("data annotations", "annotation_id annotator"),
    shape("id", data=shape(), annotations=[_GIVEN], predictions=[_GIVEN | int]),
)
def label_studio(records: Sequence[Record]) -> Iterator[Judged]:
    """Read tasks, or a row per annotation."""
    if "annotation_id" in records[0]:
        yield from _of_rows(records)
        return
    for record in records:
        marks: list[Mark] = []
        for annotation in record["annotations"]:
            if not annotation.get("was_cancelled"):
                by = annotation.get("completed_by")
                marks += _results(annotation, by.get("email") or by.get("id") if isinstance(by, dict) else by)
        whole = [prediction for prediction in record["predictions"] if isinstance(prediction, Mapping)]
        for prediction in whole:
            marks += _results(prediction, prediction.get("model_version"), person=False)
        fields = {**flat(record["data"]), **own_fields(record["data"], record.get("meta"))}
        yield Judged(record["id"], fields, marks, unread=[_IDS] * (len(whole) < len(record["predictions"])))


def _results(given: Record, name: object, *, person: bool = True) -> Iterator[Mark]:
    for result in given["result"]:
        if (kind := result.get("type")) in _ASKED:
            aspect, value = str(result.get("from_name", kind)), _plain(result["value"].get(kind))
            yield Mark.by(name, "annotator" if person else "prediction", aspect, value, person=person)


def _plain(value: object) -> object:
    """Return one choice, or the number of one rating; None of several."""
    value = opened(value)
    if isinstance(value, list):
        return _plain(value[0]) if len(value) == 1 else None
    if isinstance(value, Mapping):
        return next((value[kind] for kind in _ASKED if kind in value), None)
    return value


def _of_rows(records: Sequence[Record]) -> Iterator[Judged]:
    """Read a row per annotation: what differs by annotation within a task was asked, or has the form of it.

    Other numbers may be of the task: nobody's.
    """
    tasks = _by("id", records)
    columns = [c for c in dict.fromkeys(c for r in records for c in r) if c not in _MIN and c not in OWN]
    asked = [
        c
        for c in columns
        if any(len({str(r.get(c)) for r in rows}) > 1 for rows in tasks.values())
        or any(isinstance(opened(r.get(c)), list | dict) and _plain(r.get(c)) is not None for r in records)
    ]
    for task, rows in tasks.items():
        marks = [
            Mark.by(r.get("annotator"), "annotator", c, _plain(r.get(c)), person=True)
            for r in rows
            for c in asked
        ]
        fields = {c: v for c, v in rows[0].items() if c not in {*_MIN, *asked} and isinstance(v, str | int)}
        yield Judged(task, fields, [*marks, *named_numbers(fields)])


def _by(key: str, records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return the records that have one value of a key."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record[key], []).append(record)
    return found


@tool(
    "MTurk",
    "the results of a batch, as CSV",
    has("HITId WorkerId AssignmentStatus"),
    shape("HITId", "WorkerId", Input=shape(), Answer=shape()),
)
def mturk(records: Sequence[Record]) -> Iterator[Judged]:
    """Read a batch, a row per worker and task."""
    for task, rows in _by("HITId", records).items():
        fields = rows[0]["Input"]
        kept = [row for row in rows if row.get("AssignmentStatus") != "Rejected"]
        marks = [
            Mark(name, value, str(row["WorkerId"]), person=True)
            for row in kept
            for name, answer in row["Answer"].items()
            for name, value in _answers(name, opened(answer))
        ]
        unread = ["assignments that were rejected"] * (len(rows) - len(kept))
        yield Judged(task, fields, [*marks, *named_numbers(fields)], unread=unread)


def _answers(name: str, answer: object) -> Iterator[tuple[str, object]]:
    """Yield names and values of an answer: of `taskAnswers` each, and of options the one that is on."""
    if isinstance(answer, list) and answer and isinstance(answer[0], Mapping):
        for inner, value in answer[0].items():
            yield from _answers(inner, value)
    elif isinstance(answer, Mapping):
        on = [option for option, value in answer.items() if value is True]
        yield name, on[0] if len(on) == 1 else None
    else:
        yield name, answer


@tool(
    "Prodigy",
    "`prodigy db-out`, JSON lines",
    has("_input_hash _task_hash answer"),
    shape("_input_hash", "answer"),
)
def prodigy(records: Sequence[Record]) -> Iterator[Judged]:
    """Read a row per task and annotator."""
    for task, rows in _by("_input_hash", records).items():
        first = rows[0]
        fields = {k: v for k, v in first.items() if isinstance(v, str) and k != "answer" and k[:1] != "_"}
        marks = []
        for row in rows:
            who, chosen = row.get("_annotator_id") or row.get("_session_id"), opened(row.get("accept"))
            if row["answer"] != "ignore":
                one = chosen[0] if isinstance(chosen, list) and len(chosen) == 1 else None
                value = one if "options" in row else int(row["answer"] == "accept")
                marks.append(Mark.by(who, "annotator", "rating", value, person=True))
        yield Judged(task, {**fields, **own_fields(opened(first.get("meta")), first)}, marks)


@tool(
    "doccano", "the examples of text classification, JSON lines", has("id text label Comments"), shape("id")
)
def doccano(records: Sequence[Record]) -> Iterator[Judged]:
    """Read examples with their labels."""
    for record in records:
        chosen, meta = opened(record.get("label")), opened(record.get("meta"))
        chosen = chosen if isinstance(chosen, list) else [chosen]
        fields = {"text": record.get("text"), **own_fields(meta, record)}
        marks = [Mark.by(None, "annotator", "label", one, person=True) for one in chosen]
        yield Judged(record["id"], fields, marks, "text")
