"""The probabilities of the tokens of a reply that hold numbers: what is kept of them, and how it is read.

A server lists up to 20 alternatives for each token, some 2 kB. Kept is what an expectation needs
(`metaeval.judging.expectation`): the tokens with digits and those after them, with the
alternatives that could be part of a number.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_KEPT = "numbers"
_OF_NUMBERS = re.compile(r"[0-9.]")
_DIGIT = re.compile(r"[0-9]")


class Place(NamedTuple):
    """A token of a reply, and what might have stood there."""

    at: int
    """Where the token begins in the text; below 0 if before it."""
    token: str
    top: Mapping[str, float]
    """Token → logarithm of its probability: the token itself, and alternatives that hold digits or a dot."""
    other: float
    """Probability of all other alternatives that the server listed."""


def keep_numbers(choice: dict[str, Any], text: str) -> bool:
    """Replace the probabilities in a choice of a body by those of `Place`; say whether there were any.

    Parameters
    ----------
    choice
        Of a chat completion: its ``logprobs`` have ``content``, a token each.
    text
        The text of the reply. Where the tokens do not make it up, nothing is kept of them.
    """
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list):
        return False
    try:
        places = _places(content, text)
    except (ValueError, TypeError, KeyError, AttributeError):  # not as OpenAI sends them
        places = None
    choice["logprobs"] = {_KEPT: places}
    return True


def places_in(raw: str) -> list[Place] | None:
    """Return the places that are kept in a reply's body; None if the server sent none that can be used."""
    try:
        body = json.loads(raw)
        places = (body.get("output") or body)["choices"][0]["logprobs"][_KEPT]
        return None if places is None else [Place(*place) for place in places]
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None


def _places(content: list[Any], text: str) -> list[Place] | None:
    tokens = [_bytes(token) for token in content]
    begin = b"".join(tokens).rfind(text.encode())
    if not text or begin < 0:
        return None
    places, at, after = [], -begin, False
    for token, part in zip(content, tokens, strict=True):
        written = part.decode("utf-8", "replace")
        digits = _DIGIT.search(written) is not None
        if after or digits:
            places.append(_place(token, written, _characters(text, at)))
        after = digits
        at += len(part)
    return places


def _bytes(token: Mapping[str, Any]) -> bytes:
    """Return the bytes of a token: a character may be parted between two."""
    listed = token.get("bytes")
    return bytes(listed) if isinstance(listed, list) else str(token["token"]).encode()


def _characters(text: str, at: int) -> int:
    return at if at < 0 else len(text.encode()[:at].decode("utf-8", "ignore"))


def _place(token: Mapping[str, Any], written: str, at: int) -> Place:
    top: dict[str, float] = {}
    other = 0.0
    for name, logprob in _listed(token, written):
        if name == written or _OF_NUMBERS.search(name):
            top.setdefault(name, round(logprob, 6))
        else:
            other += math.exp(logprob)
    return Place(at, written, top, round(other, 6))


def _listed(token: Mapping[str, Any], written: str) -> Iterator[tuple[str, float]]:
    """Yield the alternatives with their logarithms, and the token itself, which may not be among them."""
    for one in [*(token.get("top_logprobs") or ()), {**token, "token": written}]:
        logprob = one.get("logprob")
        if isinstance(logprob, int | float) and math.isfinite(logprob):
            yield str(one["token"]), min(float(logprob), 0.0)
