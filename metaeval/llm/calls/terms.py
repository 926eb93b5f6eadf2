"""What a model's server takes: a parameter that it refuses is met once, and then renamed or left out.

Most servers that speak OpenAI's language refuse some of it: reasoning models take no ``temperature``, and
their limit is called ``max_completion_tokens``; some take no JSON schema. Nothing is known of a server before
it is asked: the first request with some settings goes alone, and what is refused is changed for all that
follow.
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
from metaeval.llm.calls.client import CallError, DeniedError, RejectedError, RetryableError
from metaeval.llm.calls.request import BY_BATCH, Reply, Request, canonical

Changes: TypeAlias = "Mapping[str, str | None]"
"""Parameter → what is sent instead: another name, for ``response_format`` another type; None for nothing."""

FORMAT, LIMIT = "response_format", "max_tokens"
_INSTEAD = {LIMIT: "max_completion_tokens", FORMAT: "json_object"}
"""What is tried before a parameter is left out: it asks for the same."""
_PROBABILITIES = ("logprobs", "top_logprobs")
_HOLD = 10.0  # seconds; a server that refuses a parameter says so before it generates anything
_LOOK_AGAIN = 0.01  # seconds
_LONGEST_WORDS = 160  # characters of what a server said

_REFUSES = re.compile(
    r"unsupported|n[o']t support|unknown|unrecogni[sz]ed|not recogni[sz]ed|unexpected|not permitted"
    r"|not allowed|unavailable|not available|invalid|cannot find|must be one of|deprecated"
    r"|(?:cannot (?:both )?|may only )be (?:set|specified)|extra (?:input|field)|fail\w* to parse"
    r"|must contain the word|input should be",
    re.IGNORECASE,
)
_BOUNDS = re.compile(
    r"too (?:large|long|big|high|small|low|many)|at (?:most|least)|(?:max|min)imum|exceed|(?:great|less)er"
    r" than|\brange\b|\bbetween\b",
    re.IGNORECASE,
)
"""The parameter is taken, this value of it is not: that is for the user to change."""
_BROKEN = 500  # the status of servers that fail at what they do not take
_FORMAT_NAME = re.compile(r"response[_ ]?format|json[_ ]?schema", re.IGNORECASE)
_FORMAT_WORDS = rf"{_FORMAT_NAME.pattern}|json[_ ]?object|json (?:mode|output)|grammar|structured output"

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
        self._changes: dict[str, str | None] = {}
        self._last = {FORMAT} if json_object else set[str]()  # nothing is left to be tried instead of these
        self._taken: set[str] = set()  # settings that were answered
        self._refused: set[tuple[str, str]] = set()  # parameters with their values
        self._frames: dict[tuple[str, frozenset[str]], RequestVariant] = {}
        self._first = threading.Lock()  # judges may ask in several event loops

    @contextlib.asynccontextmanager
    async def turn(self, request: Request) -> AsyncIterator[RequestVariant]:
        """Wait while another request finds out what is taken; yield what to send.

        Raises
        ------
        MetaevalError
            If the request states a setting that is refused.
        """
        held = False
        if request.address and request.settings not in self._taken:
            until = time.monotonic() + _HOLD
            while not (held := self._first.acquire(blocking=False)) and time.monotonic() < until:
                await sleep(_LOOK_AGAIN)
                if request.settings in self._taken:
                    break
        try:
            yield self.variant(request)
        finally:
            if held:
                self._first.release()

    def answered(self, request: Request) -> None:
        """Note that a request was answered, so that its settings are taken."""
        self._taken.add(request.settings)

    @property
    def changes(self) -> Changes:
        """What is sent instead of what, as far as it is known."""
        return dict(self._changes)

    def know(self, changes: Changes) -> None:
        """Take over changes that were found out before."""
        for name, to in changes.items():
            self._changes.setdefault(name, to)
        self._frames.clear()

    def learn(self, request: Request, failure: Reply) -> bool:
        """Learn from a kept failure, as `refused` does; say whether the request is now sent otherwise."""
        error, before = failure.error, changes_in(failure.sent)
        if error is None or error.kind != "rejected":
            return False
        self.know(before)
        variant = self.variant(request)
        if variant.changes == before:  # else more is known than it could teach
            self.refused(request, variant, RejectedError(error.message, error.code))
        return self.variant(request).changes != before

    def refused(self, request: Request, variant: RequestVariant, error: CallError) -> bool:
        """Say whether an error refuses parameters that were not known to be refused, and note them.

        Raises
        ------
        MetaevalError
            If the request states each of them.
        """
        if error.sent or error.too_long or error.code == "connect":
            return False
        if isinstance(error, DeniedError) and _PROBABILITIES[0] not in str(error):
            return False  # OpenAI answers 403 where a model may not be asked for these
        if isinstance(error, RetryableError) and error.retry_after is not None:
            return False
        text = str(error)
        meant = {FORMAT} if self._is_of_format(request, error) else set[str]()
        if _REFUSES.search(text) and not _BOUNDS.search(text):
            meant.update(_sent(variant))
        named = [name for name in _sent(variant) if name in meant and _names(name, variant.changes, text)]
        if not named:
            return False
        for name in named:
            self._refused.add((name, _value(request, name)))
        steps = {name: self._instead(name, variant) for name in named}
        free = [name for name, to in steps.items() if to is not None or name not in request.stated]
        if not free:
            raise _stop(request, named[0], text)
        for name in free:
            if self._changes.get(name, "") == variant.changes.get(name, ""):  # else it is known by now
                self._changes[name] = steps[name]
                _log.warning("metaeval: %s", _warning(request, name, steps[name], text))
        self._frames.clear()
        return True

    def _is_of_format(self, request: Request, error: CallError) -> bool:
        """Say whether an error names the format, and none was ever answered: that is enough to know."""
        refusal = isinstance(error, RejectedError) or error.status == _BROKEN
        return refusal and request.settings not in self._taken and bool(_FORMAT_NAME.search(str(error)))

    def _instead(self, name: str, variant: RequestVariant) -> str | None:
        if name in variant.changes or name in self._last or _INSTEAD.get(name) in variant.request.parameters:
            return None
        return _INSTEAD.get(name)

    def variant(self, request: Request) -> RequestVariant:
        """Return what to send for a request, as far as it is known what is taken."""
        if not self._changes:
            return RequestVariant(request)
        key = (request.settings, request.stated)
        if key not in self._frames:
            self._frames[key] = self._changed(request)
        frame, changes = self._frames[key]
        return RequestVariant(frame.asking(request.messages), changes) if changes else RequestVariant(request)

    def _changed(self, request: Request) -> RequestVariant:
        parameters, schema = dict(request.parameters), request.schema
        made: dict[str, str | None] = {}
        for name, to in self._changes.items():
            if name not in _sent(RequestVariant(request)):
                continue
            if to is None and name in request.stated:
                if (name, _value(request, name)) in self._refused:
                    raise _stop(request, name)
                continue  # another value may be taken
            made[name] = to
            value = parameters.pop(name, None)
            if name == FORMAT:
                schema = None
                value = {"type": to}
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
    """Return the names of all that is sent, as the request calls it."""
    back = {to: name for name, to in variant.changes.items() if name != FORMAT}
    names = [back.get(name, name) for name in variant.request.parameters]
    return names if variant.request.schema is None or FORMAT in names else [*names, FORMAT]


def _names(name: str, changes: Changes, text: str) -> bool:
    """Say whether a text names a parameter, as it was sent."""
    words = _FORMAT_WORDS if name == FORMAT else re.escape(changes.get(name) or name)
    return re.search(rf"(?<!\w)(?:{words})(?!\w)", text, re.IGNORECASE) is not None


def _value(request: Request, name: str) -> str:
    return canonical(request.parameters.get(name))


def _warning(request: Request, name: str, to: str | None, words: str) -> str:
    return f"{request.name} refuses {name} ({_short(words)}); from now on it is asked: {_phrase(name, to)}"


def _stop(request: Request, name: str, words: str = "") -> MetaevalError:
    model, why = request.name, f" ({_short(words)})" if words else ""
    if name == FORMAT:
        message = f"takes no {FORMAT}{why}, and reply='json' is asked for; write reply='auto' or reply='text'"
    elif name in _PROBABILITIES:
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
