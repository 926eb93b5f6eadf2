"""What a model's server takes: a parameter that it refuses is met once, and then renamed or left out.

Most servers that speak OpenAI's language refuse some of it: reasoning models take no ``temperature``, and
their limit is called ``max_completion_tokens``; some take no JSON schema. Nothing is known of a server before
it is asked: the first request with some settings goes alone, and what is refused is changed for all that
follow. A refusal is an error that names a parameter; its other words are not read.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import re
import threading
import time
from asyncio import sleep
from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from metaeval.base.errors import MetaevalError
from metaeval.llm.calls.client import CallError, RejectedError
from metaeval.llm.calls.request import BY_BATCH, Reply, Request

Changes: TypeAlias = "Mapping[str, str | None]"
"""Parameter → what is sent instead: another name, for ``response_format`` another type; None for nothing."""

FORMAT = "response_format"
_LADDERS: Mapping[str, tuple[str | None, ...]] = {
    "temperature": (None,),
    "top_p": (None,),
    "seed": (None,),
    "max_tokens": ("max_completion_tokens",),  # without a limit no budget could be kept
    FORMAT: ("json_object", None),
    "logprobs": (None,),
    "top_logprobs": (None,),
}
"""What may be refused → what is tried instead, in turn."""
_FORMAT_NAMES = r"response[_ ]?format|json[_ ]?(?:schema|object|mode)|grammar"  # servers make one of a schema
_REFUSALS = (400, 403, 422, 500)  # OpenAI's for probabilities is 403, that of some servers of one's own 500
_HOLD = 10.0  # seconds; a server that refuses a parameter says so before it generates anything
_LOOK_AGAIN = 0.01  # seconds
_LONGEST_WORDS = 160  # characters of what a server said

_log = logging.getLogger("metaeval")


class RequestVariant(NamedTuple):
    """A request as it is sent, and what of it was changed."""

    request: Request
    changes: Changes = MappingProxyType({})


class Terms:
    """What the server of one model is known to take.

    Parameters
    ----------
    json_object
        Whether a schema is asked for as ``json_object`` from the start.
    """

    def __init__(self, *, json_object: bool = False) -> None:
        self._ladders = {**_LADDERS, FORMAT: (None,)} if json_object else _LADDERS
        self._changes: dict[str, str | None] = {}
        self._answered: set[str] = set()  # settings
        self._variants: dict[tuple[str, frozenset[str]], RequestVariant] = {}
        self._first = threading.Lock()  # judges may ask in several event loops

    @contextlib.asynccontextmanager
    async def turn(self, request: Request) -> AsyncIterator[RequestVariant]:
        """Wait while another request finds out what is taken; yield what to send."""
        alone = False
        if request.address and request.settings not in self._answered:
            until = time.monotonic() + _HOLD
            while not (alone := self._first.acquire(blocking=False)) and time.monotonic() < until:
                await sleep(_LOOK_AGAIN)
                if request.settings in self._answered:
                    break
        try:
            yield self.variant(request)
        finally:
            if alone:
                self._first.release()

    def answered(self, request: Request) -> None:
        """Note that a request was answered, so that its settings are taken."""
        self._answered.add(request.settings)

    @property
    def changes(self) -> Changes:
        """What is sent instead of what, as far as it is known."""
        return dict(self._changes)

    def know(self, changes: Changes) -> None:
        """Take over changes that were found out before."""
        for name, to in changes.items():
            self._changes.setdefault(name, to)
        self._variants.clear()

    def learn(self, request: Request, failure: Reply) -> bool:
        """Learn from a kept failure, as `refused` does; say whether the request is now sent otherwise."""
        error, before = failure.error, changes_in(failure.sent)
        if error is None or error.kind != "rejected":
            return False
        self.know(before)
        variant = self.variant(request)
        if variant.changes == before:  # else more is known than it could teach
            rejected = RejectedError(error.message, error.code)
            rejected.status = _REFUSALS[0]
            self.refused(request, variant, rejected)
        return self.variant(request).changes != before

    def refused(self, request: Request, variant: RequestVariant, error: CallError) -> bool:
        """Say whether an error refuses parameters, and note what is sent instead from now on.

        Raises
        ------
        MetaevalError
            If nothing is left to be tried, and the request states the parameters.
        """
        # What was answered before is taken: an error that names it is about something else.
        if error.status not in _REFUSALS or error.too_long or request.settings in self._answered:
            return False
        steps: dict[str, str | None] = {}
        for name in _sent(variant):
            left = [to for to in self._left(name, variant) if to not in variant.request.parameters]
            if left and _names(name, variant.changes, f"{error.param} {error}"):
                steps[name] = left[0]
        free = [name for name, to in steps.items() if to is not None or name not in request.stated]
        if steps and not free:
            raise _stop(request, next(iter(steps)), str(error))
        for name in free:
            if self._changes.get(name, "") == variant.changes.get(name, ""):  # else it is known by now
                self._changes[name] = steps[name]
                _log.warning("metaeval: %s", _warning(request, name, steps[name], str(error)))
        self._variants.clear()
        return bool(steps)

    def _left(self, name: str, variant: RequestVariant) -> tuple[str | None, ...]:
        """Return what was not tried yet instead of a parameter."""
        ladder = self._ladders[name]
        return ladder[ladder.index(variant.changes[name]) + 1 :] if name in variant.changes else ladder

    def variant(self, request: Request) -> RequestVariant:
        """Return what to send for a request, as far as it is known what is taken."""
        if not self._changes:
            return RequestVariant(request)
        key = (request.settings, request.stated)
        if key not in self._variants:
            self._variants[key] = self._changed(request)
        changed, changes = self._variants[key]
        return RequestVariant(changed.asking(request.messages) if changes else request, changes)

    def _changed(self, request: Request) -> RequestVariant:
        parameters, schema = dict(request.parameters), request.schema
        made: dict[str, str | None] = {}
        for name in _sent(RequestVariant(request)):
            to = self._changes.get(name, name)
            if to is None and name in request.stated:  # another value may be taken, or a JSON object
                to = next((other for other in self._ladders[name] if other is not None), name)
            if to == name:
                continue
            made[name], value = to, parameters.pop(name, None)
            if name == FORMAT:
                schema, value = None, {"type": to}
            if to is not None:
                parameters[FORMAT if name == FORMAT else to] = value
        return RequestVariant(dataclasses.replace(request, parameters=parameters, schema=schema), made)


def changes_in(sent: str) -> Changes:
    """Return the changes that a reply's ``sent`` tells of."""
    changes: Changes = json.loads(sent) if sent else {}
    return changes


def check_stated(request: Request, sent: str) -> None:
    """Raise `MetaevalError` if a kept reply was asked for without a setting that the request states."""
    for name, to in changes_in(sent).items():
        if to is None and name in request.stated:
            raise _stop(request, name)


def phrases(sent: str) -> list[str]:
    """Return what a reply's ``sent`` tells of the server: phrases such as ``without temperature``."""
    return [_phrase(name, to) for name, to in changes_in(sent).items() if (name, to) not in BY_BATCH.items()]


def _phrase(name: str, to: str | None) -> str:
    if to is None:
        return f"without {name}"
    return f"{name} of type {to}" if name == FORMAT else f"{name} as {to}"


def _sent(variant: RequestVariant) -> list[str]:
    """Return what is sent of all that may be refused, as the request calls it."""
    request, changes = variant
    names = {*request.parameters, *([FORMAT] if request.schema is not None else ())}
    return [name for name in _LADDERS if name in names or changes.get(name) in names]


def _names(name: str, changes: Changes, said: str) -> bool:
    """Say whether a text names a parameter, as it was sent."""
    spelled = _FORMAT_NAMES if name == FORMAT else re.escape(changes.get(name) or name)
    return re.search(rf"(?<!\w)(?:{spelled})(?!\w)", said, re.IGNORECASE) is not None


def _warning(request: Request, name: str, to: str | None, words: str) -> str:
    return f"{request.name} refuses {name} ({_short(words)}); from now on it is asked: {_phrase(name, to)}"


def _stop(request: Request, name: str, words: str = "") -> MetaevalError:
    model, why = request.name, f" ({_short(words)})" if words else ""
    if name == FORMAT:
        message = f"takes no {FORMAT}{why}, and reply='json' is asked for; write reply='auto' or reply='text'"
    elif name in ("logprobs", "top_logprobs"):
        message = (
            f"takes no {name}{why}, and expected=True needs it; leave expected out, or name another model"
        )
    else:
        message = (
            f"does not take {name}={request.parameters.get(name)!r}{why}, which the study asks for; leave "
            f"{name} out, write {name}: null with the model, or name another model"
        )
    return MetaevalError(f"{model} {message}")


def _short(text: str) -> str:
    text = text.rstrip(".")
    return text if len(text) <= _LONGEST_WORDS else f"{text[: _LONGEST_WORDS - 1]}…"
