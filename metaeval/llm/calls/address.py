"""What all requests to one address share: a client, limits, and the requests under way."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from metaeval.llm.calls.limits import Pace, SharedPace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from metaeval.llm.calls.client import Client
    from metaeval.llm.calls.limits import Limits

Where: TypeAlias = tuple[str, str]
"""Provider and address."""

_LONG_WAIT = 1.0  # seconds, from which on the progress line mentions the wait


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
