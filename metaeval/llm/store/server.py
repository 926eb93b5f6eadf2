"""A store in a database of PostgreSQL, for many machines: in a schema of its own, ``metaeval``."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from metaeval.base.errors import MetaevalError
from metaeval.llm.calls.scrub import scrub
from metaeval.llm.store.address import ServerAddress
from metaeval.llm.store.claims import TABLE as CLAIMS
from metaeval.llm.store.database import UndoneError
from metaeval.llm.store.file import VERSION
from metaeval.llm.store.rows import TABLE
from metaeval.llm.store.session import SCHEMA, Session
from metaeval.llm.store.texts import TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.llm.store.database import StoreConnection

_CONNECT_SECONDS = 10
_LONGEST_WORD = 200  # characters of what PostgreSQL says: it may quote a whole reply
# Kinds of errors: deadlock, the server stops, the connection is lost, someone is alone for long.
_UNDONE = ("40", "57P", "08", "55P03")
# A machine that is gone gives its claims back within a minute; one that stands still lets others go on.
_SETTINGS = f"""SET search_path = {SCHEMA}; SET default_transaction_isolation = 'read committed';
    SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3;
    SET lock_timeout = '60s'; SET idle_in_transaction_session_timeout = '60s'"""


class ServerDatabase:
    """A store in a database; `metaeval.llm.store.database.Database` says what its methods do."""

    def __init__(self, address: str) -> None:
        self._address = ServerAddress.read(address)
        try:
            conninfo_to_dict(self._address.text)
        except psycopg.ProgrammingError:  # which quotes what it could not read
            raise ServerAddress.unreadable() from None
        self.name = self._address.name
        named = os.environ.get("METAEVAL_STORE", "")
        # A run folder names its store without the password, which whoever runs it again still has.
        if not self._address.secrets and ServerAddress.shown(named) == self.name:
            self._address = ServerAddress.read(named)

    def exists(self) -> bool:
        """Say whether the database has a store."""
        with self.sentences(), contextlib.closing(Session(self._connect, self.name)) as session:
            return self._version(session) is not None

    def open_to_read(self) -> Session:
        """Open a store; one of another version is refused."""
        return self._open(Session(self._connect, self.name))

    def open_to_write(self) -> Session:
        """Open an existing store; it needs no upgrade."""
        return self._open(Session(self._connect, self.name, patient=True))

    def _open(self, session: Session) -> Session:
        with contextlib.ExitStack() as stack:
            stack.callback(session.close)
            if self._version(session) is None:
                self._create(session)
            version = self._version(session)
            if version != VERSION:
                raise MetaevalError(
                    f"the store {self.name} is of version {version}, this metaeval reads version {VERSION}; "
                    f"name another database, or use the metaeval that wrote it"
                )
            stack.pop_all()
        return session

    @contextlib.contextmanager
    def sentences(self) -> Iterator[None]:
        """Turn errors of PostgreSQL into sentences."""
        try:
            yield
        except sqlite3.DatabaseError as error:  # a row that was changed after it was written
            raise MetaevalError(f"the store {self.name} is damaged: {error}") from error
        except psycopg.Error as error:
            passing = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
            if passing and (error.sqlstate or "08").startswith(_UNDONE):
                raise UndoneError(f"the store {self.name} did not answer ({self._said(error)})") from error
            if isinstance(error, (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction)):
                raise MetaevalError(
                    f"the store {self.name} may only be read ({self._said(error)}), so no reply can be kept "
                    f"there; name another in METAEVAL_STORE, or run with --offline"
                ) from error
            raise MetaevalError(
                f"cannot use the store {self.name} ({self._said(error)}); check the database, or name "
                f"another in METAEVAL_STORE"
            ) from error

    def version(self, connection: StoreConnection) -> int:
        """Return the version of the layout, which was looked at when the store was opened."""
        return VERSION

    def size(self, connection: StoreConnection) -> int:
        """Return how many bytes the tables take, with their indexes."""
        sizes = "SELECT CAST(coalesce(sum(pg_total_relation_size(oid)), 0) AS BIGINT) FROM pg_class "
        found = connection.execute(f"{sizes} WHERE relkind = 'r' AND relnamespace = '{SCHEMA}'::regnamespace")
        return int(found.fetchone()[0])

    def faults(self, connection: StoreConnection, most: int = 100) -> list[str]:
        """Return nothing: PostgreSQL stops at a page that is damaged."""
        return []

    def shrink(self, connection: StoreConnection) -> None:
        """Do nothing: PostgreSQL uses free space again."""

    def state(self) -> None:
        """Return nothing: others may write at any time."""

    def _connect(self) -> psycopg.Connection[Any]:
        try:
            with contextlib.ExitStack() as stack:
                raw = psycopg.connect(
                    self._address.text,
                    autocommit=True,
                    client_encoding="utf8",
                    application_name="metaeval",
                    connect_timeout=_CONNECT_SECONDS,
                )
                stack.callback(raw.close)
                self._check(raw)
                raw.execute(_SETTINGS)
                stack.pop_all()
        except psycopg.Error as error:
            raise MetaevalError(
                f"cannot reach the store {self.name} ({self._said(error)}); check that PostgreSQL runs there "
                f"and lets you in, or name another in METAEVAL_STORE"
            ) from None  # the error before it may hold the password
        return raw

    def _check(self, raw: psycopg.Connection[Any]) -> None:
        """Refuse what does not keep claims, or texts, as they are."""
        found = raw.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
        why = ""
        if found != (raw.info.backend_pid,):
            why = (
                "lies behind a proxy, such as PgBouncer, that shares its connections: claims are locks of a "
                "connection, and would be lost or shared; name the address of PostgreSQL itself"
            )
        elif raw.info.parameter_status("server_encoding") != "UTF8":
            why = "is in a database that does not keep every text; create one with: createdb --encoding UTF8"
        if why:
            raise MetaevalError(f"the store {self.name} {why}")

    def _version(self, connection: StoreConnection) -> int | None:
        """Return the version of the layout; None if there is no store."""
        ((there,),) = connection.execute(f"SELECT to_regclass('{SCHEMA}.layout') IS NOT NULL").fetchall()
        if not there:
            return None
        (version,) = connection.execute("SELECT max(version) FROM layout").fetchone()
        return int(version or 0)

    def _create(self, session: Session) -> None:
        session.begin(alone=True)
        if self._version(session) is None:  # another process may have been first
            session.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            session.create(TABLE, TEXTS, CLAIMS, "CREATE TABLE IF NOT EXISTS layout (version INTEGER)")
            session.execute("INSERT INTO layout VALUES (?)", (VERSION,))
        session.commit()

    def _said(self, error: psycopg.Error) -> str:
        """Return what PostgreSQL says, without the password."""
        said = " ".join(str(error).split())
        for secret in self._address.secrets:
            said = scrub(said, secret).replace(secret, "[password]")
        return said[:_LONGEST_WORD] or type(error).__name__
