"""Argilla: records of a data set, versions 1 and 2, as JSON, JSON lines or a table of ``datasets``.

Responses are people's, suggestions are scores of their ``agent``. Fields are those of ``Record.to_dict`` and
``Dataset.records.to_datasets`` of version 2, and of ``FeedbackRecord`` of version 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.kinds.explanations.data.exports.export import Export, Judged, Mark, flat, opened, own_fields

_ANSWERS, _USERS, _SUGGESTED = ".responses", ".responses.users", ".suggestion"


def _fits(record: Mapping[str, Any]) -> bool:
    nested = "fields" in record and ("responses" in record or "suggestions" in record)
    return nested or any(k.endswith((_USERS, "-suggestion")) for k in record)


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for n, record in enumerate(records):
        marks = [*(_nested(record) if "fields" in record else _columns(record))]
        metadata = opened(record.get("metadata"))
        if "fields" in record:
            fields = flat(record["fields"])
        else:
            asked = {m.aspect for m in marks}
            fields = {
                k: v
                for k, v in record.items()
                if isinstance(v, str)
                and k not in {"id", "status", "external_id", "metadata", "_server_id"}
                and not any(k.startswith((f"{a}.", f"{a}-")) or k == a for a in asked)
            }
        name = str(record.get("id") or record.get("external_id") or n)
        yield Judged(name, {**fields, **own_fields(metadata, record)}, marks)


def _nested(record: Mapping[str, Any]) -> Iterator[Mark]:
    given, suggested = record.get("responses") or {}, record.get("suggestions") or {}
    if isinstance(given, Mapping):  # version 2: by question
        for question, answers in given.items():
            for answer in answers:
                if answer.get("status", "submitted") == "submitted":
                    yield Mark(question, answer.get("value"), str(answer.get("user_id")), person=True)
    else:  # version 1: by person
        for answer in given:
            if answer.get("status", "submitted") == "submitted":
                for question, value in (answer.get("values") or {}).items():
                    yield Mark(question, value.get("value"), str(answer.get("user_id")), person=True)
    if isinstance(suggested, Mapping):
        for question, one in suggested.items():
            yield Mark(question, one.get("value"), str(one.get("agent") or "suggestion"), person=False)
    else:
        for one in suggested:
            agent = str(one.get("agent") or "suggestion")
            yield Mark(str(one.get("question_name")), one.get("value"), agent, person=False)


def _columns(record: Mapping[str, Any]) -> Iterator[Mark]:
    for column, cell in record.items():
        value = opened(cell)
        if column.endswith(_ANSWERS) and value:  # version 2
            question = column.removesuffix(_ANSWERS)
            states = opened(record.get(f"{column}.status")) or ["submitted"] * len(value)
            for answer, user, state in zip(value, opened(record[f"{question}{_USERS}"]), states, strict=True):
                if state == "submitted":
                    yield Mark(question, answer, str(user), person=True)
        elif column.endswith(_SUGGESTED):
            agent = str(record.get(f"{column}.agent") or "suggestion")
            yield Mark(column.removesuffix(_SUGGESTED), value, agent, person=False)
        elif column.endswith("-suggestion"):  # version 1
            question = column.removesuffix("-suggestion")
            more = opened(record.get(f"{column}-metadata")) or {}
            yield Mark(question, value, str(more.get("agent") or "suggestion"), person=False)
            for answer in opened(record.get(question)) or ():
                if answer.get("status", "submitted") == "submitted":
                    yield Mark(question, answer.get("value"), str(answer.get("user_id")), person=True)


ARGILLA = Export("Argilla", "`dataset.records.to_json(…)`, or `to_datasets()` as JSON or CSV", _fits, _read)
