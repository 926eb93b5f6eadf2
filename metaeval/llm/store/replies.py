"""The store of replies: an SQLite file that many tasks and several processes use at once.

SQLite runs in WAL mode: readers never wait, and a process that is killed loses only what it had not
committed. A reply is committed before it is returned to its caller (`metaeval.llm.store.writer`).
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from metaeval.base.errors import MetaevalError
from metaeval.llm.store.claims import Claims
from metaeval.llm.store.file import VERSION, open_to_read, open_to_write, sentences, shrink, version_of
from metaeval.llm.store.rows import columns, put, reply_in
from metaeval.llm.store.texts import request_in
from metaeval.llm.store.writer import Writer

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager

    from metaeval.llm.calls.request import Reply, Request

T = TypeVar("T")

_CHUNK = 500


class Taken(NamedTuple):
    """Outcome of a claim: the reply is there, or this process may ask, or (neither) another process asks."""

    ours: bool
    reply: Reply | None = None


def default_path() -> Path:
    """Return where replies are kept: ``METAEVAL_STORE``, else a file in the user's cache folder."""
    named = os.environ.get("METAEVAL_STORE")
    if named:
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("metaeval")) / "replies.sqlite"


class Store:
    """The replies in one file; raises `MetaevalError` if it is damaged, is no store or cannot be used.

    Parameters
    ----------
    path
        The file; `default_path` if left out.
    create
        Whether a file that is not there is made.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, create: bool = True) -> None:
        self.path = Path(path) if path is not None else default_path()
        if not create and not self.path.is_file():
            raise MetaevalError(f"there is no store at {self.path}; name another with METAEVAL_STORE")
        if self.path.is_dir():
            raise MetaevalError(f"the store {self.path} is a folder; name a file")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._claims = Claims(self.path)
        self._reading = threading.Lock()
        with self.sentences():
            self._reader = open_to_read(self.path)
        self._writer = Writer(lambda: open_to_write(self.path), self.sentences, self._claims.close)
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

    @property
    def columns(self) -> str:
        """The columns of a reply, as the file has them now: whoever writes first upgrades it."""
        return columns(version_of(self._reader))

    def get(self, key: str) -> Reply | None:
        """Return the reply kept under a key."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Iterable[str]) -> dict[str, Reply]:
        """Return the replies of the keys that the store has."""
        wanted = list(dict.fromkeys(keys))
        found: dict[str, Reply] = {}
        with self._reading, self.sentences():
            kept = self.columns
            for start in range(0, len(wanted), _CHUNK):
                chunk = wanted[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                for one in self._reader.execute(_get(kept, marks), chunk):
                    found[one[0]] = reply_in(one)
        return found

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return what a query finds, for `metaeval.llm.store.tools`."""
        with self._reading, self.sentences():
            return self._reader.execute(sql, values).fetchall()

    def request_in(self, held: str, key: str) -> dict[str, Any]:
        """Return the fields of a request from its column; raise `DamagedReplyError` if its key is another."""
        with self._reading:
            return request_in(self._reader, held, key)

    def put(self, request: Request, reply: Reply) -> Reply:
        """Store a reply; return the stored one, which is another if one was there first."""
        return self.write(lambda connection: self._put(connection, request, reply))

    async def put_soon(self, request: Request, reply: Reply) -> Reply:
        """Store a reply as `put` does, without blocking the event loop."""
        return await self._writer.soon(lambda connection: self._put(connection, request, reply))

    async def claim(self, key: str) -> Taken:
        """Return the reply of a key, or claim the key for this process; neither if another process has it."""
        return await self._writer.soon(lambda connection: self._claim(connection, key))

    def release(self, key: str) -> None:
        """Release the claim of a key that brought no reply, without waiting until that is written."""
        self._writer.send(lambda connection: self._claims.release(connection, key))

    def flush(self) -> None:
        """Wait until all changes that were sent are written."""
        self._writer.flush()

    def write(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """Make a change in the writer thread, and return its result once it is committed."""
        return self._writer.write(change)

    def shrink(self) -> None:
        """Give the space of deleted replies back to the disk, unless another process uses the store."""
        with self._reading, self.sentences():
            shrink(self._reader)

    def sentences(self) -> AbstractContextManager[None]:
        """Turn SQLite's errors inside the block into a `MetaevalError`."""
        return sentences(self.path)

    def _put(self, connection: sqlite3.Connection, request: Request, reply: Reply) -> Reply:
        key = request.key
        kept = put(connection, key, request, reply, time.time())
        self._claims.release(connection, key)
        return reply if kept else self._kept(connection, key) or reply

    def _claim(self, connection: sqlite3.Connection, key: str) -> Taken:
        reply = self._kept(connection, key)
        if reply is not None and reply.final:
            return Taken(False, reply)
        return Taken(self._claims.take(connection, key))

    def _kept(self, connection: sqlite3.Connection, key: str) -> Reply | None:
        """Return the reply of a key over the writer's connection, whose store has the present version."""
        found = connection.execute(_get(columns(VERSION), "?"), (key,)).fetchone()
        return None if found is None else reply_in(found, key)


def _get(what: str, marks: str) -> str:
    return f"SELECT {what} FROM replies WHERE key IN ({marks})"  # noqa: S608 - names and question marks
