"""What every provider's client does, and the errors that it raises.

::

    CallError                 a call brought no reply
    ├── RetryableError        it may go well in a while: overload, a lost connection, a body cut off
    ├── RejectedError         the server rejected this request, such as a text that is too long
    └── DeniedError           the server rejects all of ours: a bad key, an unknown model, an empty account
"""

from __future__ import annotations

import email.utils
import importlib
import math
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, Protocol, cast

from metaeval.base.errors import FOREIGN, MetaevalError
from metaeval.llm.calls.request import FailureKind, Reply, Request, well_formed
from metaeval.llm.providers import Connection, provider_named

_LONGEST_MESSAGE = 500


class Client(Protocol):
    """Answers requests; made for one provider and address, used by many tasks of one event loop."""

    async def complete(self, request: Request) -> Reply:
        """Return the reply to a request, or raise `CallError`."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class CallError(Exception):
    """A call brought no reply; ``code`` is the provider's word for it, ``sent`` whether it may be charged."""

    kind: ClassVar[FailureKind] = "rejected"

    def __init__(self, message: str, code: str = "", *, sent: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.sent = sent
        self.status = int(code) if code.isdecimal() else 0
        """The HTTP status; 0 for none."""
        self.param = ""
        """The parameter that the provider says it is about."""

    @property
    def too_long(self) -> bool:
        """Whether this request is too long; others may be fine."""
        return self.code.lower() in _TOO_LONG


class RetryableError(CallError):
    """A later try may succeed; ``retry_after`` are the seconds that the provider asks to wait."""

    kind = "transport"

    def __init__(
        self, message: str, code: str = "", *, retry_after: float | None = None, sent: bool = False
    ) -> None:
        super().__init__(message, code, sent=sent)
        self.retry_after = retry_after


class RejectedError(CallError):
    """The provider does not take this request."""


class DeniedError(CallError):
    """The provider takes no request of ours to this model."""

    kind = "denied"


def client_for(connection: Connection) -> Client:
    """Return a client of the provider; raise `MetaevalError` if there is none, or its key is missing."""
    where = provider_named(connection.provider).client
    module, _, name = where.partition(":")
    try:
        factory = cast("Callable[[Connection], Client]", getattr(importlib.import_module(module), name))
        return factory(connection)
    except MetaevalError:
        raise
    except FOREIGN as error:
        raise MetaevalError(
            f"the client {where} of provider {connection.provider!r} cannot be loaded: "
            f"{type(error).__name__}: {error}"
        ) from error


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return how many seconds a provider asks to wait: milliseconds, seconds or a date; None if it does not.

    RFC 9110, section 10.2.3; some providers add ``retry-after-ms``.
    """
    folded = {k.lower(): v for k, v in headers.items()}
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(folded.get(name, "")) / unit
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    try:
        date = email.utils.parsedate_to_datetime(folded.get("retry-after", "")).timestamp()
    except (ValueError, OverflowError):  # a year that no computer has
        return None
    return max(date - (time.time() if now is None else now), 0.0)


def word(value: object) -> str | None:
    """Return a text from a provider's body; None for anything else."""
    return well_formed(value) if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    """Return a number of tokens from a provider's body; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else None


def completion_count(usage: Mapping[str, object]) -> int | None:
    """Return the tokens of a reply, with those of thought: some servers count them in the total alone."""
    prompt, completion, total = (count(usage.get(f"{n}_tokens")) for n in ("prompt", "completion", "total"))
    if prompt is None or total is None:
        return completion
    return max(completion or 0, total - prompt)


def cached_count(usage: Mapping[str, Any]) -> int | None:
    """Return the prompt's tokens that came from a cache: OpenAI, Moonshot and DeepSeek name them each."""
    named = [usage.get("cached_tokens"), usage.get("prompt_cache_hit_tokens")]
    named.append((usage.get("prompt_tokens_details") or {}).get("cached_tokens"))
    return max(filter(None, map(count, named)), default=count(named[-1]))


def text_of(content: object) -> str:
    """Return the text of a message's content, which some servers give in parts."""
    if isinstance(content, list):
        return "".join(word(part.get("text")) or "" for part in content if isinstance(part, dict))
    return word(content) or ""


_REFUSED_CODES = {
    "content_filter",
    "content_policy_violation",
    "datainspectionfailed",
    "data_inspection_failed",
    "ip_infringement_suspect",
    "custom_role_blocked",
}
_EMPTY_ACCOUNT = {
    "arrearage",
    "allocationquota.freetieronly",
    "billing_hard_limit_reached",
    "billing_not_active",
    "budgetlimitexceeded",
    "commoditynotpurchased",
    "postpaidbilloverdue",
    "prepaidbilloverdue",
}
_TOO_LONG = {"413", "context_length_exceeded", "string_above_max_length", "badrequest.toolarge"}
TOO_MANY = 429
"""The status of a server that takes fewer calls than it gets."""
_RETRYABLE = {408, 409, TOO_MANY}
_NEVER_SERVED = {501, 505}


def failed(
    status: int,
    code: str,
    message: str,
    *,
    param: str = "",
    wait: float | None = None,
    denied: Collection[str] = (),
) -> Reply:
    """Classify an error response of a provider: return a content filter's refusal, raise all else.

    Parameters
    ----------
    status, code, message
        The HTTP status, the provider's error code (empty if none) and its message, scrubbed. A redirect is
        not followed: the prompt would go to an address that no one named.
    param
        The parameter that the provider says it is about.
    wait
        Seconds that the provider asks to wait.
    denied
        Further codes, in lower case, that mean an empty account at this provider.

    Raises
    ------
    CallError
        A `RetryableError`, `RejectedError` or `DeniedError`.
    """
    folded = code.lower()
    message = " ".join(message.split())[:_LONGEST_MESSAGE] or f"HTTP status {status}"
    if folded in _REFUSED_CODES:
        return Reply(finish_reason="content_filter", refusal=message)
    code = code or str(status)
    error: CallError = RejectedError(message, code)
    if folded in _EMPTY_ACCOUNT or folded in denied or 300 <= status < 400 or status in {401, 402, 403, 404}:
        error = DeniedError(message, code)
    elif status in _RETRYABLE or (status >= 500 and status not in _NEVER_SERVED):
        error = RetryableError(message, code, retry_after=wait)
    error.status, error.param = status, param
    raise error
