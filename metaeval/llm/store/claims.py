"""Claims of requests that are under way, so that two processes do not pay for the same reply.

A claim is a row in a table of the store and names the process that made it. Each such process holds a lock of
its own while it lives, which is released however the process ends; so a claim whose lock is free is void.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metaeval.llm.store.database import Connection

TABLE = "CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID"
# A claim that is there is passed over without waiting for its owner, who may be about to release it.
_CLAIM = """INSERT INTO claims SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM claims WHERE key = ?)
    ON CONFLICT DO NOTHING"""
_OWNER = re.compile(r"[0-9]+-[0-9a-f]{12}")
_LOOK_AGAIN = 1.0  # seconds after which an owner that was alive is looked at again
_TRIES = 3  # others may take or release the same claim meanwhile


class Claims:
    """The claims of this process; every method is called from the thread that writes to the store."""

    def __init__(self) -> None:
        self._owner = ""
        self._alive: dict[str, float] = {}

    def take(self, connection: Connection, key: str) -> bool:
        """Claim a key; false if a live process has claimed it, be it another task of this one."""
        if not self._owner:
            owner = f"{os.getpid()}-{secrets.token_hex(6)}"
            connection.hold(owner)
            self._owner = owner
        for _ in range(_TRIES):
            if connection.execute(_CLAIM, (key, self._owner, key)).rowcount:
                return True
            found = connection.execute("SELECT owner FROM claims WHERE key = ?", (key,)).fetchone()
            if found is not None:
                if found[0] == self._owner or self._lives(connection, found[0]):
                    return False
                connection.execute("DELETE FROM claims WHERE owner = ?", found)
        return False

    def release(self, connection: Connection, key: str) -> None:
        """Release a key, if this process claimed it."""
        connection.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, self._owner))

    def close(self, connection: Connection) -> None:
        """Release all keys."""
        if self._owner:
            connection.execute("DELETE FROM claims WHERE owner = ?", (self._owner,))
            connection.let_go(self._owner)
            self._owner = ""

    def _lives(self, connection: Connection, owner: object) -> bool:
        if not isinstance(owner, str) or not _OWNER.fullmatch(owner):
            return False  # no process is called so: the file was damaged
        now = time.monotonic()
        if self._alive.get(owner, -1.0) > now:
            return True
        if not connection.held(owner):
            return False
        self._alive[owner] = now + _LOOK_AGAIN
        return True
