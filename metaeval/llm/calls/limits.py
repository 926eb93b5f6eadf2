"""Limits of a run: rates, time limits, retries and budget."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from metaeval.base.errors import MetaevalError
from metaeval.base.validation import Options
from metaeval.llm.calls.price import TOKEN_LIMITS, Prices

if TYPE_CHECKING:
    from metaeval.llm.calls.client import RetryableError
    from metaeval.llm.calls.request import Request
    from metaeval.llm.store.replies import StudyShares

_IN_FLIGHT = 32
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 60.0
_NANO = 1_000_000_000
MOST = 1_000_000_000
"""The largest budget, in USD and in calls."""


def _concurrency() -> int:
    text = os.environ.get("METAEVAL_CONCURRENCY", "").strip()
    if not text:
        return _IN_FLIGHT
    if not text.isdecimal() or int(text) < 1:
        raise MetaevalError(f"METAEVAL_CONCURRENCY is {text!r}; it must be a whole number from 1 on")
    return int(text)


PerMinute = Annotated[
    int | float | None, Field(gt=0, description="a number above 0, or leave it out for no limit")
]
Concurrency = Annotated[int, Field(gt=0, le=10_000, description="a whole number from 1 to 10,000")]
Seconds = Annotated[int | float, Field(gt=0, le=86_400, description="a number above 0, up to 86,400")]


class Limits(Options):
    """Rates, time limits and retries at one address, and when a judge stops.

    Parameters
    ----------
    concurrency
        Requests under way at once; ``METAEVAL_CONCURRENCY``, else 32.
    requests_per_minute, tokens_per_minute
        As the provider allows; None for no limit. Tokens are those of prompt and reply.
    reply_seconds
        Time limit of one try.
    call_seconds
        Time limit of a request with all its tries and waits, while others are answered.
    retries
        How often a request is sent again after a failure that may pass; at a server's limit twice as often.
    stop_unread
        A judge stops if it cannot read any of so many first replies, and asks no more questions until it can
        read one; 0: it never stops.
    patience_seconds
        How long a model may be silent before the runs that ask it stop; also the longest wait that a provider
        may ask for. Longer than ``reply_seconds``, so that a server that hangs is tried again.
    """

    concurrency: Concurrency = Field(default_factory=_concurrency)
    requests_per_minute: PerMinute = None
    tokens_per_minute: PerMinute = None
    reply_seconds: Seconds = 80
    call_seconds: Seconds = 600
    patience_seconds: Seconds = 100
    retries: Annotated[int, Field(ge=0, le=100, description="a whole number from 0 to 100")] = 6
    stop_unread: Annotated[int, Field(ge=0, description="a whole number; 0 to go on")] = 20


class Trial:
    """The first calls of a run: so many at most until a reply is usable; 0: no trial."""

    def __init__(self, most: int) -> None:
        self._left, self._over = most, not most
        self._places = asyncio.Semaphore(most)

    async def place(self) -> None:
        """Wait until another call may be made."""
        if not self._over:
            await self._places.acquire()
        if self._over:
            self._places.release()  # the next that waits may go on too

    def end(self) -> None:
        """Let all calls be made."""
        self._over = True
        self._places.release()

    def failed(self, *, unread: bool) -> bool:
        """Note a call without a usable reply; say whether the run ends. Only an ``unread`` one counts."""
        if self._over:
            return False
        if not unread:
            self._places.release()
        self._left -= unread
        return not self._left


def wait_before(retry: int, error: RetryableError, draw: float) -> float:
    """Return how many seconds to wait before a retry: 0 for the first; ``draw`` is a number from 0 to 1.

    A wait that the provider asks for is kept, with up to a tenth more, so that not all requests come back at
    once. Any other is exponential back-off with full jitter: M. Brooker, "Exponential Backoff And Jitter",
    AWS Architecture Blog, 2015.
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
    usd, parameters, model = prices.at_most(request), request.parameters, request.name
    limits = {name: parameters[name] for name in TOKEN_LIMITS if name in parameters}
    if wrong := [f"{n}={v!r}" for n, v in limits.items() if type(v) is not int or v < 1]:
        why = f"{wrong[0]} is no limit; write a whole number from 1 on"
    elif parameters.get("best_of", 1) != 1:
        why = "best_of multiplies its price; leave it out"
    elif usd is not None:
        return nano(usd)
    elif prices.known(request):
        why = "its replies have no limit; set `max_tokens` in its spec, or in `models`"
    else:
        why = f"its price is unknown; set `judging.prices`: {{{model}: {{input: …, output: …}}}}"
    raise MetaevalError(
        f"`judging.max_usd` cannot be kept for {model}, since {why}, or limit calls with `judging.max_calls`"
    )


@dataclass(slots=True)
class _Charges:
    """What a model's calls were charged: some servers charge more than a request allows."""

    worst: int = 0
    """The most, in nano-dollars."""
    ended: int = 0
    """How many calls were charged: about as many are sent at once, so that a surprise is met by few."""
    under_way: int = 0


@dataclass(slots=True)
class _Part:
    """One limit of a budget, in whole units."""

    name: str
    most: int | None
    empty: str
    """The sentence for when it is used up."""
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

    A model's first call goes alone, no more are under way than were charged before, and no less is reserved
    than the highest charge.

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
        empty = "the budget of {} is used up"
        self._usd = _Part("usd", most, empty.format(f"{usd or 0:g} USD"), 0 if shares else most or 0)
        self._calls = _Part("calls", calls, empty.format(f"{calls} calls"), 0 if shares else calls or 0)
        self._leasing = False
        self._charges: dict[tuple[str, str, str], _Charges] = {}
        self._changed = asyncio.Event()
        self.empty = ""
        """Which part of the budget is used up, as a sentence."""

    async def reserve(self, request: Request) -> int | None:
        """Reserve what a request may cost, in nano-dollars; None if the request must not be sent.

        It waits for calls under way, since most cost less than was reserved. With a limit in USD, a request
        without an upper bound of its cost raises `MetaevalError`.
        """
        bound = 0 if self._usd.most is None else bound_of(request, self._prices)
        model = (request.provider, request.model, request.address)
        charges = self._charges.setdefault(model, _Charges())

        def amount() -> int:
            return max(bound, charges.worst) if bound else 0

        if not await self._has_room(
            self._usd, amount, lambda: bound > 0 and charges.under_way > charges.ended
        ):
            return None
        reserved = amount()
        self._usd.reserved += reserved
        charges.under_way += 1
        if not await self._has_room(self._calls, lambda: 1):
            self.settle(request, reserved, 0)
            return None
        self._calls.used += 1
        return reserved

    def settle(self, request: Request, reserved: int, spent: int) -> None:
        """Replace the amount reserved for a request by the spent one, both in nano-dollars."""
        charges = self._charges[request.provider, request.model, request.address]
        charges.under_way -= 1
        charges.ended += spent > 0
        charges.worst = max(charges.worst, spent)
        self._usd.reserved -= reserved
        self._usd.used += spent
        self._tell()

    async def close(self) -> None:
        """Give back what was leased and is not used."""
        for part in (self._usd, self._calls):
            left = part.held - part.used - part.reserved
            if self._shares is not None and part.most is not None and left:  # below 0: the others pay for it
                part.held -= left
                part.dry = False
                await self._shares.give_back(part.name, left)

    async def _has_room(
        self, part: _Part, amount: Callable[[], int], busy: Callable[[], bool] = lambda: False
    ) -> bool:
        while busy() or (missing := part.missing(amount())):
            if busy():
                await self._changed.wait()
            elif self._shares is not None and not (part.dry or self._leasing):
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
