"""A circuit breaker for each model at an address.

Until a model has answered, few requests are sent to it at once. After a few failures in a row, one request is
sent at a time, with growing pauses, until one is answered or the patience is used up.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable

from metaeval.llm.calls.client import TOO_MANY, RetryableError

_FIRST = 4  # times that a request meets a limit and goes first all the same
_TWO = 2
_LEAST = 0.5  # of the room for calls: below one, a pause comes before each
_EARLY = 3  # requests under way at once to a model that has not answered yet
_TRIES = 3  # failures with no answer between them, after which the model counts as silent
_REQUESTS = 3  # requests that must have failed, so that it is the model's fault and not theirs
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 15.0
_WRONG = {"connect", "invalid_body"}  # no one listens, or something that is no model's server
_WRONG_SECONDS = 2.0  # patience with these, where the model never answered
_LAST_TRY = 1.0  # seconds that a try gets at least, however little time is left
_QUIET = 5.0  # seconds without an answer, after which the progress line says so


class Breaker:
    """Holds requests back while a model does not answer.

    Parameters
    ----------
    patience
        Seconds without an answer, counted from when the first failed call was sent.
    clock, sleep
        As in `metaeval.llm.calls.caller.Caller`.
    network
        Whether there is a server that may be down; if not, every request passes.
    """

    def __init__(
        self,
        patience: float,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        *,
        network: bool = True,
    ) -> None:
        self._patience, self._clock, self._sleep, self._network = patience, clock, sleep, network
        self.answered = False
        self.tries = 0  # failures since the last answer
        self.error: RetryableError | None = None  # the first of the last failures of one code
        self.asked = 0.0  # seconds that the provider last asked to wait
        self._room: float = _EARLY  # calls that may be under way
        self._halved = 0.0  # when that was last halved
        self._answers = 0
        self._refused = 0  # for a limit, since that or since an answer
        self._limited: tuple[float, int] | None = None  # the time, and the answers before, of the first 429
        self._failed: set[str] = set()
        self._since = 0.0  # when the first of these failures was sent
        self._asked_until = 0.0
        self._try_at = 0.0
        self._pauses = 0
        self._quiet_since = 0.0
        self._under_way = 0
        self._waiting = Counter[int]()  # requests, by rank: below 0 those that go first, 0 fresh ones
        self._trying = self._ended = False
        self._changed = asyncio.Event()

    @property
    def silent(self) -> bool:
        """Whether the model stopped answering, or one at a time is too many: so one is sent after a pause."""
        closed = self._room < _TWO and (self._room < 1 or self._asked_until > self._clock())
        return self._network and (self.tries >= _TRIES or closed)

    @property
    def limit(self) -> str:
        """What to do about a limit of the server's, and how many calls it answered since that was met."""
        since, before = self._limited or (0.0, self._answers)
        if not (answers := self._answers - before):
            return "set judging.requests_per_minute"
        rate = 60 * answers / max(self._clock() - since, 1.0)
        return f"it answered {rate:.0f} a minute: set judging.requests_per_minute below that"

    @property
    def seconds(self) -> float:
        """Seconds since the first of the failures was sent."""
        return self._clock() - self._since

    @property
    def impatient(self) -> bool:
        """Whether the provider asks to wait for longer than there is patience."""
        return self._asked_until > self._since + self._patience

    @contextlib.asynccontextmanager
    async def place(self, *, fresh: bool, limited: int = 0) -> AsyncIterator[float]:
        """Wait until a request may be sent, and hold its place for the length of a block.

        It waits for calls under way, each of which has a time limit, and for the pause before the next try.

        Parameters
        ----------
        fresh
            Whether the request was never sent. Fresh ones go first, because others may fail through their own
            fault. While too few have failed to blame the model, a fresh one is sent even if the time is up.
        limited
            How often it met a limit of the server's: those that did go first, up to a number of times.

        Yields
        ------
        float
            Seconds that the try may take, infinite for no limit; 0 if the request must not be sent.
        """
        rank = (-limited if limited <= _FIRST else 0) if limited else 1 - fresh
        self._waiting[rank] += 1
        try:
            while self._full(rank):
                await self._changed.wait()
        finally:
            self._waiting[rank] -= 1
        if self._ended or self._over(fresh):
            self._wake()  # those that had to go after it
            yield 0.0
            return
        trying = self._trying = self.silent
        if not self._under_way:
            self._quiet_since = self._clock()
        self._under_way += 1
        try:
            if trying and self._left() > 0:
                await self._pause()
                yield max(self._left(), _LAST_TRY)
            else:
                yield math.inf
        finally:
            self._under_way -= 1
            self._trying = self._trying and not trying
            self._wake()

    def answer(self) -> None:
        """Note that the model answered."""
        self._room = self._room + 1 / max(self._room, _TWO) if self.answered else math.inf
        self._answers += 1
        self._refused = 0
        self.answered = True
        self._alive()

    def refuse(self) -> None:
        """Note that the server answered by refusing a request."""
        self._doubt()
        self._alive()

    def unsent(self) -> None:
        """Note that the budget is used up; waiting for the model ends."""
        self._alive()

    def fail(self, key: str, error: RetryableError, sent: float) -> None:
        """Note that the request of a key, sent at a given time, failed."""
        if self.tries == 0:
            self._since = sent
        self.tries += 1
        self._doubt()
        if error.status == TOO_MANY:
            self._limited = self._limited or (self._clock(), self._answers)
            self._refused += 1
            if self.answered and (sent >= self._halved or self._refused > self._room):
                least = _LEAST if self._room <= 1 else 1  # one refusal is no reason for pauses
                self._room, self._halved = max(min(self._room, self._under_way) / 2, least), self._clock()
                self._refused = 0
        if self.tries == 1 or self.error is None or self.error.code != error.code:
            self.error = error
        self._failed.add(key)
        if error.retry_after is not None:
            self.asked = error.retry_after
            self._asked_until = self._clock() + 1.05 * self.asked  # servers round

    def end(self) -> None:
        """Let no further request pass, and wake all that wait."""
        self._ended = True
        self._wake()

    def note(self) -> str:
        """Return what the requests wait for, in a few words; empty if answers come."""
        now = self._clock()
        if self._asked_until > now:
            return f"server asks to wait {self._asked_until - now:.0f} s"
        if self.silent and self.error is not None:
            code, left = self.error.code, max(self._left(), 0.0)
            soon = f"in {math.ceil(self._try_at - now)} s" if self._try_at > now else "now"
            return f"no answer ({code}): next try {soon}, giving up in {left:.0f} s"
        quiet = now - self._quiet_since
        return f"no answer for {quiet:.0f} s" if self._under_way and quiet >= _QUIET else ""

    def _alive(self) -> None:
        self.tries = self._pauses = 0
        self._room = max(self._room, 1)
        self._asked_until = 0.0
        self._failed.clear()
        self._quiet_since = self._clock()
        self._wake()

    def _doubt(self) -> None:
        if not self.answered:
            self._room = max(self._room - 1, 1)

    def _full(self, rank: int) -> bool:
        """Say whether a request must wait for those under way, or for others that go first."""
        if self._ended or not self._network or (self._room == math.inf and not self.silent):
            return False
        full = self._trying if self.silent else self._under_way + 1 > self._room
        return full or any(n for other, n in self._waiting.items() if other < rank)

    def _over(self, fresh: bool) -> bool:
        enough = not fresh or len(self._failed) >= _REQUESTS
        return self.silent and enough and self._left() <= 0

    def _left(self) -> float:
        """Return the seconds until a silent model is given up; not above 0 if it is."""
        if self.impatient:
            return 0.0
        wrong = not self.answered and self.error is not None and self.error.code in _WRONG
        return (min(self._patience, _WRONG_SECONDS) if wrong else self._patience) - self.seconds

    async def _pause(self) -> None:
        now = self._clock()
        pause = min(_FIRST_PAUSE * 2 ** min(self._pauses, 10), _LONGEST_PAUSE)
        pause *= self._pauses > 0 or self._asked_until <= now  # a server that says when is believed once
        self._pauses += 1
        self._try_at = min(max(now + pause, self._asked_until), now + self._left())
        await self._sleep(self._try_at - now)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
