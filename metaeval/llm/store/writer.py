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
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeAlias, TypeVar

from metaeval.base.errors import MetaevalError
from metaeval.llm.store.rows import Database, StoreConnection, UndoneError

T = TypeVar("T")
_Done: TypeAlias = "asyncio.Future[Any] | Future[Any]"

_SECONDS = 1.0  # after Ctrl-C
_AGAIN = 20  # times that a transaction which was undone is made again


class _Change(NamedTuple):
    key: str
    make: Callable[[StoreConnection], Any]
    done: _Done


class _Outcome(NamedTuple):
    """Result of a change, or why it failed."""

    result: Any = None
    failure: Exception | None = None


class Writer:
    """Makes changes in order; its thread starts with the first. ``at_end`` is called before it ends."""

    def __init__(self, database: Database, at_end: Callable[[StoreConnection], None]) -> None:
        self._database, self._at_end = database, at_end
        self._waiting: queue.SimpleQueue[_Change | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._sending = threading.Lock()  # one thread is started, and nothing is sent behind the end
        self._closed = False

    def send(self, change: Callable[[StoreConnection], T], key: str = "") -> Future[T]:
        """Send a change to the thread; the result comes when it is committed.

        What waits together is made in the order of the keys that it is about.
        """
        done: Future[T] = Future()
        self._send(_Change(key, change, done))
        return done

    async def soon(self, change: Callable[[StoreConnection], T], key: str = "") -> T:
        """Make a change, and return its result once it is committed, without blocking the event loop."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._send(_Change(key, change, done))  # written even if the task that waits for it is cancelled
        return await done

    def flush(self) -> None:
        """Wait until all changes that were sent are written."""
        if self._thread is not None:
            self.send(lambda _: None).result()

    def close(self) -> None:
        """Wait until all changes that were sent are written, and end the thread.

        Who pressed Ctrl-C waits a moment only: the database may be silent.
        """
        with self._sending:
            self._closed = True
            self._waiting.put(None)
        if self._thread is not None:
            self._thread.join(_SECONDS if isinstance(sys.exception(), KeyboardInterrupt) else None)
            self._thread = None

    def _send(self, change: _Change) -> None:
        with self._sending:
            if self._closed:
                raise MetaevalError("the store is closed; open it again")
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="metaeval store", daemon=True)
                self._thread.start()
            self._waiting.put(change)

    def _run(self) -> None:
        connection: StoreConnection | None = None
        failure: Exception | None = None
        try:
            with self._database.sentences():
                connection = self._database.open_to_write()
        except Exception as error:  # noqa: BLE001 - whoever waits is told
            failure = error
        going = True
        while going:
            taken = [self._waiting.get()]
            with contextlib.suppress(queue.Empty):
                while True:
                    taken.append(self._waiting.get_nowait())
            going = None not in taken
            changes = [change for change in taken if change is not None]
            if connection is None:
                _answer(changes, [_Outcome(failure=failure)] * len(changes))
            elif changes:
                # In one order, so that no two processes wait for each other's claims.
                order = sorted(range(len(changes)), key=lambda i: changes[i].key)
                outcomes = self._commit(connection, [changes[i] for i in order])
                _answer(
                    changes,
                    [outcome for _, outcome in sorted(zip(order, outcomes, strict=True), key=lambda o: o[0])],
                )
        if connection is not None:
            # Claims that stay behind are void: the process that made them has ended.
            with contextlib.suppress(Exception), self._database.sentences():
                self._at_end(connection)
            connection.close()

    def _commit(
        self, connection: StoreConnection, changes: Sequence[_Change], again: int = 0
    ) -> list[_Outcome]:
        """Make changes in one transaction; if one of them fails, each in a transaction of its own."""
        begun = False
        try:
            with self._database.sentences():
                connection.begin()
                begun = True
                outcomes = [_Outcome(change.make(connection)) for change in changes]
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


def _answer(changes: Sequence[_Change], outcomes: Sequence[_Outcome]) -> None:
    """Set the results of all changes; tasks of one event loop are woken together."""
    tasks: dict[asyncio.AbstractEventLoop, list[tuple[_Done, _Outcome]]] = {}
    for change, outcome in zip(changes, outcomes, strict=True):
        if isinstance(change.done, asyncio.Future):
            tasks.setdefault(change.done.get_loop(), []).append((change.done, outcome))
        elif change.done.set_running_or_notify_cancel():
            _settle([(change.done, outcome)])
    for loop, settled in tasks.items():
        with contextlib.suppress(RuntimeError):  # the loop was closed: no one waits any more
            loop.call_soon_threadsafe(_settle, settled)


def _settle(settled: Sequence[tuple[_Done, _Outcome]]) -> None:
    for done, outcome in settled:
        if done.done():  # the task that waited was cancelled
            continue
        if outcome.failure is not None:
            done.set_exception(outcome.failure)
        else:
            done.set_result(outcome.result)
