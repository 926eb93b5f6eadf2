"""A store in a database of PostgreSQL, for many machines: in a schema of its own, ``metaeval``.

Its connections take SQLite's SQL, and outlive a restart of the server.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import sqlite3
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

import psycopg
from psycopg import errors, waiting
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8Dumper

from metaeval.base.errors import KEPT, MetaevalError, StoppedError
from metaeval.llm.calls.scrub import scrub
from metaeval.llm.store.rows import SCHEMA, UNREADABLE, VERSION, ServerAddress, StoreConnection, UndoneError

_NAMESPACE = "metaeval"
_LAYOUT = "CREATE TABLE IF NOT EXISTS layout (version INTEGER UNIQUE)"
_TYPES = {
    "INTEGER PRIMARY KEY": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "INTEGER": "BIGINT",
    "REAL": "DOUBLE PRECISION",
    "BLOB": "BYTEA",
}
_TYPE = re.compile(rf"\b({'|'.join(_TYPES)})\b")
_SERVER = {"host": "", "hostaddr": "", "port": "5432", "service": ""}
# Given as empty, a password is taken neither from the environment nor from a service file.
_NO_PASSWORD: Any = {"password": "", "passfile": f"{os.devnull}/none"}
_WITHHELD = (
    "; it was given no password: PGPASSWORD, ~/.pgpass and service files are for the server that "
    "METAEVAL_STORE or PGHOST names"
)
_PATIENCE = 75.0  # seconds to wait for a server that restarts or is silent: more than any lock is waited for
_AGAIN = 0.1  # seconds until it is tried again
_CONNECT_SECONDS = {False: 10, True: 2}  # by whether it is tried again; PostgreSQL's library takes no less
_LONGEST_WORD = 200  # characters of what PostgreSQL says: it may quote a whole reply
# Kinds of errors: deadlock, the server stops, the connection is lost, someone is alone for long.
_UNDONE = ("40", "57P", "08", "55P03")
# A machine that is gone gives its claims back within a minute; one that stands still lets others go on.
_SETTINGS = f"""SET search_path = {_NAMESPACE}; SET default_transaction_isolation = 'read committed';
    SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3;
    SET lock_timeout = '45s'; SET idle_in_transaction_session_timeout = '60s'"""


class ServerDatabase:
    """A store in a database."""

    def __init__(self, address: str) -> None:
        self._address = ServerAddress.read(address)
        try:
            password = conninfo_to_dict(self._address.text).get("password")
        except psycopg.ProgrammingError:  # which quotes what it could not read
            raise MetaevalError(UNREADABLE) from None
        self.name = self._address.name
        named = os.environ.get("METAEVAL_STORE", "")
        # A run folder names its store without the password, which whoever runs it again still has.
        if not self._address.secrets and ServerAddress.shown(named) == self.name:
            self._address = ServerAddress.read(named)
        may = password or _server(self._address.text) in (_server(""), _server(named))
        self.withheld = "" if may else _WITHHELD
        """Why it is given no password, as the end of a sentence; empty if it may be given one."""

    def exists(self) -> bool:
        """Say whether the database has a store."""
        with self.sentences(), contextlib.closing(Session(self)) as session:
            return _version(session) is not None

    def open_to_read(self) -> Session:
        """Open a store; one of another layout is refused."""
        with contextlib.ExitStack() as stack:
            session = stack.enter_context(contextlib.closing(Session(self)))
            if _version(session) is None:
                session.begin(alone=True)
                session.execute(f"CREATE SCHEMA IF NOT EXISTS {_NAMESPACE}")
                for statement in (*SCHEMA, _LAYOUT):
                    session.execute(_TYPE.sub(lambda match: _TYPES[match[0]], statement))
                session.execute("INSERT INTO layout VALUES (?) ON CONFLICT DO NOTHING", (VERSION,))
                session.commit()
            version = _version(session)
            if version != VERSION:
                raise MetaevalError(
                    f"the store {self.name} is of layout {version}, this metaeval reads layout {VERSION}; "
                    f"name another database, or use the metaeval that wrote it"
                )
            stack.pop_all()
        return session

    open_to_write = open_to_read

    @contextlib.contextmanager
    def sentences(self) -> Iterator[None]:
        """Turn errors of PostgreSQL into sentences."""
        try:
            yield
        except sqlite3.DatabaseError as error:  # a row that was changed after it was written
            raise MetaevalError(f"the store {self.name} is damaged: {error}") from error
        except psycopg.Error as error:
            passing = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
            why = self._words(error)
            if passing and (error.sqlstate or "08").startswith(_UNDONE):
                raise UndoneError(f"the store {self.name} did not answer ({why}){KEPT}") from error
            if isinstance(error, (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction)):
                raise MetaevalError(
                    f"the store {self.name} may only be read ({why}), so no reply can be kept there; name "
                    f"another in METAEVAL_STORE, or run with --offline"
                ) from error
            raise MetaevalError(
                f"cannot use the store {self.name} ({why}); check the database, or name another in "
                f"METAEVAL_STORE"
            ) from error

    def size(self, connection: StoreConnection) -> int:
        """Return how many bytes the tables take, with their indexes."""
        ((size,),) = connection.execute(
            "SELECT CAST(coalesce(sum(pg_total_relation_size(oid)), 0) AS BIGINT) FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = 'metaeval'::regnamespace"
        ).fetchall()
        return int(size)

    def faults(self, connection: StoreConnection, most: int = 100) -> list[str]:
        """Return nothing: PostgreSQL stops at a page that is damaged."""
        return []

    def shrink(self, connection: StoreConnection) -> None:
        """Do nothing: PostgreSQL uses free space again."""

    def state(self) -> None:
        """Return nothing: others may write at any time."""

    def connect(self, *, again: bool) -> _Connection:
        """Connect; raise `MetaevalError` if that cannot be done. ``again``: it will be tried again."""
        try:
            with contextlib.ExitStack() as stack:
                raw = _Connection.connect(
                    self._address.text,
                    **(_NO_PASSWORD if self.withheld else {}),
                    autocommit=True,
                    client_encoding="utf8",
                    application_name="metaeval",
                    connect_timeout=_CONNECT_SECONDS[again],
                )
                stack.callback(raw.close)
                self._check(raw)
                raw.execute(_SETTINGS)
                stack.pop_all()
        except psycopg.Error as error:
            raise MetaevalError(
                f"cannot reach the store {self.name} ({self._words(error)}); check that PostgreSQL runs "
                f"there and lets you in, or name another in METAEVAL_STORE{self.withheld}"
            ) from None  # the error before it may hold the password
        raw.adapters.register_dumper(int, Int8Dumper)  # a statement is prepared once for each type
        return raw

    def _check(self, raw: _Connection) -> None:
        """Refuse what does not keep claims as they are."""
        if raw.execute("SELECT pg_backend_pid()", prepare=False).fetchone() != (raw.info.backend_pid,):
            raise MetaevalError(
                f"the store {self.name} lies behind a proxy, such as PgBouncer, that shares its connections: "
                "claims are locks of a connection, and would be lost or shared; name the address of "
                "PostgreSQL itself"
            )

    def _words(self, error: psycopg.Error) -> str:
        """Return what PostgreSQL says, without the password."""
        words = " ".join(str(error).split())
        for secret in self._address.secrets:
            words = scrub(words, secret).replace(secret, "[password]")
        return words[:_LONGEST_WORD] or type(error).__name__


def _server(address: str) -> tuple[str, ...]:
    """Return what an address, and else the environment, says of which server it is; nothing if unreadable."""
    try:
        given = conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        return ()
    values = {name: given.get(name, os.environ.get(f"PG{name.upper()}")) for name in _SERVER}
    return tuple(str(value or _SERVER[name]) for name, value in values.items())


def _version(session: Session) -> int | None:
    """Return the version of the layout; None if there is no store."""
    if not session.one(f"SELECT to_regclass('{_NAMESPACE}.layout') IS NOT NULL"):
        return None
    return int(session.one("SELECT max(version) FROM layout") or 0)


class _Connection(psycopg.Connection[Any]):
    """A connection that is closed when the server is silent for long."""

    heard = 0.0  # when the server last said something, or was asked

    def wait(self, gen: Generator[Any, Any, Any], interval: float = 0.1, *_: object, **__: object) -> Any:  # noqa: ANN401 - as there
        try:
            return waiting.wait(self._while_heard(gen), self.pgconn.socket, interval)
        except (KeyboardInterrupt, TimeoutError) as error:
            self.close()
            if isinstance(error, KeyboardInterrupt):
                raise
            raise psycopg.OperationalError(str(error)) from None

    def _while_heard(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        self.heard = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready:
                    self.heard = time.monotonic()
                elif time.monotonic() - self.heard > _PATIENCE:
                    raise TimeoutError("no word from the server")
                wanted = gen.send(ready)
        except StopIteration as done:
            return done.value


class Session:
    """A connection to a database.

    A lost connection is made again. Outside a transaction no one notices; inside one, the error of PostgreSQL
    is raised, and the transaction may be made again. A commit that was under way is looked up.
    """

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database
        self._held: set[str] = set()
        self._transaction = ""  # number of the open one
        self._gone: StoppedError | None = None  # who closes the store need not wait again
        self._raw = database.connect(again=False)

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

    def one(self, sql: str, *values: object) -> Any:  # noqa: ANN401 - of any type
        """Return the one value that a statement gives."""
        ((value,),) = self.execute(sql, values).fetchall()
        return value

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
        return float(self.one("SELECT extract(epoch FROM clock_timestamp())::float8"))

    def hold(self, name: str) -> bool:
        """Take a lock of this connection: the server releases it when the process or its machine is gone."""
        if name in self._held or not self.one("SELECT pg_try_advisory_lock(?)", _number(name)):
            return False
        self._held.add(name)
        return True

    def held(self, name: str) -> bool:
        """Say whether someone holds a lock, by a look that holds nothing beyond the transaction."""
        free = "SELECT pg_try_advisory_xact_lock_shared(?)"
        return name in self._held or not self.one(free, _number(name))

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
            state = self.one("SELECT pg_xact_status(CAST(? AS xid8))", transaction)
            if state != "in progress" or time.monotonic() > until:
                return bool(state == "committed")
            time.sleep(_AGAIN)

    def _connected(self) -> _Connection:
        """Connect again to a server that may be restarting."""
        since = self._raw.heard
        while self._gone is None:
            try:
                return self._database.connect(again=True)
            except MetaevalError as error:
                silent = time.monotonic() - since
                if silent > _PATIENCE:
                    name = self._database.name
                    self._gone = StoppedError(
                        f"the store {name} has not answered for {silent:.0f} s{KEPT}: {error}"
                    )
                time.sleep(_AGAIN)
        raise self._gone

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
