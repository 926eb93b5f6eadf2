"""The thread that writes to a store.

It takes all changes that wait and commits them together, so that a thousand replies per second cost a few
commits. A change counts as done only after the commit. If one of them fails, all are rolled back, and each is
made again in a transaction of its own; who sent the one that fails gets the error. So a change does nothing
but read and write the store.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from metaeval.base.errors import MetaevalError
from metaeval.llm.store.database import UndoneError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from metaeval.llm.store.database import StoreConnection

T = TypeVar("T")
_Waiting: TypeAlias = "tuple[str, Callable[[StoreConnection], Any], asyncio.Future[Any] | Future[Any]]"


_AGAIN = 20  # times that a transaction which was undone is made again


class _Outcome(NamedTuple):
    """Result of a change, or why it failed."""

    result: Any = None
    failure: Exception | None = None


class Writer:
    """Makes changes in order; its thread starts with the first.

    Parameters
    ----------
    connect
        Opens the store.
    sentences
        Turns errors of the database into a `MetaevalError`.
    at_end
        Called with the connection before it is closed.
    """

    def __init__(
        self,
        connect: Callable[[], StoreConnection],
        sentences: Callable[[], AbstractContextManager[None]],
        at_end: Callable[[StoreConnection], None],
    ) -> None:
        self._connect, self._sentences, self._at_end = connect, sentences, at_end
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    def write(self, change: Callable[[StoreConnection], T]) -> T:
        """Make a change, and return its result once it is committed."""
        return self.send(change).result()

    def send(self, change: Callable[[StoreConnection], T], key: str = "") -> Future[T]:
        """Send a change to the thread; the result comes when it is committed.

        What waits together is made in the order of the keys that it is about.
        """
        done: Future[T] = Future()
        self._send(key, change, done)
        return done

    async def soon(self, change: Callable[[StoreConnection], T], key: str = "") -> T:
        """Make a change as `write` does, without blocking the event loop."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._send(key, change, done)  # written even if the task that waits for it is cancelled
        return await done

    def flush(self) -> None:
        """Wait until all changes that were sent are written."""
        if self._thread is not None:
            self.write(lambda _: None)

    def close(self) -> None:
        """Wait until all changes that were sent are written, and end the thread."""
        self._closed = True
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None

    def _send(
        self, key: str, change: Callable[[StoreConnection], Any], done: asyncio.Future[Any] | Future[Any]
    ) -> None:
        if self._closed:
            raise MetaevalError("the store is closed; open it again")
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="metaeval store", daemon=True)
            self._thread.start()
        self._waiting.put((key, change, done))

    def _run(self) -> None:
        connection: StoreConnection | None = None
        failure: Exception | None = None
        try:
            with self._sentences():
                connection = self._connect()
        except Exception as error:  # noqa: BLE001 - whoever waits is told
            failure = error
        going = True
        while going:
            taken = [self._waiting.get()]
            with contextlib.suppress(queue.Empty):
                while True:
                    taken.append(self._waiting.get_nowait())
            going = None not in taken
            batch = [b for b in taken if b is not None]
            if connection is None:
                _answer(batch, [_Outcome(failure=failure)] * len(batch))
            elif batch:
                # In one order, so that no two processes wait for each other's claims.
                order = sorted(range(len(batch)), key=lambda i: batch[i][0])
                outcomes = dict(
                    zip(order, self._commit(connection, [batch[i][1] for i in order]), strict=True)
                )
                _answer(batch, [outcomes[i] for i in range(len(batch))])
        if connection is not None:
            # Claims that stay behind are void: the process that made them has ended.
            with contextlib.suppress(Exception), self._sentences():
                self._at_end(connection)
            connection.close()

    def _commit(
        self, connection: StoreConnection, changes: list[Callable[[StoreConnection], Any]], again: int = 0
    ) -> list[_Outcome]:
        """Make changes in one transaction; if one of them fails, each in a transaction of its own."""
        begun = False
        try:
            with self._sentences():
                connection.begin()
                begun = True
                outcomes = [_Outcome(change(connection)) for change in changes]
                connection.commit()
                return outcomes
        except Exception as error:  # noqa: BLE001 - whoever waits is told
            with contextlib.suppress(Exception):  # there may be nothing to take back
                connection.rollback()
            if isinstance(error, UndoneError) and again < _AGAIN:
                return self._commit(connection, changes, again + 1)
            if begun and len(changes) > 1:
                return [outcome for change in changes for outcome in self._commit(connection, [change])]
            return [_Outcome(failure=error)] * len(changes)


def _answer(batch: list[_Waiting], outcomes: list[_Outcome]) -> None:
    """Set the results of all changes; tasks of one event loop are woken together."""
    tasks: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], _Outcome]]] = {}
    for (*_, done), outcome in zip(batch, outcomes, strict=True):
        if isinstance(done, asyncio.Future):
            tasks.setdefault(done.get_loop(), []).append((done, outcome))
        elif done.set_running_or_notify_cancel():
            _settle(done, outcome)
    for loop, settled in tasks.items():
        with contextlib.suppress(RuntimeError):  # the loop was closed: no one waits any more
            loop.call_soon_threadsafe(_settle_all, settled)


def _settle_all(settled: list[tuple[asyncio.Future[Any], _Outcome]]) -> None:
    for done, outcome in settled:
        if not done.done():  # else the task that waited was cancelled
            _settle(done, outcome)


def _settle(done: asyncio.Future[Any] | Future[Any], outcome: _Outcome) -> None:
    if outcome.failure is not None:
        done.set_exception(outcome.failure)
    else:
        done.set_result(outcome.result)
