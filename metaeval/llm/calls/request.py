"""A request to a model, and its reply."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from metaeval.base.errors import MetaevalError
from metaeval.llm.providers import address_of

FailureKind: TypeAlias = Literal["transport", "rejected", "denied", "budget"]
"""Why there is no reply: all tries failed; the provider rejects this request, or all of ours (key, model,
quota); it was not sent, because it might have cost more than the budget."""

BY_BATCH = {"service_tier": "batch"}
"""What the ``sent`` of a reply says that came by a batch."""
_FORBIDDEN = {"model", "messages", "n", "stream", "api_key", "authorization", "headers", "extra_headers"}


class Message(NamedTuple):
    """One message of a conversation."""

    role: str
    content: str


def well_formed(text: str) -> str:
    """Return a text that can be encoded: a lone surrogate becomes U+FFFD."""
    try:
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        # A surrogate pair is one character; only a lone surrogate is replaced.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _plain(value: object) -> object:
    """Normalize JSON values, so that equal ones have equal text: 0.0 becomes 0, a tuple a list."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, Mapping):
        return {well_formed(str(k)): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def canonical(record: object) -> str:
    """Return JSON text that is the same for equal values."""
    return _encode(record)


def key_of(record: Mapping[str, Any]) -> str:
    """Return the key of a request in the store, from the request's fields.

    It is the SHA-256 of the `canonical` text in which each message's content is replaced by its SHA-256.
    """
    hashed = [[role, _sha256(content)] for role, content in record["messages"]]
    return _sha256(canonical({**record, "messages": hashed}))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_quoted = functools.lru_cache(maxsize=16)(canonical)  # names of roles
_sha256_again = functools.lru_cache(maxsize=16)(_sha256)  # of long texts that many requests share
_BESIDE_KEY = ("stated", "shares")  # fields that no reply depends on


@dataclass(frozen=True)
class Request:
    """One call of a model.

    Parameters
    ----------
    provider, model
        As in ``openai/gpt-4o``: the text before and after the first slash.
    messages
        The conversation so far.
    parameters
        Settings as the provider names them: ``temperature``, ``max_tokens``, ``seed``, ``top_p``, …
    base_url
        Where the provider answers; if left out, what the environment says, else its own address.
    schema
        The JSON schema of the wanted reply; None for free text.
    replicate
        Number of the repetition, where the same is asked several times on purpose.
    attempt
        Number of the try, where the same is asked again because the reply could not be used.
    stated
        Names of the settings that the user wrote, ``response_format`` for a schema. What a server refuses of
        them is not left out (`metaeval.llm.calls.terms`). Not part of the key.
    shares
        Whether all messages but the last are those of other requests too. Not part of the key.

    Raises
    ------
    MetaevalError
        If the provider, the address or a parameter cannot be used.
    """

    provider: str
    model: str
    messages: tuple[Message, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    base_url: str | None = None
    schema: Mapping[str, Any] | None = None
    replicate: int = 0
    attempt: int = 0
    stated: frozenset[str] = field(default=frozenset(), compare=False)
    shares: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        bad = sorted(_FORBIDDEN.intersection(map(str.lower, self.parameters)))
        if bad:
            raise MetaevalError(f"{bad[0]!r} cannot be a parameter of a request; leave it out")
        for name, value in (
            ("messages", _clean(self.messages)),
            ("parameters", _plain(self.parameters)),
            ("base_url", address_of(self.provider, self.base_url)),
            ("schema", _plain(self.schema)),
        ):
            object.__setattr__(self, name, value)

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def name(self) -> str:
        """Provider and model: ``openai/gpt-4o``."""
        return f"{self.provider}/{self.model}"

    @property
    def address(self) -> str:
        """The server's address; empty for a model that runs in this process."""
        return self.base_url or ""

    @functools.cached_property
    def length(self) -> int:
        """Characters of its messages."""
        return sum(len(content) for _, content in self.messages)

    @functools.cached_property
    def _frame(self) -> tuple[str, str]:
        """The text before and after the messages in `canonical`."""
        # Names come sorted, and "messages" third.
        names = sorted(n for n in self.__dataclass_fields__ if n != "messages" and n not in _BESIDE_KEY)
        try:
            head, tail = (canonical({n: getattr(self, n) for n in part}) for part in (names[:2], names[2:]))
        except (TypeError, ValueError) as error:
            raise MetaevalError(f"a parameter of a request is not a JSON value: {error}") from None
        return f'{head[:-1]},"messages":', f",{tail[1:]}"

    @property
    def settings(self) -> str:
        """Model, parameters and schema as JSON text: the same for requests that differ in their messages."""
        return self._frame[1]

    @property
    def fields(self) -> dict[str, Any]:
        """All that its key depends on, by name."""
        return {n: getattr(self, n) for n in self.__dataclass_fields__ if n not in _BESIDE_KEY}

    @functools.cached_property
    def key(self) -> str:
        """64 hex digits, a hash of all that a reply may depend on (`key_of`), without the API key."""
        head, tail = self._frame
        digest = _sha256_again if self.shares else _sha256
        hashed = ",".join([f'[{_quoted(role)},"{digest(content)}"]' for role, content in self.messages])
        return _sha256(f"{head}[{hashed}]{tail}")

    @functools.cached_property
    def group(self) -> str:
        """The same for requests of which a provider's cache may hold all messages but the last.

        Empty for a request that shares nothing.
        """
        if not self.shares:
            return ""
        shared = [(role, _sha256_again(content)) for role, content in self.messages[:-1]]
        return _sha256(canonical([self.provider, self.model, self.base_url, self.schema, shared]))

    def again(self, attempt: int) -> Request:
        """Return the same request as another attempt, which waits for no other of its group."""
        return self if attempt == self.attempt else dataclasses.replace(self, attempt=attempt, shares=False)

    def asking(self, messages: Iterable[tuple[str, str]], *, shares: bool = False) -> Request:
        """Return the same request with other messages; faster than a new request."""
        other = object.__new__(type(self))
        other.__dict__.update(self._without_messages, messages=_clean(messages), shares=shares)
        return other

    @functools.cached_property
    def _without_messages(self) -> dict[str, Any]:
        return {**{n: getattr(self, n) for n in self.__dataclass_fields__}, "_frame": self._frame}


def _clean(messages: Iterable[tuple[str, str]]) -> tuple[Message, ...]:
    return tuple([Message(role, well_formed(content)) for role, content in messages])


class CallFailure(NamedTuple):
    """Why a request has no reply."""

    kind: FailureKind
    message: str
    """The error message of the provider or of the network."""
    code: str = ""
    """The provider's error code, else the HTTP status or a word such as ``timeout``."""


class Reply(NamedTuple):
    """A model's reply, or why there is none."""

    text: str = ""
    """The generated text."""
    finish_reason: str | None = None
    refusal: str | None = None
    """The message of a refusal by the model or the provider, such as a content filter's."""
    model: str | None = None
    """The model as the provider named it; None if it did not."""
    fingerprint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    """Prompt tokens from the provider's cache."""
    queue_seconds: float = 0.0
    """From when the request was taken up until it was last sent, waits and retries included."""
    service_seconds: float = 0.0
    """From when it was last sent until the reply was there."""
    raw: str = ""
    """The body as it was received."""
    error: CallFailure | None = None
    sent: str = ""
    """What was sent otherwise than asked for, as JSON (`metaeval.llm.calls.terms`); empty for nothing."""

    @property
    def total_tokens(self) -> int | None:
        """Tokens of prompt and reply, 0 of a failure; None if either is not known."""
        if self.error is not None:
            return 0
        known = self.prompt_tokens is not None and self.completion_tokens is not None
        return (self.prompt_tokens or 0) + (self.completion_tokens or 0) if known else None

    @property
    def by_batch(self) -> bool:
        """Whether it came by a batch, at the price of batches."""
        return bool(self.sent) and BY_BATCH.items() <= json.loads(self.sent).items()

    @property
    def final(self) -> bool:
        """Whether a later run uses this reply; failed calls are sent again."""
        return self.error is None
