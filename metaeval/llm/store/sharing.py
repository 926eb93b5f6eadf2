"""What processes share that use one store: claims of requests, budgets, and time at each address.

A claim is a row that names the process which asks, so that two do not pay for the same reply. Each such
process holds a lock of its own while it lives, which is released however the process ends; so a claim whose
lock is free is void.

Budget and time are leased a block at a time, so most calls need no look at the store. What a process that is
killed has leased of a budget counts as spent; its time is free again.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metaeval.llm.store.database import StoreConnection
    from metaeval.llm.store.replies import Store

# A claim that is there is passed over without waiting for its owner, who may be about to release it.
_CLAIM = """INSERT INTO claims SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM claims WHERE key = ?)
    ON CONFLICT DO NOTHING"""
_OWNER = re.compile(r"[0-9]+-[0-9a-f]{12}")
_LOOK_AGAIN = 1.0  # seconds after which an owner that was alive is looked at again
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
        self._alive[owner] = now + _LOOK_AGAIN
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
