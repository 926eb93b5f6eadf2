"""Claims of requests that are under way, so that two processes do not pay for the same reply.

A claim is a row in a table of the store and names the process that made it. Each such process holds a lock on
a file of its own while it lives. The operating system releases the lock however the process ends, so a claim
whose lock is free is void.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from typing import TYPE_CHECKING

import filelock

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

TABLE = "CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID"
_OWNER = re.compile(r"[0-9]+-[0-9a-f]{12}")
_LOOK_AGAIN = 1.0  # seconds after which an owner that was alive is looked at again


class Claims:
    """The claims of this process; every method is called from the thread that writes to the store."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._owner = ""
        self._lock: filelock.BaseFileLock | None = None
        self._alive: dict[str, float] = {}

    def take(self, connection: sqlite3.Connection, key: str) -> bool:
        """Claim a key; false if a live process has claimed it, be it another task of this one."""
        if not self._owner:
            self._owner = f"{os.getpid()}-{secrets.token_hex(6)}"
            self._lock = self._lock_of(self._owner)
            self._lock.acquire(timeout=0)
        mine = (key, self._owner)
        if connection.execute("INSERT OR IGNORE INTO claims VALUES (?, ?)", mine).rowcount:
            return True
        ((owner,),) = connection.execute("SELECT owner FROM claims WHERE key = ?", (key,)).fetchall()
        if owner == self._owner or self._lives(owner):
            return False
        connection.execute("DELETE FROM claims WHERE owner = ?", (owner,))
        connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?)", mine)
        return True

    def release(self, connection: sqlite3.Connection, key: str) -> None:
        """Release a key, if this process claimed it."""
        connection.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, self._owner))

    def close(self, connection: sqlite3.Connection) -> None:
        """Release all keys."""
        if self._lock is not None:
            connection.execute("DELETE FROM claims WHERE owner = ?", (self._owner,))
            self._lock.release()
            self._path(self._owner).unlink(missing_ok=True)
            self._lock = None

    def _lives(self, owner: object) -> bool:
        if not isinstance(owner, str) or not _OWNER.fullmatch(owner):
            return False  # no process is called so: the file was damaged
        now = time.monotonic()
        if self._alive.get(owner, -1.0) > now:
            return True
        lock = self._lock_of(owner)
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            self._alive[owner] = now + _LOOK_AGAIN
            return True
        lock.release()
        with contextlib.suppress(OSError):  # another process found it dead too
            self._path(owner).unlink()
        return False

    def _path(self, owner: str) -> Path:
        return self._store.with_name(f"{self._store.name}-{owner}.lock")

    def _lock_of(self, owner: str) -> filelock.BaseFileLock:
        return filelock.FileLock(self._path(owner), thread_local=False)
