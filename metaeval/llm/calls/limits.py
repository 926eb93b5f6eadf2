"""Limits of a run: rates, time limits, retries and budget."""

from __future__ import annotations

import asyncio
import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from metaeval.base.errors import MetaevalError
from metaeval.base.validation import Options

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from metaeval.llm.calls.client import RetryableError
    from metaeval.llm.calls.price import Prices
    from metaeval.llm.calls.request import Request
    from metaeval.llm.store.shares import StudyShares

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

    async def turn(self, clock: Callable[[], float], amount: float = 1.0) -> float:
        """Reserve as `reserve` does, wherever that is done."""
        return self.reserve(clock(), amount)

    def correct(self, amount: float) -> None:
        """Add the amount that was used beyond the reserved one; negative if less was used."""
        self._free_at += amount * self._interval


class SharedPace(Pace):
    """A rate limiter for several processes: each leases time for all its requests that wait at a moment.

    Parameters
    ----------
    lease
        Leases seconds, and returns how long it is until they begin.
    """

    def __init__(self, per_minute: float | None, lease: Callable[[float], Awaitable[float]]) -> None:
        super().__init__(per_minute)
        self._lease, self._leasing = lease, asyncio.Lock()
        self._wanted = 0.0  # seconds for requests that wait for a lease
        self._left = 0.0  # of those leased
        self._debt = 0.0  # used beyond what was leased

    async def turn(self, clock: Callable[[], float], amount: float = 1.0) -> float:
        """Reserve the next slot of this process, and return how many seconds to wait for it."""
        seconds = amount * self._interval
        if not seconds:
            return 0.0
        self._wanted += seconds
        async with self._leasing:
            if self._left < seconds * 0.999:  # it came after the last lease
                block, self._wanted = self._wanted, 0.0
                due = block + self._debt
                begins = await self._lease(max(due, 0.0))
                self._free_at = clock() + begins + max(self._debt, 0.0)
                self._left, self._debt = block, min(due, 0.0)
            self._left -= seconds
            return self.reserve(clock(), amount)

    def correct(self, amount: float) -> None:
        """Add the amount that was used beyond the reserved one to the next lease."""
        self._debt += amount * self._interval


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
    """The budget of a run; None for no limit. Each request sent is one call, repetitions too."""

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


@dataclass(slots=True)
class _Part:
    """One limit of a budget, in whole units."""

    name: str
    most: int | None
    empty: str
    """What is said when it is used up."""
    held: int
    """How much of it this process may use: all of it, unless it is shared."""
    used: int = 0
    reserved: int = 0
    dry: bool = False
    """Whether there is no more to be leased."""

    def missing(self, amount: int) -> int:
        """Return how much more must be held before an amount can be used."""
        return 0 if self.most is None else max(self.used + self.reserved + amount - self.held, 0)


class Purse:
    """Keeps runs within one budget: reserves the most that a call may cost before it is sent.

    Every amount from `reserve` is given to one `settle`, whatever becomes of the call: others may wait for
    it.

    Parameters
    ----------
    shares
        Where the budget is leased from, if several processes share it.
    """

    def __init__(self, budget: Budget, prices: Prices, shares: StudyShares | None = None) -> None:
        self._prices, self._shares = prices, shares
        usd, calls = budget.max_usd, budget.max_calls
        most = None if usd is None else math.floor(round(usd * _NANO, 3))
        said = "the budget of {} is used up"
        self._usd = _Part("usd", most, said.format(f"{usd or 0:g} USD"), 0 if shares else most or 0)
        self._calls = _Part("calls", calls, said.format(f"{calls} calls"), 0 if shares else calls or 0)
        self._leasing = False
        self._changed = asyncio.Event()
        self.empty = ""
        """Which part of the budget is used up, as a sentence; empty if none is."""

    @property
    def calls(self) -> int:
        """How many calls were made."""
        return self._calls.used

    @property
    def spent(self) -> float:
        """USD that count against the budget: costs, and the most that lost calls may have cost."""
        return self._usd.used / _NANO

    async def reserve(self, request: Request) -> int | None:
        """Reserve what a request may cost, in nano-dollars; None if the request must not be sent.

        It waits for calls under way, since most cost less than was reserved. With a limit in USD, a request
        without an upper bound of its cost raises `MetaevalError`.
        """
        bound = 0 if self._usd.most is None else bound_of(request, self._prices)
        if not await self._has_room(self._usd, bound):
            return None
        self._usd.reserved += bound
        if not await self._has_room(self._calls, 1):
            self.settle(bound, 0)
            return None
        self._calls.used += 1
        return bound

    def settle(self, reserved: int, spent: int) -> None:
        """Replace a reserved amount by the spent one, both in nano-dollars."""
        self._usd.reserved -= reserved
        self._usd.used += spent
        self._tell()

    async def close(self) -> None:
        """Give back what was leased and is not used."""
        for part in (self._usd, self._calls):
            left = part.held - part.used - part.reserved
            if self._shares is not None and left > 0:
                part.held -= left
                part.dry = False
                await self._shares.give_back(part.name, left)

    async def _has_room(self, part: _Part, amount: int) -> bool:
        while missing := part.missing(amount):
            if self._shares is not None and not (part.dry or self._leasing):
                await self._lease(self._shares, part, missing)
            elif self._leasing or part.reserved:
                await self._changed.wait()
            else:
                self.empty = part.empty
                return False
        return True

    async def _lease(self, shares: StudyShares, part: _Part, missing: int) -> None:
        self._leasing = True
        try:
            leased = await shares.take(part.name, missing, part.most or 0)
            part.held += leased
            part.dry = not leased
        finally:
            self._leasing = False
            self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()  # the next to wait may do so in another event loop
