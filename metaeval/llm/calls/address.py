"""What all requests to one address share: a client, limits, and the requests under way."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from metaeval.llm.calls.client import Client
    from metaeval.llm.calls.limits import Limits
    from metaeval.llm.calls.request import Reply

Where: TypeAlias = tuple[str, str]
"""Provider and address."""

_LONG_WAIT = 1.0  # seconds, from which on the progress line mentions the wait


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


class Address:
    """An address of a provider, for one event loop.

    Parameters
    ----------
    client, limits
        Answers requests; how many at once and a minute.
    clock, sleep
        As in `metaeval.llm.calls.caller.Caller`.
    lease
        Leases seconds of the limit of requests, or of tokens, if other processes ask here too.
    """

    def __init__(
        self,
        client: Client,
        limits: Limits,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        lease: Callable[[str, float], Awaitable[float]] | None = None,
    ) -> None:
        self.client = client
        self.places = asyncio.Semaphore(limits.concurrency)
        """A request has one of these from when it is taken up until it is answered."""
        self.under_way: dict[str, asyncio.Event] = {}
        """Key of a request that is being sent → set when that is over."""
        self.failed: dict[str, Reply] = {}
        """Key of a request → why it has no reply: what is equal is not asked again in the same run."""
        self._first: dict[str, asyncio.Event] = {}
        """Group of requests → set when the first of them is over."""
        self.held_back = 0
        """How many requests wait long for their turn in the minute."""
        self._clock, self._sleep = clock, sleep

        def pace(per_minute: float | None, what: str) -> Pace:
            return Pace(per_minute) if lease is None else SharedPace(per_minute, partial(lease, what))

        self._requests = pace(limits.requests_per_minute, "requests")
        self._tokens = pace(limits.tokens_per_minute, "tokens")

    @contextlib.contextmanager
    def beginning(self, group: str) -> Iterator[asyncio.Event | None]:
        """Return what to wait for before a request of a group is sent; None if it need not wait.

        Requests of a group begin with the same long messages. A provider has these in its cache once it has
        read them, so the first request of a group is sent, and the others wait until the block that it is
        sent in is over.
        """
        if not group or group in self._first:
            first = self._first.get(group)
            yield None if first is None or first.is_set() else first
            return
        self._first[group] = asyncio.Event()
        try:
            yield None
        finally:
            self._first[group].set()

    async def turn(self, tokens: int) -> None:
        """Wait until the limits per minute allow a request of about so many tokens."""
        wait = max(await self._requests.turn(self._clock), await self._tokens.turn(self._clock, tokens))
        if wait > 0:
            self.held_back += wait >= _LONG_WAIT
            try:
                await self._sleep(wait)
            finally:
                self.held_back -= wait >= _LONG_WAIT

    def used(self, more: int) -> None:
        """Note how many tokens more than that a request took; negative if less."""
        self._tokens.correct(more)
