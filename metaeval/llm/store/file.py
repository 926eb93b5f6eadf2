"""A store in an SQLite file: opened to write (it is created or upgraded if need be), or to read.

SQLite runs in WAL mode: readers never wait, and a process that is killed loses only what it had not
committed. A lock is one on a file beside the store: the operating system releases it however a process ends.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING

import filelock

from metaeval.base.errors import MetaevalError
from metaeval.base.progress import progress
from metaeval.llm.store.claims import TABLE as CLAIMS
from metaeval.llm.store.rows import TABLE, upgrade
from metaeval.llm.store.texts import TEXTS, DamagedReplyError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

VERSION = 3
_OLDEST = 1  # without digests; 2: with whole requests, and without what was sent otherwise
_APPLICATION = 0x6D65766C  # "mevl": how a store is told from other SQLite files
_BUSY = 60.0  # seconds to wait for another process's commit
_LONGEST_UPGRADE = 24 * 3600  # seconds to wait for another process that upgrades the store
_LONGEST_WORD = 200  # characters of what SQLite says: it may quote a whole reply


class FileConnection(sqlite3.Connection):
    """A connection to a file; `metaeval.llm.store.database.Connection` says what its methods do."""

    path: Path
    locks: dict[str, filelock.BaseFileLock]

    def create(self, *tables: str) -> None:
        """Create what is not there."""
        for table in tables:
            self.execute(table)

    def begin(self) -> None:
        """Begin, once no other process writes."""
        self.execute("BEGIN IMMEDIATE")

    def alone(self) -> None:
        """Do nothing: who has begun is alone."""

    def now(self) -> float:
        """Return the time of this computer."""
        return time.time()

    def hold(self, name: str) -> bool:
        """Lock a file beside the store."""
        lock = self.locks.get(name)
        if lock is None:
            lock = filelock.FileLock(f"{self.path}-{name}.lock", thread_local=False)
        elif lock.is_locked:
            return False
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            return False
        self.locks[name] = lock
        return True

    def held(self, name: str) -> bool:
        """Say whether the file is locked; delete it if it is not."""
        if not self.hold(name):
            return True
        self.let_go(name)
        return False

    def let_go(self, name: str, *, for_good: bool = True) -> None:
        """Release the lock of a file, and delete it if no one waits for it."""
        lock = self.locks.pop(name)
        lock.release()
        if for_good:
            with contextlib.suppress(OSError):  # another process has deleted it
                Path(lock.lock_file).unlink()


class FileDatabase:
    """A store in a file; `metaeval.llm.store.database.Database` says what its methods do."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)

    def exists(self) -> bool:
        """Say whether the file is there."""
        return self.path.is_file()

    def open_to_read(self) -> FileConnection:
        """Open the file to read it."""
        if self.path.is_dir():
            raise MetaevalError(f"the store {self.path} is a folder; name a file")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return _open(self.path)
        except sqlite3.OperationalError as error:
            read_only = _code(error) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
            if not read_only or not self.path.is_file():
                raise
        return _open_read_only(self.path)

    def open_to_write(self) -> FileConnection:
        """Open the file to write to it; one of an older version is upgraded."""
        connection = _open(self.path)
        try:
            if self.version(connection) < VERSION:
                _upgrade(connection)
            (free,), (pages,) = (
                connection.execute(f"PRAGMA {of}").fetchone() for of in ("freelist_count", "page_count")
            )
            if free > pages // 2:  # the old requests' pages, if this or another process has upgraded it
                self.shrink(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def sentences(self) -> AbstractContextManager[None]:
        """Turn SQLite's errors into sentences."""
        return _sentences(self.path)

    def version(self, connection: sqlite3.Connection) -> int:
        """Return the version of the layout."""
        return _version_of(connection)

    def size(self, connection: sqlite3.Connection) -> int:
        """Return how many bytes the file takes, with what is not in it yet."""
        return sum(file.stat().st_size for file in (self.path, self._log) if file.exists())

    def faults(self, connection: sqlite3.Connection, most: int = 100) -> list[str]:
        """Return what SQLite finds damaged."""
        found = connection.execute(f"PRAGMA integrity_check({most})").fetchall()
        return [text for (text,) in found if text != "ok"]

    def shrink(self, connection: sqlite3.Connection) -> None:
        """Give free space back to the disk, unless the disk is full or another process uses the store."""
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def state(self) -> list[int] | None:
        """Return the state of the file; None if there are changes that are not in it yet."""
        if self._log.exists() and self._log.stat().st_size:
            return None
        found = self.path.stat()
        return [found.st_ino, found.st_size, found.st_mtime_ns]

    @property
    def _log(self) -> Path:
        return self.path.with_name(f"{self.path.name}-wal")


def _upgrade(connection: FileConnection) -> None:
    """Upgrade a store in one transaction: whoever is killed, or finds the disk full, leaves it as it was."""
    connection.execute(f"PRAGMA busy_timeout = {_LONGEST_UPGRADE * 1000}")
    connection.execute("BEGIN IMMEDIATE")
    if _version_of(connection) < VERSION:  # another process may have been first
        ((rows,),) = connection.execute("SELECT count(*) FROM replies").fetchall()
        with progress("upgrading the store, once", rows) as advance:
            upgrade(connection, advance)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
    connection.execute(f"PRAGMA busy_timeout = {int(_BUSY * 1000)}")


def _version_of(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


@contextlib.contextmanager
def _sentences(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about a store into a `MetaevalError` of one sentence."""
    try:
        yield
    except (sqlite3.Error, MemoryError) as error:
        why = " ".join(str(error).split())[:_LONGEST_WORD] or type(error).__name__
        if _code(error) == sqlite3.SQLITE_READONLY:
            what = (
                "may only be read, so no reply can be kept there; name another in METAEVAL_STORE, or run "
                "with --offline"
            )
        elif "Could not decode" in why:  # and then the text that it could not
            what = "is damaged: a text in it is no UTF-8; move it away, or name another in METAEVAL_STORE"
        elif isinstance(error, DamagedReplyError):
            what = f"is damaged: {error}"
        elif isinstance(error, sqlite3.OperationalError):
            raise MetaevalError(
                f"cannot use the store {path} ({why}); check the disk and who else uses it, or name another "
                f"in METAEVAL_STORE"
            ) from error
        else:
            what = f"is damaged or is no store ({why}); move it away, or name another in METAEVAL_STORE"
        raise MetaevalError(f"the store {path} {what}") from error


def _code(error: BaseException) -> int | None:
    """Return SQLite's primary error code, if it has one."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _open(path: Path) -> FileConnection:
    connection = _connect(path, path)
    try:
        _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: FileConnection, path: Path) -> None:
    # In this order, since another process may be making the store: tables and mark come in one commit.
    new = not _is_store(connection, path)
    _switch_to_wal(connection)
    # A power cut may lose the last replies, but not the file; a killed process loses nothing committed.
    connection.execute("PRAGMA synchronous = NORMAL")
    if new:
        connection.execute("BEGIN IMMEDIATE")
        connection.create(TABLE, TEXTS, CLAIMS)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")


def _is_store(connection: sqlite3.Connection, path: Path) -> bool:
    """Say whether the file is a store; an empty one is not yet, any other raises `MetaevalError`."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    version = _version_of(connection)
    if application != _APPLICATION:
        if application or tables:
            raise MetaevalError(f"{path} is an SQLite file, but no store of replies; name another")
        return False
    if not _OLDEST <= version <= VERSION:
        raise MetaevalError(
            f"the store {path} is of version {version}, this metaeval reads version {VERSION}; "
            f"name another file, or use the metaeval that wrote it"
        )
    return True


def _open_read_only(path: Path) -> FileConnection:
    """Open a store without writing any file beside it.

    With a ``-shm`` file, SQLite sees what other processes write. Otherwise the file is opened as immutable,
    which misses replies that are only in the ``-wal`` file, and so is refused if there are any.
    """
    try:
        return _open_as(path, "mode=ro")
    except sqlite3.OperationalError:
        log = path.with_name(f"{path.name}-wal")
        if log.is_file() and log.stat().st_size:
            raise MetaevalError(
                f"the store {path} may only be read, and its last replies are in {log.name}, which SQLite "
                f"reads only where it may write; copy both files, and name the copy in METAEVAL_STORE"
            ) from None
        return _open_as(path, "mode=ro&immutable=1")


def _connect(path: Path, address: str | Path) -> FileConnection:
    connection = sqlite3.connect(
        address,
        uri=isinstance(address, str),
        timeout=_BUSY,
        isolation_level=None,
        check_same_thread=False,
        factory=FileConnection,
    )
    connection.path, connection.locks = path, {}
    return connection


def _open_as(path: Path, how: str) -> FileConnection:
    connection = _connect(path, f"{path.absolute().as_uri()}?{how}")
    try:
        there = _is_store(connection, path)
    except BaseException:
        connection.close()
        raise
    if not there:
        connection.close()
        raise MetaevalError(f"the store {path} is empty and may only be read; name another file")
    return connection


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging; SQLite does not wait by itself while another process does the same."""
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
