"""The tasks of a run: one looks requests up in the store, the others send the missing ones."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from metaeval.base.errors import StoppedError
from metaeval.llm.calls.terms import check_stated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from metaeval.llm.calls.caller import Caller
    from metaeval.llm.calls.price import Prices
    from metaeval.llm.calls.request import FailureKind, Reply, Request
    from metaeval.llm.store.replies import Store, Taken

_BATCH = 250  # requests that are looked up at once
_LENGTH = 2**20  # characters of these, after which no more are taken
_LATER = 1000  # requests that may wait for another process's reply before a task waits with them
_LOOK_AGAIN = 0.1  # seconds
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
        """The last reply: the first usable one, if there is one."""
        return self.replies[-1]


@dataclass(slots=True)
class Lost:
    """Requests to a model that brought no reply, all for the same reason."""

    message: str
    """The error message of the first of them."""
    count: int = 0


@dataclass(slots=True)
class Tally:
    """Counts of a run so far."""

    done: int = 0
    failed: int = 0
    """Requests without a usable reply, those that the budget did not allow included."""
    from_store: int = 0
    """Requests whose replies were in the store before; repetitions of a request of this run do not count."""
    calls: int = 0
    """Requests sent, repeated ones included."""
    usd: float = 0.0
    """Cost of the replies of this run, as far as it is known."""
    spent: float = 0.0
    """USD that count against the budget: ``usd``, and the most that lost calls may have cost."""
    lost: dict[tuple[str, FailureKind, str], Lost] = field(default_factory=dict)
    """Model, kind of failure and code → requests that ended without a reply, except for lack of budget."""
    unpriced: int = 0
    """Replies whose cost is not known."""


@dataclass(slots=True)
class _Item:
    position: int
    request: Request
    since: float
    replies: list[Reply] = field(default_factory=list)
    asked: bool = False
    usable: bool = False

    @property
    def next(self) -> Request:
        """The attempt that is due."""
        return self.request.again(len(self.replies))


class Work:
    """Everything between the requests and their answers, for one event loop.

    Parameters
    ----------
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
        emit: Callable[[list[Answer]], None],
        behind: Callable[[], bool],
        others_seconds: float,
    ) -> None:
        self._store, self._prices, self._tally = store, prices, tally
        self._usable, self._attempts, self._clock = usable, attempts, clock
        self._emit, self._behind = emit, behind
        self._others_seconds = others_seconds
        self._later: list[_Item] = []
        self._moved = clock()  # when one of these was last answered
        self._sent: set[str] = set()  # keys, in this run
        self._online = False
        self.seen = self.missing = 0

    @property
    def asked_elsewhere(self) -> int:
        """How many requests wait for another run that has claimed the same."""
        return len(self._later)

    async def read(self, requests: Iterable[Request]) -> None:
        """Take all answers from the store; count those that are not there in ``missing``."""
        async for _ in self._missing(requests):
            self.missing += 1

    async def hand_over(self, requests: Iterable[Request], instead: Callable[[Request], Reply]) -> None:
        """Take answers from the store; what must be sent is given to a function, which says why not yet.

        Raises
        ------
        HandedOverError
            At the end, if replies are to come: those whose error is of kind ``budget``.
        """
        self._online = True
        async for item in self._missing(requests):
            reply = instead(item.next)
            item.replies.append(reply)
            self._ended(item)
            self._emit([self._answer(item)])
            self.missing += reply.error is not None and reply.error.kind == "budget"
        if self.missing:
            raise HandedOverError(f"{self.missing:,} replies are to come")

    async def ask(self, requests: Iterable[Request], caller: Caller, workers: int) -> None:
        """Take answers from the store, and have the rest sent by a number of tasks."""
        self._online = True
        todo: asyncio.Queue[_Item | None] = asyncio.Queue(2 * workers)
        feeder = asyncio.create_task(self._feed(requests, todo, workers))
        tasks = [feeder, *(asyncio.create_task(self._ask_all(todo, caller)) for _ in range(workers))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            broken = next((t.exception() for t in done if t.exception()), None)
            if broken is not None:
                # Calls under way are paid for, so they may end; nothing new is sent.
                caller.stop(broken)
                feeder.cancel()
                while not todo.empty():
                    todo.get_nowait()
                for _ in range(workers):
                    todo.put_nowait(None)
                await asyncio.wait(tasks, timeout=_GRACE)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        for error in ended:
            if isinstance(error, BaseException) and not isinstance(error, asyncio.CancelledError):
                raise error

    async def _missing(self, requests: Iterable[Request]) -> AsyncIterator[_Item]:
        """Look requests up in batches; emit what the store has, and yield the rest."""
        for batch in _batches(requests):
            items = [_Item(position, request, 0.0) for position, request in enumerate(batch, self.seen)]
            self.seen += len(batch)
            for item in self._look_up(items):
                item.since = self._clock()
                yield item
            await asyncio.sleep(0)
            while self._behind():
                await asyncio.sleep(0.01)

    async def _feed(
        self, requests: Iterable[Request], todo: asyncio.Queue[_Item | None], workers: int
    ) -> None:
        async for item in self._missing(requests):
            await todo.put(item)
        for _ in range(workers):
            await todo.put(None)

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
        last = item.request.again(len(item.replies) - 1).key
        error = item.replies[-1].error
        unsent = error is not None and error.kind == "budget"
        self._tally.from_store += not (item.asked or unsent or last in self._sent)
        if error is not None and not unsent:
            reason = (f"{item.request.provider}/{item.request.model}", error.kind, error.code)
            self._tally.lost.setdefault(reason, Lost(error.message)).count += 1
        return Answer(item.position, item.request, tuple(item.replies), not item.asked)

    async def _ask_all(self, todo: asyncio.Queue[_Item | None], caller: Caller) -> None:
        while (item := await todo.get()) is not None:
            if not await self._ask(item, caller):
                self._later.append(item)
                if len(self._later) > _LATER:
                    await self._ask_later(caller)
        while self._later:
            await self._ask_later(caller)

    async def _ask_later(self, caller: Caller) -> None:
        """Try one of the requests that another run had claimed."""
        item = self._later.pop(0)
        if await self._ask(item, caller):
            self._moved = self._clock()
            return
        self._later.append(item)
        if self._clock() - max(self._moved, item.since) > self._others_seconds:
            # Whoever asks is alive, or the claim would be void, but may have been suspended.
            raise StoppedError(
                f"another run on the store {self._store.path} is asking {len(self._later):,} of the same "
                f"requests, and for {self._others_seconds:.0f} s none was answered; end that run, or wait "
                f"for it, and run the same command again"
            )
        await asyncio.sleep(_LOOK_AGAIN)

    async def _ask(self, item: _Item, caller: Caller) -> bool:
        """Get the replies of a request; false if another run has claimed it."""
        while True:
            request = item.next
            taken = await self._claim(request.key)
            if taken.reply is not None:
                item.replies.append(taken.reply)
            elif taken.ours:
                item.replies.append(await self._send(item, request, caller))
            else:
                return False
            if self._ended(item):
                self._emit([self._answer(item)])
                return True
            item.since = self._clock()

    async def _claim(self, key: str) -> Taken:
        try:
            return await self._store.claim(key)
        except asyncio.CancelledError:
            # The claim may be written after this: the release follows it.
            self._store.release(key)
            raise

    async def _send(self, item: _Item, request: Request, caller: Caller) -> Reply:
        kept = False
        try:
            reply = await caller.call(request, item.since)
            if reply.error is None or reply.error.kind != "budget":
                item.asked = kept = True
                self._sent.add(request.key)
                usd = self._prices.cost(request, reply)
                self._tally.usd += usd or 0.0
                self._tally.unpriced += usd is None
                reply = await self._store.put_soon(request, reply)
        finally:
            self._tally.calls, self._tally.spent = caller.purse.calls, caller.purse.spent
            if not kept:
                self._store.release(request.key)
        return reply


def _batches(requests: Iterable[Request]) -> Iterator[list[Request]]:
    """Yield requests some at a time; fewer if they are long, for all of them are in memory at once."""
    batch: list[Request] = []
    length = 0
    for request in requests:
        batch.append(request)
        length += request.length
        if len(batch) == _BATCH or length > _LENGTH:
            yield batch
            batch, length = [], 0
    if batch:
        yield batch
