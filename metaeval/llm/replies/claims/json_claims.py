"""The JSON objects of a reply, and the rest of it."""

from __future__ import annotations

import ast
import json
import re
import warnings
from dataclasses import dataclass
from typing import Any

from metaeval.llm.replies.beside import is_head, leads_here
from metaeval.llm.replies.words import FARTHEST

_SET_OFF = re.compile(r"[ `]*(?:$|\n|[.!。]|[A-Z\u3400-\u9fff])")
_LOOKS_LIKE_JSON = re.compile(r"\{\s*(?:[\"'\n}]|$)|\[\s*\{")
_MARK = re.compile(r"\\.|[\"\[\]{}]", re.DOTALL)
_LEAST = 60  # characters of braces that are no object, before they are left out
_MOST_OPEN = 10  # brackets that are never closed, before the rest is taken for prose

MOST_OBJECTS = 50
"""Objects in a reply, beyond which it is no rating."""


@dataclass(frozen=True, slots=True)
class Found:
    """The JSON of a reply."""

    objects: tuple[tuple[object, bool], ...]
    """Each with whether it is set off from the text around it as an answer."""
    rest: str
    """The text without objects."""
    cut_off: bool
    """Whether an object was begun and never ended."""


class Pairs(list[tuple[str, Any]]):
    """An object as its pairs: a key that stands twice must not hide the first value."""


def find_json(text: str) -> Found:
    """Split a reply into its JSON objects and the rest."""
    objects: list[tuple[object, bool]] = []
    rest: list[str] = []
    at, still_open, cut_off = 0, 0, False
    for match in re.finditer(r"[\[{]", text):
        start = match.start()
        if start < at or (text[start] == "[" and not _LOOKS_LIKE_JSON.match(text, start)):
            continue
        end = _end(text, start)
        if end is None:
            if _LOOKS_LIKE_JSON.match(text, start):
                cut_off = True
                break
            still_open += 1
            if still_open > _MOST_OPEN:
                break
            continue
        value = _decoded(text[start:end])
        if not isinstance(value, list) and end - start < _LEAST:
            continue  # no object: it stays beside the text around it
        rest.append(text[at:start])
        at = end
        if value is not None:
            objects.append((value, _is_set_off(text, start, end)))
        if len(objects) > MOST_OBJECTS:
            break
    rest.append(text[at:])
    return Found(tuple(objects), "\n".join(rest), cut_off)


def _is_set_off(text: str, start: int, end: int) -> bool:
    """Say whether the text around an object leaves it an answer; ``for example`` before it does not."""
    if not _SET_OFF.match(text, end, end + FARTHEST):
        return False
    before = text[max(0, start - FARTHEST) : start].rstrip(" \n`").removesuffix("```json").rstrip(" \n`")
    line = before[before.rfind("\n") + 1 :]
    same_line = "\n" not in text[max(0, start - FARTHEST) : start].rpartition(line)[2] if line else False
    if same_line:
        return line.endswith((":", "。", ".", "!")) and leads_here(line)
    ended = line.endswith((".", "!", "?", "。"))
    return leads_here(line) if is_head(line) or not ended else True


def _end(text: str, start: int) -> int | None:
    """Return where the bracket at ``start`` is closed; brackets within double quotes do not count."""
    depth, quoted = 0, False
    for match in _MARK.finditer(text, start):
        mark = match.group()
        if mark == '"':
            quoted = not quoted
        elif not quoted and mark in "[]{}":
            depth += 1 if mark in "[{" else -1
            if depth == 0:
                return match.end()
    return None


def _decoded(text: str) -> object | None:
    """Return the value of a JSON text, or of a Python literal that looks like one; else None."""
    try:
        return json.loads(text, object_pairs_hook=Pairs, parse_constant=lambda _: None)  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an unknown escape in a text: read otherwise than it was meant
            return _plain(ast.parse(text, mode="eval").body)
    # A TypeError: a set of sets.
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError, Warning):
        return None


def _plain(node: ast.expr) -> object:
    match node:
        case ast.Dict(keys=keys, values=values):
            return Pairs(
                (str(ast.literal_eval(k)), _plain(v))
                for k, v in zip(keys, values, strict=True)
                if k is not None
            )
        case ast.List(elts=items):
            return [_plain(i) for i in items]
        case _:
            value: object = ast.literal_eval(node)
            return value
