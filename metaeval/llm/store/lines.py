"""Read a file that `metaeval store export` wrote; errors name the line."""

from __future__ import annotations

import datetime as dt
import json
import math
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from metaeval.base.errors import MetaevalError
from metaeval.llm.calls.request import CallFailure, FailureKind, Reply, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Line: TypeAlias = "tuple[str, dict[str, Any], Reply, float]"
"""Key, fields of the request, reply, and when it came."""

_LONGEST = 64 * 2**20  # bytes of a line: a thousand times the longest reply of a model of today
_MOST_TRIES = 1000
_FIELDS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("text raw sent", lambda v: isinstance(v, str), "text"),
    ("finish_reason refusal model fingerprint", lambda v: isinstance(v, str | None), "text or null"),
    (
        "prompt_tokens completion_tokens cached_tokens",
        lambda v: v is None or (type(v) is int and 0 <= v < 2**63),
        "a count",
    ),
    ("queue_seconds service_seconds", lambda v: type(v) in (int, float) and math.isfinite(v), "a number"),
)
"""Names of fields of a reply, what they may hold, and the words for it."""


def lines_in(path: Path) -> Iterator[Line]:
    """Yield the replies in a file; raise `MetaevalError` at the first line that is no reply."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(_LONGEST):
            number += 1
            if len(line) == _LONGEST:
                raise MetaevalError(f"{path}, line {number}: is longer than {_LONGEST:,} bytes; no reply is")
            if line.strip():
                yield _line(line, f"{path}, line {number}")


def _line(line: bytes, where: str) -> Line:
    try:
        record = json.loads(line.decode("utf-8"), parse_constant=_refuse)
        request, key = record["request"], record["key"]
        if key != key_of(request):
            raise MetaevalError(f"{where}: the request was changed after it was sent; its key differs")
        _check_request(request)
        created = dt.datetime.fromisoformat(record["created"]).timestamp()
        _need(created >= 0, "created must be a time after 1970")
        reply = _reply(record["reply"])
    except UnicodeDecodeError as error:
        raise MetaevalError(f"{where}: is no text in UTF-8: {error.reason}") from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        why = " ".join(str(error).split())[:200]
        raise MetaevalError(
            f"{where}: this is no reply as `metaeval store export` writes it ({why})"
        ) from None
    return key, request, reply, created


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is no number in JSON")


def _check_request(request: dict[str, Any]) -> None:
    _need(isinstance(request["provider"], str) and isinstance(request["model"], str), "model must be text")
    _need(all(isinstance(part, str) for m in request["messages"] for part in m), "messages must be texts")
    for name in ("attempt", "replicate"):
        _need(type(request[name]) is int and 0 <= request[name] < _MOST_TRIES, f"{name} must be a number")


def _reply(said: dict[str, Any]) -> Reply:
    error = said["error"] and CallFailure(**said["error"])
    if error:
        _need(all(isinstance(part, str) for part in error), "the error must hold texts")
        _need(error.kind in get_args(FailureKind), f"{error.kind!r} is no kind of error")
    said = {"sent": "", **said}  # older files have none
    for names, fits, wanted in _FIELDS:
        for name in names.split():
            _need(fits(said[name]), f"{name} must be {wanted}")
    for given in (*said.values(), *(error or ())):
        if isinstance(given, str):
            given.encode()  # half of a surrogate pair is no text
    return Reply(**{**said, "error": error or None})


def _need(held: bool, otherwise: str) -> None:
    if not held:
        raise ValueError(otherwise)
