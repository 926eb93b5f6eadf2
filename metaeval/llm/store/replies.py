"""The store of replies: an SQLite file, or a database, that many tasks and processes use at once.

A reply is committed before it is returned to its caller (`metaeval.llm.store.writer`), so a process that is
killed loses only what it had not committed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from metaeval.base.errors import MetaevalError, MissingExtraError
from metaeval.llm.calls.request import Reply, Request
from metaeval.llm.store.rows import COLUMNS, Database, StoreConnection, is_address, put, reply_in, request_in
from metaeval.llm.store.sqlite import FileDatabase
from metaeval.llm.store.writer import Writer

T = TypeVar("T")

_CHUNK = 500
_LOOK_AGAIN = 0.1  # seconds until a lock is tried again


def database_at(place: str | os.PathLike[str] | Database | None = None) -> Database:
    """Return where a store lies: a path, or ``postgresql://…``.

    None is ``METAEVAL_STORE``, else a file in the user's cache folder.
    """
    if place is not None and not isinstance(place, (str, os.PathLike)):
        return place
    text = os.fspath(place) if place is not None else os.environ.get("METAEVAL_STORE", "")
    if is_address(text):
        try:
            from metaeval.llm.store.postgres import ServerDatabase
        except ImportError as error:  # no psycopg, or none of PostgreSQL's own library
            raise MissingExtraError("a store in PostgreSQL", "postgres") from error
        return ServerDatabase(text)
    if place is None and not text:
        import platformdirs

        return FileDatabase(Path(platformdirs.user_cache_dir("metaeval")) / "replies.sqlite")
    return FileDatabase(Path(text).expanduser())


class Claimed(NamedTuple):
    """Outcome of a claim: the reply is there, or this process may ask, or (neither) another process asks."""

    ours: bool
    reply: Reply | None = None


class Store:
    """The replies in one place; raises `MetaevalError` if it is damaged, is no store or cannot be used.

    Parameters
    ----------
    place
        Path or address, as `database_at` takes it.
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


# A claim that is there is passed over without waiting for its owner, who may be about to release it.
_CLAIM = """INSERT INTO claims SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM claims WHERE key = ?)
    ON CONFLICT DO NOTHING"""
_OWNER = re.compile(r"[0-9]+-[0-9a-f]{12}")
_OWNER_AGAIN = 1.0  # seconds after which an owner that was alive is looked at again
_TRIES = 3  # others may take or release the same claim meanwhile
_OF_REST = 64  # a block is this part of what is left, so that the last blocks are of one call


class Claims:
    """The claims of this process; every method is called from the thread that writes to the store."""

    def __init__(self) -> None:
        self._owner = ""
        self._alive: dict[str, float] = {}

    def owner(self, connection: StoreConnection) -> str:
        """Return the name of this process, whose lock it holds from now on."""
        if not self._owner:
            owner = f"{os.getpid()}-{secrets.token_hex(6)}"
            connection.hold(owner)
            self._owner = owner
        return self._owner

    def take(self, connection: StoreConnection, key: str) -> bool:
        """Claim a key; false if a live process has claimed it, be it another task of this one."""
        owner = self.owner(connection)
        for _ in range(_TRIES):
            if connection.execute(_CLAIM, (key, owner, key)).rowcount:
                return True
            row = connection.execute("SELECT owner FROM claims WHERE key = ?", (key,)).fetchone()
            if row is not None:
                if self.lives(connection, row[0]):
                    return False
                connection.execute("DELETE FROM claims WHERE owner = ?", row)
        return False

    def release(self, connection: StoreConnection, key: str) -> None:
        """Release a key, if this process claimed it."""
        connection.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, self._owner))

    def close(self, connection: StoreConnection) -> None:
        """Release all keys."""
        if self._owner:
            connection.execute("DELETE FROM claims WHERE owner = ?", (self._owner,))
            connection.let_go(self._owner)
            self._owner = ""

    def lives(self, connection: StoreConnection, owner: object) -> bool:
        """Say whether a process, be it this one, is there."""
        if owner == self._owner:
            return True
        if not isinstance(owner, str) or not _OWNER.fullmatch(owner):
            return False  # no process is called so: the file was damaged
        now = time.monotonic()
        if self._alive.get(owner, -1.0) > now:
            return True
        if not connection.held(owner):
            return False
        self._alive[owner] = now + _OWNER_AGAIN
        return True


class StudyShares:
    """What processes share that use the same store and the same name of a study."""

    def __init__(self, store: Store, study: str) -> None:
        self._store, self._study = store, study

    async def take(self, part: str, least: int, most: int) -> int:
        """Take some of a part of the budget, in whole units; 0 if less than ``least`` of ``most`` is left."""

        def change(connection: StoreConnection) -> int:
            ((used,),) = connection.execute(
                "INSERT INTO budgets VALUES (?, ?, 0) ON CONFLICT (study, part) DO UPDATE "
                "SET used = budgets.used RETURNING used",  # which keeps others away until the commit
                (self._study, part),
            ).fetchall()
            left = most - used
            block = max(least, left // _OF_REST) if left >= least else 0
            self._add(connection, part, block)
            return block

        return await self._store.soon(change)

    async def give_back(self, part: str, amount: int) -> None:
        """Give back what was taken of a part and is not needed."""
        await self._store.soon(lambda connection: self._add(connection, part, -amount))

    async def lease(self, provider: str, address: str, what: str, seconds: float) -> float:
        """Take the next seconds of a limit at an address, and return how long it is until they begin."""
        lane = f"{provider} {address} {what}"

        def change(connection: StoreConnection) -> float:
            ((held,),) = connection.execute(
                "INSERT INTO leases VALUES (?, ?, '{}') ON CONFLICT (study, lane) DO UPDATE "
                "SET held = leases.held RETURNING held",  # which keeps others away until the commit
                (self._study, lane),
            ).fetchall()
            now, claims = connection.now(), self._store.claims
            # A lease ends with its owner; and if it was made in the future, the clock was set back.
            leases: dict[str, list[float]] = {
                owner: [since, end]
                for owner, (since, end) in json.loads(held).items()
                if since <= now < end and claims.lives(connection, owner)
            }
            begins = max([now, *(end for _, end in leases.values())])
            leases[claims.owner(connection)] = [now, begins + seconds]
            connection.execute(
                "UPDATE leases SET held = ? WHERE study = ? AND lane = ?",
                (json.dumps(leases), self._study, lane),
            )
            return begins - now

        return await self._store.soon(change)

    def _add(self, connection: StoreConnection, part: str, amount: int) -> None:
        connection.execute(
            "UPDATE budgets SET used = used + ? WHERE study = ? AND part = ?", (amount, self._study, part)
        )
