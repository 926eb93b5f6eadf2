"""Run many requests: take replies from the store, ask providers for the rest, store each reply first."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import queue
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

from metaeval.base.errors import MetaevalError, StoppedError
from metaeval.base.progress import progress
from metaeval.llm.calls.caller import Caller, Tally
from metaeval.llm.calls.request import Reply, Request
from metaeval.llm.calls.work import Answer, HandedOverError, Work

if TYPE_CHECKING:
    from metaeval.llm.store.replies import Store

_AHEAD = 1000  # answers that may wait for the consumer before no more requests are taken
_NOTE_SECONDS = 0.2


class _Session:
    """An event loop in a thread of its own, and the caller of all that runs in it."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.tasks: set[asyncio.Task[None]] = set()
        self._runner = asyncio.Runner(loop_factory=asyncio.events.new_event_loop)
        self.loop = self._runner.get_loop()
        self._over = asyncio.Event()
        # A daemon: a program that ends in the middle of a run does not wait for it.
        self._thread = threading.Thread(target=self._work, name="metaeval calls", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Close all connections, and end the thread."""
        with contextlib.suppress(RuntimeError):  # it broke, and is closed
            self.loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def _work(self) -> None:
        with self._runner:
            self._runner.run(self._main())

    async def _main(self) -> None:
        try:
            await self._over.wait()
        finally:
            await self.caller.close()


class CallLoop:
    """An event loop for the work of several runs; there is one from the first until none is left.

    ``caller`` sends what they all send; its client is made when the loop begins, and closed when it ends.
    """

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self._changing = threading.Lock()
        self._session: _Session | None = None
        self._runs = 0

    @contextlib.contextmanager
    def running(
        self,
        work: Callable[[], Coroutine[None, None, None]],
        ended: Callable[[asyncio.Task[None]], None],
    ) -> Iterator[None]:
        """Have work done for the length of a block; what is left of it at the end is cancelled.

        Parameters
        ----------
        work
            Is done in the loop.
        ended
            Called in the loop when the work is over, however it went.
        """
        with self._changing:
            if self._session is None:
                self._session = _Session(self.caller)
                gc.freeze()  # what was there before is no garbage: looking for it takes a tenth of the time
            session = self._session
            self._runs += 1
        begun: Future[asyncio.Task[None]] = Future()
        over = threading.Event()

        def begin() -> None:
            task = session.loop.create_task(work())
            session.tasks.add(task)
            task.add_done_callback(end)
            begun.set_result(task)

        def end(task: asyncio.Task[None]) -> None:
            session.tasks.discard(task)
            ended(task)
            over.set()

        session.loop.call_soon_threadsafe(begin)
        try:
            yield
        finally:
            session.loop.call_soon_threadsafe(begun.result().cancel)
            over.wait()
            with self._changing:
                self._runs -= 1
                if not self._runs:
                    self._session = None
                    gc.unfreeze()
                    session.end()

    def stop(self, error: Exception | None = None) -> None:
        """Cancel the work of all runs; with an error they get it, and calls under way may end."""
        session = self._session
        if session is None:
            return

        def cancel() -> None:
            for task in session.tasks:
                task.cancel()

        with contextlib.suppress(RuntimeError):  # it has just ended
            session.loop.call_soon_threadsafe(cancel if error is None else lambda: session.caller.stop(error))


@dataclass(eq=False)
class RequestRun:
    """A run of requests; iterate over it once for the `Answer` of each, in the order in which they come.

    The work is done in the thread of an event loop, so it can be used from a notebook. When the iteration
    ends early, by ``break`` or Ctrl-C, calls under way are dropped; what was answered is kept.

    Parameters
    ----------
    requests
        Consumed one by one as the work goes on.
    store
        Where replies are looked up and kept.
    loop
        Where the run sends its requests, beside others; it has their limits, budget and prices.
    usable
        Says whether the reply to the request at a position can be used; called in the run's thread. If not,
        the request is sent again, as another attempt.
    attempts
        How often a request is sent at most until a reply can be used.
    unread
        Returns what the `StoppedError` says if none of the first ``limits.stop_unread`` replies can be used,
        from the position and the reply of the last. If it is left out, the run goes on.
    weak
        Says whether a reply that can be used, and is not asked for again, counts there all the same.
    offline
        Take everything from the store; no client is made.
    instead
        Called with each request that must be sent, in the run's thread, instead of sending it: see
        `metaeval.llm.calls.work.Work.read`.
    description, total
        Label of the progress bar, and the number of requests; without a total there is no bar.

    Raises
    ------
    MetaevalError
        While iterating: a key is missing, the store cannot be used, or, offline, replies are not there; a
        model refuses a setting that a request states.
    StoppedError
        While iterating: a model answers no call at all; or, with ``instead``, replies are outstanding.
    """

    requests: Iterable[Request]
    store: Store
    loop: CallLoop = field(default_factory=lambda: CallLoop(Caller()))
    _: KW_ONLY
    usable: Callable[[int, Reply], bool] = lambda _, reply: bool(reply.text)
    attempts: int = 1
    unread: Callable[[int, Reply], str] | None = None
    weak: Callable[[int, Reply], bool] = lambda *_: False
    offline: bool = False
    instead: Callable[[Request], Reply] | None = None
    description: str = "asking"
    total: int = 0

    def __post_init__(self) -> None:
        self.tally = Tally()
        self._out: queue.SimpleQueue[list[Answer] | None] = queue.SimpleQueue()
        self._emitted = 0  # answers, counted in the loop's thread
        self._taken = 0  # counted in the consumer's
        self._broken: BaseException | None = None
        self._work = Work(
            self.store,
            self.loop.caller,
            self.tally,
            usable=self.usable,
            attempts=self.attempts,
            unread=self.unread,
            weak=self.weak,
            emit=self._emit,
            behind=lambda: self._emitted - self._taken > _AHEAD,
        )

    def __iter__(self) -> Iterator[Answer]:
        """Yield the answer of each request."""
        started = noted = time.monotonic()
        steps = 0
        answers: list[Answer] | None = []
        try:
            with (
                self.loop.running(self._do, self._end),
                progress(self.description, self.total) as advance,
            ):
                while answers is not None:
                    try:
                        answers = self._out.get(timeout=_NOTE_SECONDS)
                    except queue.Empty:  # the progress line is updated all the same
                        answers = []
                    self._taken += len(answers or ())
                    steps += len(answers or ())
                    if time.monotonic() - noted >= _NOTE_SECONDS or answers is None:
                        noted = time.monotonic()
                        advance(steps, note=self.tally.note(noted - started, self._work.waiting()))
                        steps = 0
                    yield from answers or ()
        finally:
            # What ended the run is told at once, even if the store is silent; closing it writes the rest.
            if not self.offline and self._broken is None:
                self.store.flush()
        if self._broken is not None:
            raise self._broken

    def _end(self, work: asyncio.Task[None]) -> None:
        """Mark the end of the answers, whatever happened."""
        self._broken = StoppedError("interrupted") if work.cancelled() else work.exception()
        self._out.put(None)

    async def _do(self) -> None:
        work = self._work
        if not self.offline and self.instead is None:
            await work.send(self.requests)
            return
        await work.read(self.requests, self.instead)
        if work.missing and self.instead is not None:
            raise HandedOverError(f"{work.missing:,} replies are outstanding")
        if work.missing:
            raise MetaevalError(
                f"{work.missing:,} of {work.seen:,} replies are not in the store {self.store.name}; import "
                f"them with `metaeval store import`, or run without --offline"
            )

    def _emit(self, answers: list[Answer]) -> None:
        self._emitted += len(answers)
        self._out.put(answers)
