"""The tasks of a run: one looks up requests in the store, and starts a task per missing reply."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from metaeval.base.errors import StoppedError, UnreadableError
from metaeval.llm.calls.limits import Trial
from metaeval.llm.calls.request import Reply, Request
from metaeval.llm.calls.terms import check_stated

if TYPE_CHECKING:
    from metaeval.llm.calls.address import Address
    from metaeval.llm.calls.caller import Caller, Tally
    from metaeval.llm.store.replies import Claimed, Store

_BATCH = 250  # requests that are looked up at once
_ASIDE = 1000  # requests that wait for others, after which no more are taken
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
    """A request, and its replies so far."""

    position: int
    request: Request
    since: float = 0.0
    replies: list[Reply] = field(default_factory=list)
    sent: bool = False
    """Whether anything was sent for it in this run."""
    usable: bool = False
    placed: bool = True
    """Whether it has a place at its address."""

    @property
    def next(self) -> Request:
        """The attempt that is due."""
        return self.request.again(self.request.attempt + len(self.replies))

    @property
    def last(self) -> Request:
        """The attempt that was made last."""
        return self.request.again(self.request.attempt + len(self.replies) - 1)


@dataclass(eq=False)
class Work:
    """Everything between the requests of a run and their answers, for one event loop.

    Parameters
    ----------
    usable, attempts, unread, weak
        As for `metaeval.llm.calls.runner.RequestRun`.
    emit, behind
        Pass answers on; say whether their consumer is far behind.
    """

    store: Store
    caller: Caller
    tally: Tally
    _: KW_ONLY
    usable: Callable[[int, Reply], bool]
    attempts: int
    unread: Callable[[int, Reply], str] | None
    weak: Callable[[int, Reply], bool]
    emit: Callable[[list[Answer]], None]
    behind: Callable[[], bool]

    def __post_init__(self) -> None:
        self._clock = self.caller.clock
        self._trial = Trial(self.caller.limits.stop_unread if self.unread else 0)
        self._aside = 0  # requests that others send too, or that wait for the first of a group
        self._moved = self._clock()  # when a request was last answered
        self._sent: set[str] = set()  # keys, in this run
        self._lost: list[_Item] = []  # whose last reply is a failure
        self._online = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._over = asyncio.Event()  # no task is left, or one has failed
        self._error: BaseException | None = None
        self.seen = self.missing = 0
        self.claimed_elsewhere = 0
        """How many requests wait for another process that has claimed the same."""

    async def read(self, requests: Iterable[Request], instead: Callable[[Request], Reply] | None) -> None:
        """Take answers from the store; count those that are not there in ``missing``.

        ``instead`` is called with each request that must be sent: it returns its failure, or one of kind
        ``budget`` for a reply that is to come, which is counted.
        """
        self._online = instead is not None
        async for item in self._missing(requests):
            outstanding = True
            if instead is not None:
                if item.replies:
                    self._check_trial(item)
                item.replies.append(instead(item.next))
                self._ended(item)
                self.emit([self._answer(item)])
                error = item.replies[-1].error
                outstanding = error is not None and error.kind == "budget"
            self.missing += outstanding

    async def send(self, requests: Iterable[Request]) -> None:
        """Take answers from the store, and have the rest sent, as many at once as each address takes."""
        self._online = True
        feeder = self._start(self._feed(requests))
        try:
            await self._over.wait()
            if self._error is not None:
                # Calls under way are paid for, so they may end; nothing new is sent.
                if not isinstance(self._error, StoppedError):
                    self.caller.stop(self._error)
                self._trial.end()  # who waits for it gets the error
                feeder.cancel()
                await asyncio.wait([feeder, *self._tasks], timeout=_GRACE)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._error is not None:
            raise self._error
        found = self.store.get_many(item.last.key for item in self._lost)
        self.emit([self._late(item, found) for item in self._lost])
        self.caller.check(self.tally.models)

    def waiting(self) -> str:
        """Return what the requests wait for, in a few words."""
        others = f"{self.claimed_elsewhere:,} sent by another run" if self.claimed_elsewhere else ""
        return self.caller.note(self.tally.models) or others

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
        left = iter(requests)
        while items := [_Item(self.seen + i, r) for i, r in enumerate(itertools.islice(left, _BATCH))]:
            self.seen += len(items)
            for item in self._look_up(items):
                item.since = self._clock()
                yield item
            await asyncio.sleep(0)
            while self.behind():
                await asyncio.sleep(0.01)

    async def _feed(self, requests: Iterable[Request]) -> None:
        async for item in self._missing(requests):
            while self._aside > _ASIDE:
                await asyncio.sleep(_LOOK_AGAIN)
            address = self.caller.address(item.request)
            await address.places.acquire()
            task = self._start(self._reply_to(item, address))
            # Also if it is cancelled before it begins.
            task.add_done_callback(lambda _, i=item, a=address: a.places.release() if i.placed else None)  # type: ignore[misc]

    def _look_up(self, items: list[_Item]) -> list[_Item]:
        """Emit the answers that the store has, and return the requests that must be sent."""
        answers: list[Answer] = []
        missing: list[_Item] = []
        while items:
            wanted = [(item, item.next.key) for item in items]
            replies = self.store.get_many(key for _, key in wanted)
            items = []
            for item, key in wanted:
                reply = replies.get(key)
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
            self.emit(answers)
        return missing

    def _ended(self, item: _Item) -> bool:
        reply = item.replies[-1]
        check_stated(item.request, reply.sent)
        item.usable = reply.final and self.usable(item.position, reply)
        if item.usable and not self.weak(item.position, reply):
            self._trial.end()
        return item.usable or not reply.final or len(item.replies) >= self.attempts

    def _answer(self, item: _Item) -> Answer:
        self.tally.failed += not item.usable
        error = item.replies[-1].error
        unsent = error is not None and error.kind == "budget"
        self.tally.from_store += not (item.sent or unsent or item.last.key in self._sent)
        return Answer(item.position, item.request, tuple(item.replies), not item.sent)

    def _late(self, item: _Item, found: Mapping[str, Reply]) -> Answer:
        """Return the answer to a lost request; someone else may have put its reply into the store since."""
        failure, reply = item.replies[-1], found.get(item.last.key)
        if reply is not None and reply.final:
            item.replies[-1] = reply
            if not self._ended(item):
                item.replies[-1] = failure
        return self._answer(item)

    async def _reply_to(self, item: _Item, address: Address) -> None:
        """Get the replies of a request that has a place at its address."""
        with address.beginning(item.request.group) as first:
            if first is not None:
                await self._step_aside(item, address, first.wait())
            over = False
            while not over:
                request = item.next
                if failure := address.failed.get(request.key):
                    item.replies.append(failure)
                    break
                taken = None if request.key in address.under_way else await self._claim(request.key)
                if taken is not None and taken.reply is not None:
                    item.replies.append(taken.reply)
                    over = self._ended(item)
                elif taken is not None and taken.ours:
                    item.replies.append(await self._pay(item, request, address))
                    over = self._ended(item)
                    self._check_trial(item)
                else:
                    under_way = address.under_way.get(request.key)
                    waiting = self._wait_for_others(item) if under_way is None else under_way.wait()
                    await self._step_aside(item, address, waiting)
                    continue
                item.since = self._clock()
            self._moved = item.since
            error = item.replies[-1].error
            if error is not None and error.kind == "transport":
                self._lost.append(item)
            else:
                self.emit([self._answer(item)])

    def _check_trial(self, item: _Item) -> None:
        reply = item.replies[-1]
        if self._trial.failed(unread=reply.final):
            raise UnreadableError(self.unread(item.position, reply) if self.unread else "")

    async def _step_aside(self, item: _Item, address: Address, waiting: Awaitable[object]) -> None:
        """Leave the place to others while waiting for what others ask."""
        address.places.release()
        item.placed = False
        self._aside += 1
        try:
            await waiting
        finally:
            self._aside -= 1
        await address.places.acquire()
        item.placed = True

    async def _wait_for_others(self, item: _Item) -> None:
        """Wait a moment for another process; raise `StoppedError` if that was of no use for long."""
        self.claimed_elsewhere += 1
        patience = self.caller.limits.call_seconds
        try:
            if self._clock() - max(self._moved, item.since) > patience:
                # Whoever asks is alive, or the claim would be void, but may have been suspended.
                raise StoppedError(
                    f"another run on the store {self.store.name} is asking {self.claimed_elsewhere:,} of "
                    f"the same requests, and for {patience:.0f} s none was answered; end that run, "
                    f"or wait for it, and run the same command again"
                )
            await asyncio.sleep(_LOOK_AGAIN * max(1.0, self.claimed_elsewhere / _LOOKING))
        finally:
            self.claimed_elsewhere -= 1

    async def _claim(self, key: str) -> Claimed:
        try:
            return await self.store.claim(key)
        except asyncio.CancelledError:
            # The claim may be written after this: the release follows it.
            self.store.release(key)
            raise

    async def _pay(self, item: _Item, request: Request, address: Address) -> Reply:
        kept = False
        over = address.under_way[request.key] = asyncio.Event()
        try:
            await self._trial.place()
            if self._error is not None:
                raise self._error
            reply = await self.caller.call(request, item.since, self.tally)
            if reply.error is None or reply.error.kind != "budget":
                item.sent = kept = True
                self._sent.add(request.key)
                usd = self.caller.prices.cost(request, reply)
                self.tally.usd += usd or 0.0
                self.tally.unpriced += usd is None
                reply = await self.store.put_soon(request, reply)
                if not reply.final:
                    address.failed[request.key] = reply
        finally:
            if not kept:
                self.store.release(request.key)
            del address.under_way[request.key]
            over.set()
        return reply
