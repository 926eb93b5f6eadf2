"""A connection to PostgreSQL that speaks as one to SQLite does, and outlives a restart of the server."""

from __future__ import annotations

import functools
import hashlib
import re
import time
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types.numeric import Int8Dumper

from metaeval.base.errors import KEPT, MetaevalError, StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

SCHEMA = "metaeval"

_PATIENCE = 60.0  # seconds to wait for a server that restarts
_AGAIN = 0.1  # seconds until it is tried again
_TYPES = {
    "INTEGER PRIMARY KEY": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "INTEGER": "BIGINT",
    "REAL": "DOUBLE PRECISION",
    "BLOB": "BYTEA",
    "TEXT": 'TEXT COLLATE "C"',  # sorted as SQLite sorts
    " WITHOUT ROWID": "",
}
_TYPE = re.compile("|".join(rf"\b{name}\b" if name[0] != " " else name for name in _TYPES))
_NUMBERED = ("replies", "batches")  # their rows have numbers, as all have in SQLite


class Session:
    """A connection; `metaeval.llm.store.database.Connection` says what its methods do.

    A lost connection is made again. Outside a transaction no one notices; inside one, the error of PostgreSQL
    is raised, and the transaction may be made again. A commit that was under way is looked up.

    Parameters
    ----------
    connect
        Connects; raises `MetaevalError` if that cannot be done.
    name
        Of the store, for messages.
    patient
        Wait for a server that restarts from the beginning.
    """

    def __init__(
        self, connect: Callable[[], psycopg.Connection[Any]], name: str, *, patient: bool = False
    ) -> None:
        self._connect, self._name = connect, name
        self._held: set[str] = set()
        self._transaction = ""  # number of the open one
        self._patience = _PATIENCE if patient else 0.0
        self._raw = self._connected()
        self._patience = _PATIENCE

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> psycopg.Cursor[Any]:
        """Execute a statement; one outside a transaction again, if the connection was lost."""
        try:
            return self._raw.execute(_translated(sql), values, binary=True)
        except psycopg.Error:
            if self._transaction or not self._raw.closed:
                raise
        self._reconnect()
        return self._raw.execute(_translated(sql), values, binary=True)

    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> psycopg.Cursor[Any]:
        """Execute a statement with each of several values, in a transaction."""
        cursor = self._raw.cursor(binary=True)
        cursor.executemany(_translated(sql), values)
        return cursor

    def create(self, *tables: str) -> None:
        """Create what is not there, of PostgreSQL's types."""
        for table in tables:
            name = table.split("IF NOT EXISTS ")[1].split()[0]
            if self.execute("SELECT to_regclass(?) IS NULL", (name,)).fetchone() == (True,):
                self.alone()
                typed = _TYPE.sub(lambda found: _TYPES[found[0]], table)
                if name in _NUMBERED:
                    typed = f"{typed[:-1]}, rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE)"
                self.execute(typed)

    def begin(self, *, alone: bool = False) -> None:
        """Begin beside others that write, or ``alone``."""
        if self._raw.closed:
            self._reconnect()
        shared = "" if alone else "_shared"
        cursor = self._raw.execute(  # one message: nothing waits between the two
            f"BEGIN; SELECT pg_current_xact_id()::text, pg_advisory_xact_lock{shared}({_number('writing')})"
        )
        cursor.nextset()
        (self._transaction, _) = cursor.fetchone() or ("", None)

    def alone(self) -> None:
        """Wait until all others have committed."""
        self.execute("SELECT pg_advisory_xact_lock(?)", (_number("writing"),))

    def commit(self) -> None:
        """Commit; if the connection is lost meanwhile, find out whether that was done."""
        transaction, self._transaction = self._transaction, ""
        try:
            self._raw.execute("COMMIT")
        except psycopg.Error:
            if not self._raw.closed:
                raise
            self._reconnect()
            if not self._committed(transaction):
                raise

    def rollback(self) -> None:
        """Undo what was begun; a lost connection has undone it."""
        self._transaction = ""
        if not self._raw.closed:
            self._raw.execute("ROLLBACK")

    def now(self) -> float:
        """Return the time of the server."""
        (seconds,) = self.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone() or (0.0,)
        return float(seconds)

    def hold(self, name: str) -> bool:
        """Take a lock of this connection: the server releases it when the process or its machine is gone."""
        if name in self._held:
            return False
        held = self.execute("SELECT pg_try_advisory_lock(?)", (_number(name),)).fetchone() == (True,)
        if held:
            self._held.add(name)
        return held

    def held(self, name: str) -> bool:
        """Say whether someone holds a lock, by a look that holds nothing beyond the transaction."""
        free = "SELECT pg_try_advisory_xact_lock_shared(?)"
        return name in self._held or self.execute(free, (_number(name),)).fetchone() == (False,)

    def let_go(self, name: str, *, for_good: bool = True) -> None:
        """Release a lock."""
        self._held.remove(name)
        self.execute("SELECT pg_advisory_unlock(?)", (_number(name),))

    def close(self) -> None:
        """Close the connection, which releases what it holds."""
        self._raw.close()

    def _committed(self, transaction: str) -> bool:
        until = time.monotonic() + _PATIENCE
        while True:  # the connection may have been lost while the server still commits
            ((state,),) = self.execute("SELECT pg_xact_status(CAST(? AS xid8))", (transaction,)).fetchall()
            if state != "in progress" or time.monotonic() > until:
                return bool(state == "committed")
            time.sleep(_AGAIN)

    def _connected(self) -> psycopg.Connection[Any]:
        until = time.monotonic() + self._patience
        while True:
            try:
                raw = self._connect()
                break
            except MetaevalError as error:
                if not self._patience:
                    raise
                if time.monotonic() > until:
                    said = (
                        f"the store {self._name} has not answered for {self._patience:.0f} s{KEPT}: {error}"
                    )
                    self._patience = 0.0  # who closes the store need not wait again
                    raise StoppedError(said) from error
                time.sleep(_AGAIN)
        raw.adapters.register_dumper(str, _TextDumper)
        raw.adapters.register_dumper(int, Int8Dumper)  # a statement is prepared once for each type
        raw.adapters.register_loader("text", _TextLoader)
        return raw

    def _reconnect(self) -> None:
        self._raw.close()
        raw = self._connected()
        try:
            for name in self._held:  # its claims stay, unless another process has found them void meanwhile
                raw.execute("SELECT pg_advisory_lock(%s)", (_number(name),))
        except BaseException:
            raw.close()
            raise
        self._raw = raw


@functools.cache
def _translated(sql: str) -> str:
    return sql.replace("%", "%%").replace("?", "%s")


@functools.cache
def _number(name: str) -> int:
    """Return the number of a lock, which no other program of the database is likely to use."""
    hashed = hashlib.blake2b(f"metaeval {name}".encode(), digest_size=8).digest()
    return int.from_bytes(hashed, "big", signed=True)


class _TextDumper(Dumper):
    """PostgreSQL keeps no character 0, and replies may have one: it is written as two others."""

    def dump(self, obj: str) -> bytes:
        if "\0" in obj or "\x1a" in obj:
            obj = obj.replace("\x1a", "\x1a1").replace("\0", "\x1a0")
        return obj.encode()


class _TextLoader(Loader):
    format = Format.BINARY

    def load(self, data: bytes | bytearray | memoryview) -> str:
        text = bytes(data).decode()
        if "\x1a" in text:
            text = text.replace("\x1a0", "\0").replace("\x1a1", "\x1a")
        return text
