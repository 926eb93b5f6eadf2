"""Run many requests: take replies from the store, ask providers for the rest, store each reply first."""

from __future__ import annotations

import asyncio
import gc
import queue
import random
import time
from typing import TYPE_CHECKING

from metaeval.base.errors import MetaevalError, StoppedError
from metaeval.base.progress import progress
from metaeval.llm.calls.caller import Caller
from metaeval.llm.calls.client import client_for
from metaeval.llm.calls.limits import Budget, Limits, Purse
from metaeval.llm.calls.loop import CallLoop
from metaeval.llm.calls.price import Prices
from metaeval.llm.calls.tally import Tally
from metaeval.llm.calls.work import Answer, Work

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

    from metaeval.llm.calls.caller import ModelAt
    from metaeval.llm.calls.client import Client
    from metaeval.llm.calls.request import Reply, Request
    from metaeval.llm.calls.terms import Terms
    from metaeval.llm.providers import Connection
    from metaeval.llm.store.replies import Store

_AHEAD = 2**21  # characters that may wait for the caller before no more requests are taken
_OF_ANSWER = 2000  # of an answer, beside its request's messages
_NOTE_SECONDS = 0.2


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
    clients
        Makes the client for a provider and address.
    limits, budget, prices
        Limits of the run, its budget, and prices of models.
    terms
        What each model is known to take, to be shared with other runs.
    loop
        Where the run asks, beside others; what has its own limits and budget, clients and terms. One of the
        run's own, if left out.
    usable
        Says whether the reply to the request at a position can be used; called in the run's thread. If not,
        the request is sent again, as another attempt.
    attempts
        How often a request is sent at most until a reply can be used.
    offline
        Take everything from the store; no client is made.
    instead
        Called with each request that must be sent, in the run's thread, instead of sending it: see
        `metaeval.llm.calls.work.Work.hand_over`.
    description, total
        Label of the progress bar, and the number of requests; without a total there is no bar.
    clock, sleep, draw
        As in `metaeval.llm.calls.caller.Caller`, for tests.

    Raises
    ------
    MetaevalError
        While iterating: a key is missing, the store cannot be used, or, offline, replies are not there; a
        model refuses a setting that a request states.
    StoppedError
        While iterating: a model answers no call at all; or, with ``instead``, replies are outstanding.
    """

    def __init__(
        self,
        requests: Iterable[Request],
        store: Store,
        *,
        clients: Callable[[Connection], Client] = client_for,
        limits: Limits | None = None,
        budget: Budget | None = None,
        prices: Prices | None = None,
        terms: dict[ModelAt, Terms] | None = None,
        loop: CallLoop | None = None,
        usable: Callable[[int, Reply], bool] = lambda _, reply: bool(reply.text),
        attempts: int = 1,
        offline: bool = False,
        instead: Callable[[Request], Reply] | None = None,
        description: str = "asking",
        total: int = 0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        if attempts < 1:
            raise MetaevalError(f"attempts is {attempts}; it must be 1 or more")
        self.tally = Tally()
        self._requests, self._store = requests, store
        self._limits, self._prices = limits or Limits(), prices or Prices()
        self._usable, self._attempts, self._offline = usable, attempts, offline
        self._instead = instead
        self._description, self._total, self._clock = description, total, clock
        purse = Purse(budget or Budget(), self._prices)
        self._loop = loop or CallLoop(
            lambda: Caller(
                clients,
                self._limits,
                purse,
                self._prices,
                terms={} if terms is None else terms,
                clock=clock,
                sleep=sleep,
                draw=draw,
            )
        )
        self._out: queue.SimpleQueue[list[Answer] | None] = queue.SimpleQueue()
        self._emitted = 0  # characters, counted in the loop's thread
        self._taken = 0  # counted in the consumer's
        self._broken: BaseException | None = None
        self.waiting: Callable[[], str] = str
        """Says what the requests wait for, in a few words; may be called from another thread."""

    def __iter__(self) -> Iterator[Answer]:
        """Yield the answer of each request."""
        started = noted = time.monotonic()
        steps = 0
        answers: list[Answer] | None = []
        gc.freeze()  # what was there before is no garbage, and looking for it takes a tenth of the time
        try:
            with (
                self._loop.running(self._work, self._end),
                progress(self._description, self._total) as advance,
            ):
                while answers is not None:
                    try:
                        answers = self._out.get(timeout=_NOTE_SECONDS)
                    except queue.Empty:  # the progress line is updated all the same
                        answers = []
                    self._taken += _length(answers or ())
                    steps += len(answers or ())
                    if time.monotonic() - noted >= _NOTE_SECONDS or answers is None:
                        noted = time.monotonic()
                        advance(steps, note=self.tally.note(noted - started, self.waiting()))
                        steps = 0
                    yield from answers or ()
        finally:
            gc.unfreeze()
            if not self._offline:
                self._store.flush()
        if self._broken is not None:
            raise self._broken

    def _end(self, work: asyncio.Task[None]) -> None:
        """Mark the end of the answers, whatever happened."""
        self._broken = StoppedError("interrupted") if work.cancelled() else work.exception()
        self._out.put(None)

    async def _work(self, caller: Caller) -> None:
        work = Work(
            self._store,
            self._prices,
            self.tally,
            usable=self._usable,
            attempts=self._attempts,
            clock=self._clock,
            share=self._loop.share,
            emit=self._emit,
            behind=lambda: self._emitted - self._taken > self._loop.share(_AHEAD),
            others_seconds=self._limits.call_seconds,
        )

        def waiting() -> str:
            others = f"{work.asked_elsewhere:,} asked by another run" if work.asked_elsewhere else ""
            return caller.note(self.tally.models) or others

        self.waiting = waiting
        if self._instead is not None:
            await work.hand_over(self._requests, self._instead)
        elif self._offline:
            await work.read(self._requests)
            if work.missing:
                raise MetaevalError(
                    f"{work.missing:,} of {work.seen:,} replies are not in the store {self._store.name}; "
                    f"import them with `metaeval store import`, or run without --offline"
                )
        else:
            await work.ask(self._requests, caller)
            caller.check(self.tally.models)

    def _emit(self, answers: list[Answer]) -> None:
        self._emitted += _length(answers)
        self._out.put(answers)


def _length(answers: Sequence[Answer]) -> int:
    """Return about how many characters some answers hold."""
    return sum(_OF_ANSWER + answer.request.length for answer in answers)
