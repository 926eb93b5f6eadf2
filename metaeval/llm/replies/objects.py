"""Replies in JSON: the object that has every key that was asked for is the answer.

What its texts say is text. Fences and prose may stand before it. It ends its line, but for a sentence without
a value on the scale and without a word of a choice. Several such objects must be equal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from metaeval.llm.replies.fields import (
    BLANKS,
    Choice,
    Field,
    Given,
    Names,
    Number,
    Text,
    names_any,
    number_of,
    numbers_in,
    tidy,
    whole_value,
)

Answer: TypeAlias = "dict[str, Given | None]"  # None: not valid

_ENTRY = ("aspect", "criterion", "dimension", "metric", "name")
"""Keys of ``[{"aspect": "clarity", "score": 4}]`` that name a field."""
_OPEN = re.compile(r"[\[{](?=\s*[\[{\"'\]}])")
_COMMA = re.compile(r",(?=\s*[}\]])")


def find_answers(text: str, fields: Sequence[Field], names: Names) -> tuple[list[Answer], str]:
    """Return the answers in JSON, and the text without any JSON."""
    answers: list[Answer] = []
    rest: list[str] = []
    at = 0
    seen = text if text.isascii() else text.translate(BLANKS)
    for _, match in zip(range(50), _OPEN.finditer(seen), strict=False):
        if match.start() < at:
            continue
        value, end = _decoded(text, seen, match.start())
        if isinstance(value, dict | list) and any(True for _ in _objects(value)):
            rest.append(text[at : match.start()])
            at = end
            answers += _answers(value, fields, names) if _ends(seen, end, fields) else ()
    return answers, "".join([*rest, text[at:]])


def _ends(text: str, at: int, fields: Sequence[Field]) -> bool:
    """Say whether a line ends here, or goes on with a sentence of its own that gives no value."""
    said = text[at:].partition("\n")[0].strip(" `.。!)*")
    if not said:
        return True
    numbers = [number_of(match["number"]) for match in numbers_in(tidy(said))]
    scales = [field.scale for field in fields if isinstance(field, Number)]
    rates = any(scale.min <= number <= scale.max for number in numbers for scale in scales)
    chooses = any(field.named_in(said) for field in fields if isinstance(field, Choice))
    return said[0].isalpha() and said[0] == said[0].upper() and not rates and not chooses


def _decoded(text: str, seen: str, start: int) -> tuple[object, int]:
    """Return the value of JSON, also with unseen marks, single quotes or a comma too many, and its end."""
    for said in _mended(text, seen):
        try:
            return _DECODER.raw_decode(said, start)
        except (ValueError, RecursionError):
            continue
    return None, start


def _mended(text: str, seen: str) -> Iterator[str]:
    yield text
    plain = _COMMA.sub(" ", seen)
    yield plain
    yield plain.replace("'", '"')


def _keyed_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; a key that stands twice with two values has none."""
    last = dict(pairs)
    return last | {key: None for key, value in pairs if value != last[key]}


_DECODER = json.JSONDecoder(object_pairs_hook=_keyed_once, parse_constant=lambda _: None, strict=False)


def _objects(value: object, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield an object and those in it; the entries of a list that name fields as one object."""
    if depth > 8:
        return
    if isinstance(value, dict):
        yield value
        inner = list(value.values())
    else:
        inner = value if isinstance(value, list) else []
        if entries := [v for v in inner if isinstance(v, dict)]:
            yield {str(v[key]): v for v in entries for key in _ENTRY if key in v}
    for each in inner:
        yield from _objects(each, depth + 1)


def _answers(value: object, fields: Sequence[Field], names: Names) -> Iterator[Answer]:
    """Yield the answer of each object that has every key."""
    for depth, found in enumerate(_objects(value)):
        given: dict[str, Any] = {}
        for key, inner in found.items():
            if field := names.field(str(key)):
                given[field] = inner if field not in given or given[field] == inner else None
        only = fields[0]
        if not given and len(fields) == 1 and isinstance(only, Number) and depth == 0:
            given = {only.name: score} if (score := _score(found, names, only)) is not None else {}
        if all(f.name in given or (isinstance(f, Text) and not f.required) for f in fields):
            yield {f.name: valid(f, given.get(f.name), names) for f in fields}
            return


def _score(value: dict[str, Any], names: Names, field: Number) -> object:
    """Return what an object has under ``score``, ``rating``, …; None if that is about something else."""
    scores = [v for key, v in value.items() if names_any(key) or names.field(key) == field.name]
    about = [names.field(value[key]) for key in _ENTRY if isinstance(value.get(key), str)]
    tops = [v for v in value.values() if isinstance(v, int | float) and v > field.scale.max]
    return scores[0] if len(scores) == 1 and set(about) <= {field.name} and tops in ([], scores) else None


def valid(field: Field, value: object, names: Names) -> Given | None:
    """Return what a value means for a field, or None if it is not valid."""
    match field:
        case Text():
            return field.given(value)
        case Choice():
            return field.chosen(value)
        case Number():
            value = _score(value, names, field) if isinstance(value, dict) else value
            if isinstance(value, str):
                return whole_value(value, field.scale)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return float(value) if is_number and abs(value) < 1e15 else None  # type: ignore[arg-type]
