"""The thread that writes to a store.

It takes all that waits, commits it together and only then says that it is done: what was handed on is on
file, and a thousand replies a second cost a few commits.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from metaeval.errors import MetaevalError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

T = TypeVar("T")
_Waiting: TypeAlias = "tuple[Callable[[sqlite3.Connection], Any], asyncio.Future[Any] | Future[Any]]"


class Writer:
    """Makes changes in the order in which they come; its thread starts with the first.

    Parameters
    ----------
    connect
        Opens the file.
    sentences
        Turns what SQLite reports into a `MetaevalError`.
    at_end
        Called with the connection before it is closed.
    """

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        sentences: Callable[[], AbstractContextManager[None]],
        at_end: Callable[[sqlite3.Connection], None],
    ) -> None:
        self._connect, self._sentences, self._at_end = connect, sentences, at_end
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    def write(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """Make a change, and return its result once it is committed."""
        return self.send(change).result()

    def send(self, change: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Have a change made; the result comes when it is committed."""
        done: Future[T] = Future()
        self._send(change, done)
        return done

    async def soon(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """Make a change as `write` does, without stopping the other tasks."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._send(change, done)
        # Shielded: what was sent is written, whatever becomes of the task that waits for it.
        return await asyncio.shield(done)

    def close(self) -> None:
        """Wait until all that was sent is written."""
        self._closed = True
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None

    def _send(
        self, change: Callable[[sqlite3.Connection], Any], done: asyncio.Future[Any] | Future[Any]
    ) -> None:
        if self._closed:
            raise MetaevalError("the store is closed; open it again")
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="metaeval store", daemon=True)
            self._thread.start()
        self._waiting.put((change, done))

    def _run(self) -> None:
        connection: sqlite3.Connection | None = None
        failure: Exception | None = None
        try:
            connection = self._connect()
        except MetaevalError as error:
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
                _answer(batch, [], failure)
            elif batch:
                self._commit(connection, batch)
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):  # what is left behind is found out by who comes next
                self._at_end(connection)
            connection.close()

    def _commit(self, connection: sqlite3.Connection, batch: list[_Waiting]) -> None:
        results: list[Any] = []
        failure: Exception | None = None
        try:
            with self._sentences():
                connection.execute("BEGIN IMMEDIATE")
                results = [change(connection) for change, _ in batch]
                connection.execute("COMMIT")
        except (MetaevalError, OSError, ValueError) as error:
            failure = error
            with contextlib.suppress(sqlite3.Error):  # there may be nothing to take back
                connection.execute("ROLLBACK")
        _answer(batch, results, failure)


def _answer(batch: list[_Waiting], results: list[Any], failure: Exception | None) -> None:
    """Tell all that wait; tasks of one event loop are woken together."""
    tasks: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for index, (_, done) in enumerate(batch):
        result = results[index] if failure is None else None
        if isinstance(done, asyncio.Future):
            tasks.setdefault(done.get_loop(), []).append((done, result))
        elif failure is not None:
            done.set_exception(failure)
        else:
            done.set_result(result)
    for loop, settled in tasks.items():
        with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, settled, failure)


def _settle(settled: list[tuple[asyncio.Future[Any], Any]], failure: Exception | None) -> None:
    for done, result in settled:
        if done.done():  # the task that waited was cancelled
            continue
        if failure is not None:
            done.set_exception(failure)
        else:
            done.set_result(result)
