"""The tasks of a run: one looks up requests in the store, and starts a task per missing reply."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from metaeval.base.errors import StoppedError
from metaeval.llm.calls.tally import Lost, Tally
from metaeval.llm.calls.terms import check_stated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator

    from metaeval.llm.calls.address import Address
    from metaeval.llm.calls.caller import Caller
    from metaeval.llm.calls.price import Prices
    from metaeval.llm.calls.request import Reply, Request
    from metaeval.llm.store.replies import Store, Taken

_BATCH = 250  # requests that are looked up at once
_LENGTH = 2**20  # characters of these, after which no more are taken
_ASIDE = 2**20  # characters of requests that others ask too, after which no more are taken
_OF_ITEM = 2000  # of a request, beside its messages
_LOOK_AGAIN = 0.1  # seconds; longer, if many wait
_LOOKING = 32  # how many look again in that time
_GRACE = 3.0  # seconds that calls under way get when the run stops by itself


class HandedOverError(StoppedError):
    """Requests whose replies are not there were handed over instead of sent."""


class Answer(NamedTuple):
    """The replies to a request."""

    position: int
    """Place of the request among those given, from 0."""
    request: Request
    replies: tuple[Reply, ...]
    """One per attempt; never empty."""
    from_store: bool
    """Whether nothing was sent for it in this run."""

    @property
    def reply(self) -> Reply:
        """The last reply, which is the first usable one, if any."""
        return self.replies[-1]


@dataclass(slots=True)
class _Item:
    position: int
    request: Request
    since: float
    replies: list[Reply] = field(default_factory=list)
    asked: bool = False
    usable: bool = False
    placed: bool = True
    """Whether it has a place at its address."""

    @property
    def next(self) -> Request:
        """The attempt that is due."""
        return self.attempt(len(self.replies))

    def attempt(self, number: int) -> Request:
        """Return an attempt; the first is the one that was given."""
        return self.request.again(self.request.attempt + number)


class Work:
    """Everything between the requests of a run and their answers, for one event loop.

    Parameters
    ----------
    share
        Returns this run's share of a number of characters that may be in memory.
    emit, behind
        Pass answers on; say whether their consumer is far behind.
    others_seconds
        How long to wait for requests that another run has claimed while none of them is answered.
    """

    def __init__(
        self,
        store: Store,
        prices: Prices,
        tally: Tally,
        *,
        usable: Callable[[int, Reply], bool],
        attempts: int,
        clock: Callable[[], float],
        share: Callable[[int], int],
        emit: Callable[[list[Answer]], None],
        behind: Callable[[], bool],
        others_seconds: float,
    ) -> None:
        self._store, self._prices, self._tally = store, prices, tally
        self._usable, self._attempts, self._clock = usable, attempts, clock
        self._share, self._emit, self._behind = share, emit, behind
        self._others_seconds = others_seconds
        self._aside = 0  # characters of requests that others ask too, or that wait for the first of a group
        self._groups: Counter[str] = Counter()  # how many of each wait so
        self._moved = clock()  # when a request was last answered
        self._sent: set[str] = set()  # keys, in this run
        self._online = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._over = asyncio.Event()  # no task is left, or one has failed
        self._error: BaseException | None = None
        self.seen = self.missing = 0
        self.asked_elsewhere = 0
        """How many requests wait for another process that has claimed the same."""

    async def read(self, requests: Iterable[Request]) -> None:
        """Take all answers from the store; count those that are not there in ``missing``."""
        async for _ in self._missing(requests):
            self.missing += 1

    async def hand_over(self, requests: Iterable[Request], instead: Callable[[Request], Reply]) -> None:
        """Take answers from the store; what must be sent is given to a function, which says why not yet.

        Raises
        ------
        HandedOverError
            At the end, if replies are outstanding: those whose error is of kind ``budget``.
        """
        self._online = True
        async for item in self._missing(requests):
            reply = instead(item.next)
            item.replies.append(reply)
            self._ended(item)
            self._emit([self._answer(item)])
            self.missing += reply.error is not None and reply.error.kind == "budget"
        if self.missing:
            raise HandedOverError(f"{self.missing:,} replies are outstanding")

    async def ask(self, requests: Iterable[Request], caller: Caller) -> None:
        """Take answers from the store, and have the rest sent, as many at once as each address takes."""
        self._online = True
        feeder = self._start(self._feed(requests, caller))
        try:
            await self._over.wait()
            if self._error is not None:
                # Calls under way are paid for, so they may end; nothing new is sent.
                if not isinstance(self._error, StoppedError):
                    caller.stop(self._error)
                feeder.cancel()
                await asyncio.wait([feeder, *self._tasks], timeout=_GRACE)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._error is not None:
            raise self._error

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended_task)
        return task

    def _ended_task(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        self._error = self._error or error
        if self._error is not None or not self._tasks:
            self._over.set()

    async def _missing(self, requests: Iterable[Request]) -> AsyncIterator[_Item]:
        """Look requests up in batches; emit what the store has, and yield the rest."""
        for batch in _batches(requests, self._share):
            items = [_Item(position, request, 0.0) for position, request in enumerate(batch, self.seen)]
            self.seen += len(batch)
            for item in self._look_up(items):
                item.since = self._clock()
                yield item
            await asyncio.sleep(0)
            while self._behind():
                await asyncio.sleep(0.01)

    async def _feed(self, requests: Iterable[Request], caller: Caller) -> None:
        async for item in self._missing(requests):
            while self._aside > self._share(_ASIDE):
                await asyncio.sleep(_LOOK_AGAIN)
            address = caller.address(item.request)
            await address.places.acquire()
            task = self._start(self._ask(item, address, caller))
            # Also if it is cancelled before it begins.
            task.add_done_callback(functools.partial(_give_back, item, address))

    def _look_up(self, items: list[_Item]) -> list[_Item]:
        """Emit the answers that the store has, and return the requests that must be sent."""
        answers: list[Answer] = []
        missing: list[_Item] = []
        while items:
            wanted = [(item, item.next.key) for item in items]
            found = self._store.get_many(key for _, key in wanted)
            items = []
            for item, key in wanted:
                reply = found.get(key)
                if reply is not None and (reply.final or not self._online):
                    item.replies.append(reply)
                    if self._ended(item):
                        answers.append(self._answer(item))
                    else:
                        items.append(item)
                elif not self._online and item.replies:
                    # Offline there are no more attempts, even if fewer were made than are allowed now.
                    answers.append(self._answer(item))
                else:
                    missing.append(item)
        if answers:
            self._emit(answers)
        return missing

    def _ended(self, item: _Item) -> bool:
        reply = item.replies[-1]
        check_stated(item.request, reply.sent)
        item.usable = reply.final and self._usable(item.position, reply)
        return item.usable or not reply.final or len(item.replies) >= self._attempts

    def _answer(self, item: _Item) -> Answer:
        self._tally.done += 1
        self._tally.failed += not item.usable
        last = item.attempt(len(item.replies) - 1).key
        error = item.replies[-1].error
        unsent = error is not None and error.kind == "budget"
        self._tally.from_store += not (item.asked or unsent or last in self._sent)
        if error is not None and not unsent:
            reason = (f"{item.request.provider}/{item.request.model}", error.kind, error.code)
            self._tally.lost.setdefault(reason, Lost(error.message)).count += 1
        return Answer(item.position, item.request, tuple(item.replies), not item.asked)

    async def _ask(self, item: _Item, address: Address, caller: Caller) -> None:
        """Get the replies of a request that has a place at its address."""
        with address.beginning(item.request.group) as first:
            if first is not None:
                await self._step_aside(item, address, first.wait())
            await self._ask_at_once(item, address, caller)

    async def _ask_at_once(self, item: _Item, address: Address, caller: Caller) -> None:
        while True:
            request = item.next
            taken = None if request.key in address.under_way else await self._claim(request.key)
            if taken is not None and taken.reply is not None:
                item.replies.append(taken.reply)
            elif taken is not None and taken.ours:
                item.replies.append(await self._send(item, request, address, caller))
            else:
                under_way = address.under_way.get(request.key)
                waiting = self._wait_for_others(item) if under_way is None else under_way.wait()
                await self._step_aside(item, address, waiting)
                continue
            if self._ended(item):
                self._moved = self._clock()
                self._emit([self._answer(item)])
                return
            item.since = self._clock()

    async def _step_aside(self, item: _Item, address: Address, waiting: Awaitable[object]) -> None:
        """Leave the place to others while waiting for what others ask."""
        address.places.release()
        item.placed = False
        with self._set_aside(item.request):
            await waiting
        await address.places.acquire()
        item.placed = True

    @contextlib.contextmanager
    def _set_aside(self, request: Request) -> Iterator[None]:
        """Count the characters of a request that waits; what requests of a group share is in memory once."""
        group = request.group
        shared = request.length - len(request.messages[-1].content) if group else 0
        own = _OF_ITEM + request.length - shared
        self._groups[group] += 1
        self._aside += own + (shared if self._groups[group] == 1 else 0)
        try:
            yield
        finally:
            self._groups[group] -= 1
            self._aside -= own + (shared if self._groups[group] == 0 else 0)

    async def _wait_for_others(self, item: _Item) -> None:
        """Wait a moment for another process; raise `StoppedError` if that was of no use for long."""
        self.asked_elsewhere += 1
        try:
            if self._clock() - max(self._moved, item.since) > self._others_seconds:
                # Whoever asks is alive, or the claim would be void, but may have been suspended.
                raise StoppedError(
                    f"another run on the store {self._store.name} is asking {self.asked_elsewhere:,} of the "
                    f"same requests, and for {self._others_seconds:.0f} s none was answered; end that run, "
                    f"or wait for it, and run the same command again"
                )
            await asyncio.sleep(_LOOK_AGAIN * max(1.0, self.asked_elsewhere / _LOOKING))
        finally:
            self.asked_elsewhere -= 1

    async def _claim(self, key: str) -> Taken:
        try:
            return await self._store.claim(key)
        except asyncio.CancelledError:
            # The claim may be written after this: the release follows it.
            self._store.release(key)
            raise

    async def _send(self, item: _Item, request: Request, address: Address, caller: Caller) -> Reply:
        kept = False
        over = address.under_way[request.key] = asyncio.Event()
        try:
            reply = await caller.call(request, item.since, self._tally)
            if reply.error is None or reply.error.kind != "budget":
                item.asked = kept = True
                self._sent.add(request.key)
                usd = self._prices.cost(request, reply)
                self._tally.usd += usd or 0.0
                self._tally.unpriced += usd is None
                reply = await self._store.put_soon(request, reply)
        finally:
            if not kept:
                self._store.release(request.key)
            del address.under_way[request.key]
            over.set()
        return reply


def _give_back(item: _Item, address: Address, _task: asyncio.Task[None]) -> None:
    if item.placed:
        address.places.release()


def _batches(requests: Iterable[Request], share: Callable[[int], int]) -> Iterator[list[Request]]:
    """Yield requests some at a time; fewer if they are long, for all of them are in memory at once."""
    batch: list[Request] = []
    length = 0
    for request in requests:
        batch.append(request)
        length += request.length
        if len(batch) == _BATCH or length > share(_LENGTH):
            yield batch
            batch, length = [], 0
    if batch:
        yield batch
