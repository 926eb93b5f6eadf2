"""Every reply, kept: an SQLite file that many tasks and several processes use at once.

SQLite runs in WAL mode: readers wait for nobody, and a process that is killed loses what it had not committed
and damages nothing. What is handed on was committed before (`metaeval.llm.store_writer`).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from metaeval.errors import MetaevalError
from metaeval.llm.claims import TABLE as CLAIMS
from metaeval.llm.claims import Claims
from metaeval.llm.request import CallFailure, Reply
from metaeval.llm.store_writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from metaeval.llm.request import Request

T = TypeVar("T")

_APPLICATION = 0x6D65766C  # "mevl": how a store is told from other SQLite files
_VERSION = 1
REPLY_COLUMNS = "text,finish_reason,refusal,model,fingerprint,prompt_tokens,completion_tokens,cached_tokens,\
queue_seconds,service_seconds,raw,error_kind,error_message,error_code"
_TABLE = """CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, request TEXT NOT NULL, provider TEXT NOT NULL, asked TEXT NOT NULL,
    text TEXT NOT NULL, finish_reason TEXT, refusal TEXT, model TEXT, fingerprint TEXT,
    prompt_tokens INTEGER, completion_tokens INTEGER, cached_tokens INTEGER,
    queue_seconds REAL NOT NULL, service_seconds REAL NOT NULL, raw TEXT NOT NULL,
    error_kind TEXT, error_message TEXT, error_code TEXT, created REAL NOT NULL)"""
# The first reply stays; only where there was none, for a failure on the way, another takes its place.
PUT = f"""INSERT INTO replies (key,request,provider,asked,{REPLY_COLUMNS},created)
    VALUES ({",".join("?" * 19)}) ON CONFLICT (key) DO UPDATE SET
    {",".join(f"{c}=excluded.{c}" for c in (*REPLY_COLUMNS.split(","), "created"))}
    WHERE replies.error_kind IS NOT NULL"""  # noqa: S608 - nothing but the names above
_GET = f"SELECT key,{REPLY_COLUMNS} FROM replies WHERE key IN "  # noqa: S608 - the same
_CHUNK = 500
_BUSY = 60.0  # seconds to wait for another process's commit


class Taken(NamedTuple):
    """What became of a claim: the reply is there, or this process asks, or another one does (neither)."""

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
    """The replies in one file.

    Parameters
    ----------
    path
        The file; `default_path` if left out.
    create
        Whether a file that is not there is made.

    Raises
    ------
    MetaevalError
        If the file is damaged, is no store or cannot be used.
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
        self._reader = self._connect()
        self._writer = Writer(self._connect, self.sentences, self._claims.close)
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait until all is written, and let go of the file."""
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
        """Return those replies that are there; ``raw`` bodies stay text until somebody reads them."""
        wanted = list(dict.fromkeys(keys))
        found: dict[str, Reply] = {}
        with self._reading, self.sentences():
            for start in range(0, len(wanted), _CHUNK):
                chunk = wanted[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                for row in self._reader.execute(f"{_GET}({marks})", chunk):
                    found[row[0]] = reply_of(row[1:])
        return found

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return what a query finds, for `metaeval.llm.store_tools`."""
        with self._reading, self.sentences():
            return self._reader.execute(sql, values).fetchall()

    def put(self, request: Request, reply: Reply) -> Reply:
        """Keep a reply; return what is kept, which is another if one was there first."""
        return self.write(lambda connection: self._put(connection, request, reply))

    async def put_soon(self, request: Request, reply: Reply) -> Reply:
        """Keep a reply as `put` does, without stopping the other tasks."""
        return await self._writer.soon(lambda connection: self._put(connection, request, reply))

    async def claim(self, key: str) -> Taken:
        """Return the reply of a key, or claim the key for this process, or find that another has it."""
        return await self._writer.soon(lambda connection: self._claim(connection, key))

    def release(self, key: str) -> None:
        """Let go of a key that brought no reply; does not wait until that is written."""
        self._writer.send(lambda connection: self._claims.release(connection, key))

    def flush(self) -> None:
        """Wait until all that was handed over is written."""
        self._writer.write(lambda _: None)

    def write(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """Have the writing thread make a change, and return its result once it is committed."""
        return self._writer.write(change)

    def shrink(self) -> None:
        """Give the space of what was deleted back to the disk, unless somebody else uses the store now."""
        with self._reading, contextlib.suppress(sqlite3.OperationalError):
            self._reader.execute("VACUUM")
            self._reader.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _put(self, connection: sqlite3.Connection, request: Request, reply: Reply) -> Reply:
        key = request.key
        row = (key, request.canonical, request.provider, request.model, *row_of(reply), time.time())
        kept = connection.execute(PUT, row).rowcount == 1
        self._claims.release(connection, key)
        if kept:
            return reply
        return reply_of(connection.execute(f"{_GET}(?)", (key,)).fetchone()[1:])

    def _claim(self, connection: sqlite3.Connection, key: str) -> Taken:
        row = connection.execute(f"{_GET}(?)", (key,)).fetchone()
        if row:
            reply = reply_of(row[1:])
            if reply.final:
                return Taken(False, reply)
        return Taken(self._claims.take(connection, key))

    def _connect(self) -> sqlite3.Connection:
        connection = None
        try:
            with self.sentences():
                connection = sqlite3.connect(
                    self.path, timeout=_BUSY, isolation_level=None, check_same_thread=False
                )
                self._prepare(connection)
                return connection
        except MetaevalError:
            if connection is not None:
                connection.close()
            raise

    def _prepare(self, connection: sqlite3.Connection) -> None:
        # In this order, since another process may be making the store: tables and mark come in one commit.
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != _APPLICATION:
            if application or tables:
                raise MetaevalError(f"{self.path} is an SQLite file, but no store of replies; name another")
        elif version != _VERSION:
            raise MetaevalError(
                f"the store {self.path} is of version {version}, this metaeval reads version {_VERSION}; "
                f"name another file, or use the metaeval that wrote it"
            )
        _switch_to_wal(connection)
        # A power cut may lose the last replies, but not the file; a killed process loses nothing committed.
        connection.execute("PRAGMA synchronous = NORMAL")
        if application != _APPLICATION:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            connection.execute(CLAIMS)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
            connection.execute("COMMIT")

    @contextlib.contextmanager
    def sentences(self) -> Iterator[None]:
        """Turn what SQLite reports into a sentence."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise MetaevalError(
                f"cannot use the store {self.path} ({error}); check the disk and who else uses it, or name "
                f"another in METAEVAL_STORE"
            ) from error
        except sqlite3.DatabaseError as error:
            raise MetaevalError(
                f"the store {self.path} is damaged or is no store ({error}); move it away, or name another "
                f"in METAEVAL_STORE"
            ) from error


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch the journal's mode, for which SQLite does not wait by itself while another does the same."""
    until = time.monotonic() + _BUSY
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


def reply_of(row: Sequence[Any]) -> Reply:
    """Return the reply in the columns of a row."""
    error = None if row[11] is None else CallFailure(row[11], row[12] or "", row[13] or "")
    return Reply._make((*row[:11], error))


def row_of(reply: Reply) -> tuple[Any, ...]:
    """Return the columns of a reply."""
    return (*reply[:11], *(reply.error or (None, None, None)))
