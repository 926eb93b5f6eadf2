"""The store of replies: an SQLite file, or a database, that many tasks and processes use at once.

A reply is committed before it is returned to its caller (`metaeval.llm.store.writer`), so a process that is
killed loses only what it had not committed.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Self, TypeVar

from metaeval.base.errors import MetaevalError
from metaeval.llm.calls.request import Reply, Request
from metaeval.llm.store.database import Database, StoreConnection, database_at
from metaeval.llm.store.rows import COLUMNS, put, reply_in, request_in
from metaeval.llm.store.sharing import Claims
from metaeval.llm.store.writer import Writer

T = TypeVar("T")

_CHUNK = 500
_LOOK_AGAIN = 0.1  # seconds until a lock is tried again


class Claimed(NamedTuple):
    """Outcome of a claim: the reply is there, or this process may ask, or (neither) another process asks."""

    ours: bool
    reply: Reply | None = None


class Store:
    """The replies in one place; raises `MetaevalError` if it is damaged, is no store or cannot be used.

    Parameters
    ----------
    place
        Path or address, as `metaeval.llm.store.database.database_at` takes it.
    create
        Whether a store that is not there is made.
    """

    def __init__(
        self, place: str | os.PathLike[str] | Database | None = None, *, create: bool = True
    ) -> None:
        self.database = database_at(place)
        self.name = self.database.name
        """Where it lies, for messages and run folders."""
        if not create and not self.database.exists():
            raise MetaevalError(f"there is no store at {self.name}; name another with METAEVAL_STORE")
        self.claims = Claims()
        """Of this process; used in the thread that writes."""
        self._reading = threading.Lock()
        with self.sentences():
            self._reader = self.database.open_to_read()
        self._writer = Writer(self.database, self.claims.close)
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait until everything is written, and close the file."""
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        with self._reading:
            self._reader.close()

    def get(self, key: str) -> Reply | None:
        """Return the reply kept under a key."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Iterable[str]) -> dict[str, Reply]:
        """Return the replies of the keys that the store has."""
        with self.sentences():
            return {row[0]: reply_in(row) for row in self.rows_of(list(keys), COLUMNS)}

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query, for `metaeval.llm.store.tools`."""
        return self.reading(lambda connection: connection.execute(sql, values).fetchall())

    def rows_of(self, keys: Sequence[str], columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield some columns, the key first, of each reply that there is, in the order of the keys."""
        for start in range(0, len(keys), _CHUNK):
            chunk = list(dict.fromkeys(keys[start : start + _CHUNK]))
            rows = {row[0]: row for row in self.reading(lambda c, chunk=chunk: _rows(c, columns, chunk))}  # type: ignore[misc]
            yield from (rows[key] for key in chunk if key in rows)

    def reading(self, look: Callable[[StoreConnection], T]) -> T:
        """Return what a look at the database gives."""
        with self._reading, self.sentences():
            return look(self._reader)

    def request_in(self, held: str, key: str) -> dict[str, Any]:
        """Return the fields of a request from its column; raise `DamagedReplyError` if its key is another."""
        with self._reading:
            return request_in(self._reader, held, key)

    def put(self, request: Request, reply: Reply) -> Reply:
        """Store a reply and return it; if another is stored already, return that one."""
        return self.write(lambda connection: self._put(connection, request, reply))

    async def put_soon(self, request: Request, reply: Reply) -> Reply:
        """Store a reply as `put` does, without blocking the event loop."""
        return await self.soon(lambda connection: self._put(connection, request, reply), request.key)

    async def claim(self, key: str) -> Claimed:
        """Return the reply of a key, or claim the key for this process; neither if another process has it."""
        return await self.soon(lambda connection: self._claim(connection, key), key)

    def release(self, key: str) -> None:
        """Release the claim of a key that brought no reply, without waiting until that is written."""
        self._writer.send(lambda connection: self.claims.release(connection, key), key)

    def flush(self) -> None:
        """Wait until all changes that were sent are written."""
        self._writer.flush()

    def write(self, change: Callable[[StoreConnection], T]) -> T:
        """Make a change in the writer thread, and return its result once it is committed."""
        return self._writer.send(change).result()

    async def soon(self, change: Callable[[StoreConnection], T], key: str = "") -> T:
        """Make a change, about a key perhaps, as `write` does, without blocking the event loop."""
        return await self._writer.soon(change, key)

    @contextlib.contextmanager
    def holding(self, name: str, seconds: float) -> Iterator[bool]:
        """Hold a lock inside the block; false if another process has held it for so many seconds."""
        until = time.monotonic() + seconds
        while not (held := self.write(lambda connection: connection.hold(name))):
            if time.monotonic() > until:
                break
            time.sleep(_LOOK_AGAIN)
        try:
            yield held
        finally:
            if held:
                self.write(lambda connection: connection.let_go(name, for_good=False))

    def sentences(self) -> AbstractContextManager[None]:
        """Turn errors of the database inside the block into a `MetaevalError`."""
        return self.database.sentences()

    def _put(self, connection: StoreConnection, request: Request, reply: Reply) -> Reply:
        key = request.key
        kept = put(connection, key, request.fields, reply, time.time())
        self.claims.release(connection, key)
        return reply if kept else self._kept(connection, key) or reply

    def _claim(self, connection: StoreConnection, key: str) -> Claimed:
        ours = self.claims.take(connection, key)
        # Looked up after that: another process may have kept the reply, and released its claim, just before.
        reply = self._kept(connection, key)
        if reply is None or not reply.final:
            return Claimed(ours)
        if ours:
            self.claims.release(connection, key)
        return Claimed(False, reply)

    def _kept(self, connection: StoreConnection, key: str) -> Reply | None:
        """Return the reply of a key over the writer's connection."""
        rows = _rows(connection, COLUMNS, [key])
        return reply_in(rows[0], key) if rows else None


def _rows(connection: StoreConnection, columns: str, keys: Sequence[str]) -> list[tuple[Any, ...]]:
    marks = ",".join("?" * len(keys))
    sql = f"SELECT {columns} FROM replies WHERE key IN ({marks})"  # noqa: S608 - names and question marks
    rows: list[tuple[Any, ...]] = connection.execute(sql, keys).fetchall()
    return rows
