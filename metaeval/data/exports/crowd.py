"""What people answered one by one: batches of MTurk, and data sets of Prodigy and doccano.

A row is one person's: the worker's, the annotator's. The fields of a batch are its ``Input.*``, and numbers
among them are nobody's; the answers are its ``Answer.*``. Rejected assignments are left out. The choice among
options of a task of Prodigy is the rating, and the one label of an example of doccano.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.data.exports.export import (
    Export,
    Judged,
    Mark,
    named_numbers,
    own_fields,
)
from metaeval.data.exports.shape import opened, shape

_REJECTED = "assignments that were rejected"


def _of_batch(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    tasks: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        tasks.setdefault(record["HITId"], []).append(record)
    for task, rows in tasks.items():
        fields = rows[0]["Input"]
        kept = [row for row in rows if row.get("AssignmentStatus") != "Rejected"]
        marks = [
            Mark(name, value, str(row["WorkerId"]), person=True)
            for row in kept
            for name, answer in row["Answer"].items()
            for name, value in _answers(name, opened(answer))
        ]
        unread = [_REJECTED] * (len(rows) - len(kept))
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


def _of_prodigy(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    tasks: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        tasks.setdefault(record["_input_hash"], []).append(record)
    for task, rows in tasks.items():
        first = rows[0]
        fields = {
            k: v for k, v in first.items() if isinstance(v, str) and k != "answer" and not k.startswith("_")
        }
        marks = []
        for row in rows:
            who, chosen = row.get("_annotator_id") or row.get("_session_id"), opened(row.get("accept"))
            if row["answer"] != "ignore":
                one = chosen[0] if isinstance(chosen, list) and len(chosen) == 1 else None
                value = one if "options" in row else int(row["answer"] == "accept")
                marks.append(Mark("rating", value, str(who or "annotator"), True, named=bool(who)))
        meta = opened(first.get("meta"))
        yield Judged(task, {**fields, **own_fields(meta, first)}, marks)


def _of_doccano(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for record in records:
        chosen, meta = opened(record.get("label")), opened(record.get("meta"))
        chosen = chosen if isinstance(chosen, list) else [chosen]
        fields = {"text": record.get("text"), **own_fields(meta, record)}
        marks = [Mark("label", one, "annotator", person=True, named=False) for one in chosen]
        yield Judged(record["id"], fields, marks, "text")


MTURK = Export(
    *("MTurk", "the results of a batch, as CSV"),
    lambda record: {"HITId", "WorkerId", "AssignmentStatus"} <= record.keys(),
    shape("HITId", "WorkerId", Input=shape(), Answer=shape()),
    _of_batch,
)
PRODIGY = Export(
    *("Prodigy", "`prodigy db-out`, JSON lines"),
    lambda record: {"_input_hash", "_task_hash", "answer"} <= record.keys(),
    shape("_input_hash", "answer"),
    _of_prodigy,
)
DOCCANO = Export(
    *("doccano", "the examples of text classification, JSON lines"),
    lambda record: {"id", "text", "label", "Comments"} <= record.keys(),
    shape("id"),
    _of_doccano,
)
