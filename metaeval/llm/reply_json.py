"""What the JSON objects of a reply claim about the fields."""

from __future__ import annotations

import ast
import json
import re
import warnings
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from metaeval.llm.reply_words import MAY_HOLD_VALUE, UNCLEAR, whole_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from metaeval.llm.reply_words import Names, Value
    from metaeval.types import Scale

Claim: TypeAlias = "Callable[[str, Value], None]"

_SCORE_KEYS = frozenset(["score", "rating", "value", "answer", "评分", "得分", "分数", "打分"])
_NAME_KEYS = frozenset(["aspect", "name", "criterion", "dimension", "field", "方面", "维度", "指标"])
_LIST_KEYS = frozenset(["scores", "ratings", "values", "summary", "answer", "评分", "得分"])
_LOOKS_LIKE_JSON = re.compile(r"\{\s*(?:[\"'\n}]|$)|\[\s*\{")
_MARK = re.compile(r"\\.|[\"\[\]{}]", re.DOTALL)
_DEEPEST = 8  # objects within objects
_MOST_OPEN = 20  # brackets that are never closed, before the rest is taken for prose
_LARGEST = 1e15
_LONGEST = 50_000  # characters of an object; a longer one is no rating


@dataclass(frozen=True, slots=True)
class Found:
    """The JSON of a reply."""

    objects: tuple[object, ...]
    rest: str
    """The text without anything in braces."""
    cut_off: bool
    """Whether an object was begun and never ended."""


class Pairs(list[tuple[str, Any]]):
    """An object as its pairs: a key that stands twice must not hide the first value."""


def find_json(text: str) -> Found:
    """Split a reply into its JSON objects and the rest."""
    objects: list[object] = []
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
        rest.append(text[at:start])
        at = end
        value = _decoded(text[start:end])
        if value is not None:
            objects.append(value)
    rest.append(text[at:])
    return Found(tuple(objects), "\n".join(rest), cut_off)


def claim_json(value: object, names: Names, scale: Scale, claim: Claim, depth: int = 0) -> None:
    """Tell ``claim`` every field and value that a JSON value names."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Pairs):
        _claim_pairs(value, names, scale, claim, depth)
    elif isinstance(value, list):
        for item in value:
            claim_json(item, names, scale, claim, depth + 1)


def _claim_pairs(pairs: Pairs, names: Names, scale: Scale, claim: Claim, depth: int) -> None:
    direct = False
    for key, value in pairs:
        field = names.field(key)
        if field is not None:
            direct = True
            _claim_value(field, value, names, scale, claim)
        elif key.casefold() in _LIST_KEYS and _is_flat(value):
            _claim_list(value, names, scale, claim)
        else:
            claim_json(value, names, scale, claim, depth + 1)
    if not direct:
        _claim_entry(pairs, names, scale, claim)


def _is_flat(value: object) -> TypeGuard[list[object]]:
    return (
        isinstance(value, list)
        and not isinstance(value, Pairs)
        and not any(isinstance(v, list) for v in value)
    )


def _claim_list(values: list[object], names: Names, scale: Scale, claim: Claim) -> None:
    """Read ``"scores": [4, 3, 4, 4]``: in the order asked, if there are as many as were asked for."""
    in_order = len(values) == len(names.fields)
    for at, field in enumerate(names.fields):
        claim(field, _scalar(values[at], scale) if in_order else UNCLEAR)


def _claim_entry(pairs: Pairs, names: Names, scale: Scale, claim: Claim) -> None:
    """Read ``{"aspect": "clarity", "score": 4}``, or ``{"score": 4}`` where one field was asked for."""
    scores = [v for k, v in pairs if k.casefold() in _SCORE_KEYS and not isinstance(v, list)]
    labels = [v for k, v in pairs if k.casefold() in _NAME_KEYS]
    fields = [f for v in labels if isinstance(v, str) and (f := names.field(v)) is not None]
    if not labels and len(names.fields) == 1:
        fields = list(names.fields)
    if len(fields) == 1:
        for score in scores:
            claim(fields[0], _scalar(score, scale))


def _claim_value(field: str, value: object, names: Names, scale: Scale, claim: Claim) -> None:
    if isinstance(value, Pairs):
        # {"clarity": {"score": 4, "reason": …}}; one without a score describes the field (a schema), no more.
        for key, inner in value:
            if key.casefold() in _SCORE_KEYS or names.field(key) == field:
                claim(field, _scalar(inner, scale))
    elif isinstance(value, str) and not MAY_HOLD_VALUE.search(value):
        return  # a reason, or a word such as "high"
    else:
        claim(field, _scalar(value, scale))


def _scalar(value: object, scale: Scale) -> Value:
    match value:
        case bool():
            return UNCLEAR
        case int() | float():
            return float(value) if abs(value) < _LARGEST else inf
        case str():
            return whole_value(value, scale)
        case _:
            return UNCLEAR


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
    """Return the value of a JSON text, or of one with single quotes or a comma too many; else None."""
    if len(text) > _LONGEST:
        return None
    try:
        return json.loads(text, object_pairs_hook=Pairs, parse_constant=lambda _: None)  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an unknown escape in a text: read otherwise than it was meant
            return _plain(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, Warning):
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
