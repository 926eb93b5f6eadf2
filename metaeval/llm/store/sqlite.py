"""A store in an SQLite file: opened to write (it is created if need be), or to read.

SQLite runs in WAL mode: readers never wait, and a process that is killed loses only what it had not
committed. A lock is one on a file beside the store: the operating system releases it however a process ends.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import filelock

from metaeval.base.errors import MetaevalError
from metaeval.base.files import unusable
from metaeval.llm.store.rows import SCHEMA, VERSION, DamagedReplyError, StoreConnection

_APPLICATION = 0x6D657673  # "mevs": how a store is told from other SQLite files
_BUSY = 60.0  # seconds to wait for another process's commit
_LONGEST_WORD = 200  # characters of what SQLite says: it may quote a whole reply


class FileSession(sqlite3.Connection):
    """A connection to a file."""

    path: Path
    locks: dict[str, filelock.BaseFileLock]

    def begin(self) -> None:
        """Begin a transaction that writes."""
        self.execute("BEGIN IMMEDIATE")

    def alone(self) -> None:
        """Do nothing: who has begun is alone."""

    def now(self) -> float:
        """Return the time in seconds, by the one clock of all who use the store."""
        return time.time()

    def hold(self, name: str) -> bool:
        """Take a lock that this process keeps as long as it lives; false if it is taken, be it by itself."""
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
    """A store in a file."""

    withheld = ""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)
        self._log = path.with_name(f"{path.name}-wal")

    def exists(self) -> bool:
        """Say whether the file is there; raise `MetaevalError` if it can be none."""
        why = "it is a folder" if self.path.is_dir() else unusable(self.path)
        if why and not self.path.is_file():
            raise MetaevalError(
                f"the store {self.path} cannot be made: {why}; name a file with `judging.store`"
            )
        return self.path.is_file()

    def open_to_read(self) -> FileSession:
        """Open the file to read it."""
        self.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return self.open_to_write()
        except sqlite3.OperationalError as error:
            read_only = _code(error) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
            if not read_only or not self.path.is_file():
                raise
        return self._open_read_only()

    def open_to_write(self) -> FileSession:
        """Open the file to write to it."""
        connection = self._connect(self.path)
        with _closed_on_error(connection):
            # In this order, for another process may be making the store: tables and mark come in one commit.
            new = not self._is_store(connection)
            _switch_to_wal(connection)
            # A power cut may lose the last replies, but not the file; a killed process loses nothing.
            connection.execute("PRAGMA synchronous = NORMAL")
            if new:
                connection.begin()
                for statement in SCHEMA:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.commit()
        return connection

    @contextlib.contextmanager
    def sentences(self) -> Iterator[None]:
        """Turn SQLite's errors into sentences."""
        try:
            yield
        except (sqlite3.Error, MemoryError) as error:
            raise MetaevalError(self._sentence(error)) from error

    def size(self, connection: StoreConnection) -> int:
        """Return how many bytes the file takes, with what is not in it yet."""
        return sum(file.stat().st_size for file in (self.path, self._log) if file.exists())

    def faults(self, connection: StoreConnection, most: int = 100) -> list[str]:
        """Return what SQLite finds damaged."""
        checked = connection.execute(f"PRAGMA integrity_check({most})").fetchall()
        return [text for (text,) in checked if text != "ok"]

    def shrink(self, connection: StoreConnection) -> None:
        """Give free space back to the disk, unless the disk is full or another process uses the store."""
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def state(self) -> list[int] | None:
        """Return the state of the file; None if there are changes that are not in it yet."""
        if self._log.exists() and self._log.stat().st_size:
            return None
        file = self.path.stat()
        return [file.st_ino, file.st_size, file.st_mtime_ns]

    def _sentence(self, error: BaseException) -> str:
        why = " ".join(str(error).split())[:_LONGEST_WORD] or type(error).__name__
        store, other = f"the store {self.path}", "name another in METAEVAL_STORE"
        if _code(error) == sqlite3.SQLITE_READONLY:
            return f"{store} may only be read, so no reply can be kept there; {other}, or run with --offline"
        if "Could not decode" in why:  # and then the text that it could not
            return f"{store} is damaged: a text in it is no UTF-8; move it away, or {other}"
        if isinstance(error, DamagedReplyError):
            return f"{store} is damaged: {error}"
        if isinstance(error, sqlite3.OperationalError):
            return f"cannot use {store} ({why}); check the disk and who else uses it, or {other}"
        return f"{store} is damaged or is no store ({why}); move it away, or {other}"

    def _is_store(self, connection: sqlite3.Connection) -> bool:
        """Say whether the file is a store; an empty one is not yet, any other raises `MetaevalError`."""
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        is_store = (application, version) == (_APPLICATION, VERSION)
        if not is_store and (application or tables):
            raise MetaevalError(
                f"{self.path} is an SQLite file, but no store of layout {VERSION}; name another file, or use "
                "the metaeval that wrote it"
            )
        return is_store

    def _open_read_only(self) -> FileSession:
        """Open a store without writing any file beside it.

        With a ``-shm`` file, SQLite sees what other processes write. Otherwise the file is opened as
        immutable, which misses replies that are only in the ``-wal`` file: refused if there are any.
        """
        try:
            return self._open_as("mode=ro")
        except sqlite3.OperationalError:
            if self._log.is_file() and self._log.stat().st_size:
                raise MetaevalError(
                    f"the store {self.path} may only be read, and its last replies are in {self._log.name}, "
                    f"which SQLite reads only where it may write; copy both files, and name the copy in "
                    f"METAEVAL_STORE"
                ) from None
            return self._open_as("mode=ro&immutable=1")

    def _open_as(self, mode: str) -> FileSession:
        connection = self._connect(f"{self.path.absolute().as_uri()}?{mode}")
        with _closed_on_error(connection):
            if not self._is_store(connection):
                raise MetaevalError(f"the store {self.path} is empty and may only be read; name another file")
        return connection

    def _connect(self, address: str | Path) -> FileSession:
        connection = sqlite3.connect(
            address,
            uri=isinstance(address, str),
            timeout=_BUSY,
            isolation_level=None,
            check_same_thread=False,
            factory=FileSession,
        )
        connection.path, connection.locks = self.path, {}
        return connection


@contextlib.contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _code(error: BaseException) -> int | None:
    """Return SQLite's primary error code, if it has one."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


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
