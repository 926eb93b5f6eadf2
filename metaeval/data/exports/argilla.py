"""Argilla: records of a data set, versions 1 and 2, as JSON, JSON lines or a table of ``datasets``.

Responses are people's, suggestions are scores of their ``agent``. Fields are those of ``Record.to_dict`` and
``Dataset.records.to_datasets`` of version 2, and of ``FeedbackRecord`` of version 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metaeval.base.errors import DataError, shown
from metaeval.data.exports.export import Export, Judged, Mark, flat, own_fields
from metaeval.data.exports.shape import opened, shape

_ANSWERS, _USERS, _SUGGESTED, _SUGGESTED_1 = ".responses", ".responses.users", ".suggestion", "-suggestion"
_NO_TEXTS = {"id", "status", "external_id", "metadata", "_server_id"}


def _nested(given: dict[str, Any]) -> object:
    """Return a row of a table, which has its columns by question, as the record that it was."""
    if "fields" in given:
        return given
    answers: dict[str, Any] = {}
    suggestions: dict[str, Any] = {}
    for column, cell in given.items():
        if column.endswith(_ANSWERS):  # version 2
            parts = {"value": column, "user_id": f"{column}.users", "status": f"{column}.status"}
            cells = {part: opened(given[c]) for part, c in parts.items() if given.get(c) not in (None, "")}
            answers[column.removesuffix(_ANSWERS)] = _rows(column, cells)
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


def _rows(column: str, cells: Mapping[str, Any]) -> list[dict[str, Any]]:
    if len({len(cell) if isinstance(cell, list) else str(cell) for cell in cells.values()}) > 1:
        raise DataError(f"{column} must hold lists of one length in JSON, not {shown(dict(cells))}")
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


_SUGGESTED_ONE = shape("question_name")
_SHAPE = shape(
    fields=shape(),
    responses=dict[str, list[shape()]] | list[shape(values=dict[str, shape()])],  # type: ignore[misc]
    suggestions=dict[str, shape()] | list[_SUGGESTED_ONE],  # type: ignore[misc, valid-type]
)


def _fits(record: Mapping[str, Any]) -> bool:
    nested = "fields" in record and ("responses" in record or "suggestions" in record)
    return nested or any(k.endswith((_USERS, _SUGGESTED_1)) for k in record)


def _read(records: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    for n, record in enumerate(records):
        fields = {**flat(record["fields"]), **own_fields(opened(record.get("metadata")), record)}
        name = str(record.get("id") or record.get("external_id") or n)
        yield Judged(name, fields, [*_marks(record)])


def _marks(record: Mapping[str, Any]) -> Iterator[Mark]:
    given, suggested = record["responses"], record["suggestions"]
    if isinstance(given, Mapping):  # version 2: by question
        answers = [(question, one, one) for question, ones in given.items() for one in ones]
    else:  # version 1: by person
        answers = [(question, one, by) for by in given for question, one in by["values"].items()]
    for question, one, by in answers:
        if by.get("status", "submitted") == "submitted":
            who = by.get("user_id")
            yield Mark(question, one.get("value"), str(who or "annotator"), True, named=bool(who))
    if isinstance(suggested, Mapping):
        suggested = [{**one, "question_name": question} for question, one in suggested.items()]
    for one in suggested:
        agent, question = one.get("agent"), one["question_name"]
        yield Mark(question, one.get("value"), str(agent or "suggestion"), False, named=bool(agent))


ARGILLA = Export(
    *(
        "Argilla",
        "`dataset.records.to_json(…)`, or `to_datasets()` as JSON, CSV, Parquet or a folder",
        _fits,
        _SHAPE,
        _read,
    ),
    first=_nested,
)
