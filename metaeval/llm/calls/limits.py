"""Limits of a run: rates, time limits, retries and budget."""

from __future__ import annotations

import asyncio
import math
import os
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from metaeval.base.errors import MetaevalError
from metaeval.base.validation import Options

if TYPE_CHECKING:
    from metaeval.llm.calls.client import RetryableError
    from metaeval.llm.calls.price import Prices
    from metaeval.llm.calls.request import Request

_IN_FLIGHT = 32
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 60.0
_NANO = 1_000_000_000
MOST = 1_000_000_000
"""The largest budget, in USD and in calls."""


def _concurrency() -> int:
    given = os.environ.get("METAEVAL_CONCURRENCY", "").strip()
    if not given:
        return _IN_FLIGHT
    if not given.isdecimal() or int(given) < 1:
        raise MetaevalError(f"METAEVAL_CONCURRENCY is {given!r}; it must be a whole number from 1 on")
    return int(given)


PerMinute = Annotated[
    int | float | None, Field(gt=0, description="a number above 0, or leave it out for no limit")
]
Concurrency = Annotated[int, Field(gt=0, le=10_000, description="a whole number from 1 to 10,000")]
Seconds = Annotated[int | float, Field(gt=0, le=86_400, description="a number above 0, up to 86,400")]


class Limits(Options):
    """Rates, time limits and retries at one address.

    Parameters
    ----------
    concurrency
        Requests under way at once; ``METAEVAL_CONCURRENCY``, else 32.
    requests_per_minute, tokens_per_minute
        As the provider allows; None for no limit. Tokens are those of prompt and reply.
    connect_seconds, reply_seconds
        Time limits of one try.
    call_seconds
        Time limit of a request with all its tries and waits, while others are answered.
    retries
        How often a request is sent again after a failure that may pass.
    patience_seconds
        How long a model may be silent before the runs that ask it stop; also the longest wait that a provider
        may ask for. Longer than ``reply_seconds``, so that a server that hangs is tried again.
    """

    concurrency: Concurrency = Field(default_factory=_concurrency)
    requests_per_minute: PerMinute = None
    tokens_per_minute: PerMinute = None
    connect_seconds: Seconds = 10
    reply_seconds: Seconds = 80
    call_seconds: Seconds = 600
    patience_seconds: Seconds = 100
    retries: Annotated[int, Field(ge=0, le=100, description="a whole number from 0 to 100")] = 6


class Pace:
    """A rate limiter that spaces amounts evenly.

    A token bucket would allow bursts; with even spacing, no window of a minute exceeds the rate.
    """

    def __init__(self, per_minute: float | None) -> None:
        self._interval = 0.0 if per_minute is None else 60.0 / per_minute
        self._free_at = 0.0

    def reserve(self, now: float, amount: float = 1.0) -> float:
        """Reserve the next slot for an amount, and return how many seconds to wait for it."""
        start = max(now, self._free_at)
        self._free_at = start + amount * self._interval
        return start - now

    def correct(self, amount: float) -> None:
        """Add the amount that was used beyond the reserved one; negative if less was used."""
        self._free_at += amount * self._interval


def wait_before(retry: int, error: RetryableError, draw: float) -> float:
    """Return how many seconds to wait before a retry.

    Parameters
    ----------
    retry
        0 for the first.
    error
        The failure. A wait that the provider asks for is kept, with up to a tenth more, so that not all
        requests come back at once.
    draw
        A random number from 0 to 1.

    Notes
    -----
    Exponential back-off with full jitter: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture
    Blog, 2015.
    """
    if error.retry_after is not None:
        return error.retry_after * (1 + draw / 10)
    return draw * min(_FIRST_WAIT * 2.0**retry, _LONGEST_WAIT)


_WITHIN = f"a number from 0 to {MOST:,}, or leave it out for no limit"


class Budget(Options):
    """What a run may spend; None for no limit. A call is one request sent, a repeated one included."""

    max_usd: Annotated[int | float | None, Field(ge=0, le=MOST, description=_WITHIN)] = None
    max_calls: Annotated[int | None, Field(ge=0, le=MOST, description=_WITHIN)] = None


def nano(usd: float) -> int:
    """Return whole nano-dollars, rounded up, so that sums are exact."""
    return math.ceil(round(usd * _NANO, 3))  # 3 digits more than are kept, so that 0.03 USD is no bit more


def bound_of(request: Request, prices: Prices) -> int:
    """Return what a request costs at most, in nano-dollars; raise `MetaevalError` if it has no bound."""
    usd = prices.at_most(request)
    if usd is None:
        name = f"{request.provider}/{request.model}"
        missing = "its replies have no max_tokens" if prices.known(request) else "its price is unknown"
        raise MetaevalError(
            f"max_usd cannot be kept for {name}, since {missing}; set it, or limit calls with max_calls"
        )
    return nano(usd)


class Purse:
    """Keeps runs within one budget: reserves the most that a call may cost before it is sent.

    Every amount from `reserve` is given to one `settle`, whatever becomes of the call: others may wait for
    it.
    """

    def __init__(self, budget: Budget, prices: Prices) -> None:
        self._budget, self._prices = budget, prices
        self._most = None if budget.max_usd is None else math.floor(round(budget.max_usd * _NANO, 3))
        self._reserved = 0
        self._spent = 0
        self._changed = asyncio.Event()
        self.calls = 0
        self.empty = ""
        """Which part of the budget is used up, as a sentence; empty if none is."""

    @property
    def spent(self) -> float:
        """USD that count against the budget: costs, and the most that lost calls may have cost."""
        return self._spent / _NANO

    async def reserve(self, request: Request) -> int | None:
        """Reserve what a request may cost, in nano-dollars; None if the request must not be sent.

        It waits for calls under way, since most cost less than was reserved. With a limit in USD, a request
        without an upper bound of its cost raises `MetaevalError`.
        """
        bound = 0
        if self._most is not None:
            bound = bound_of(request, self._prices)
            while self._spent + self._reserved + bound > self._most:
                if self._reserved == 0:
                    self.empty = f"the budget of {self._budget.max_usd:g} USD is used up"
                    return None
                await self._changed.wait()
        if self._budget.max_calls is not None and self.calls >= self._budget.max_calls:
            self.empty = f"the budget of {self._budget.max_calls} calls is used up"
            return None
        self.calls += 1
        self._reserved += bound
        return bound

    def settle(self, reserved: int, spent: int) -> None:
        """Replace a reserved amount by the spent one, both in nano-dollars."""
        self._reserved -= reserved
        self._spent += spent
        self._changed.set()
        self._changed = asyncio.Event()  # the next to wait may do so in another event loop
