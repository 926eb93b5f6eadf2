"""What the processes of one study share: its budget, and time at each address, leased from the store.

A process leases a block at a time, so most calls need no look at the store. What a process that is killed has
leased counts as spent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from metaeval.llm.store.database import Connection
    from metaeval.llm.store.replies import Store

T = TypeVar("T")

_TABLES = (
    """CREATE TABLE IF NOT EXISTS budgets (
    study TEXT NOT NULL, part TEXT NOT NULL, used INTEGER NOT NULL, PRIMARY KEY (study, part))""",
    """CREATE TABLE IF NOT EXISTS lanes (
    study TEXT NOT NULL, lane TEXT NOT NULL, free_at REAL NOT NULL, PRIMARY KEY (study, lane))""",
)
_OF_REST = 64  # a block is this part of what is left, so that the last blocks are of one call


class Shares:
    """What processes share that use the same store and the same name of a study."""

    def __init__(self, store: Store, study: str) -> None:
        self._store, self._study = store, study
        self._made = False

    async def take(self, part: str, least: int, most: int) -> int:
        """Take some of a part of the budget, in whole units; 0 if less than ``least`` of ``most`` is left."""

        def change(connection: Connection) -> int:
            ((used,),) = connection.execute(
                "INSERT INTO budgets VALUES (?, ?, 0) ON CONFLICT (study, part) DO UPDATE "
                "SET used = budgets.used RETURNING used",  # which keeps others away until the commit
                (self._study, part),
            ).fetchall()
            left = most - used
            block = max(least, left // _OF_REST) if left >= least else 0
            self._add(connection, part, block)
            return block

        return await self._changed(change)

    async def give_back(self, part: str, amount: int) -> None:
        """Give back what was taken of a part and is not needed."""
        await self._store.soon(lambda connection: self._add(connection, part, -amount))

    async def lease(self, provider: str, address: str, what: str, seconds: float) -> float:
        """Take the next seconds of a limit at an address, and return how long it is until they begin."""
        lane = f"{provider} {address} {what}"

        def change(connection: Connection) -> float:
            now = connection.now()
            ((end,),) = connection.execute(
                "INSERT INTO lanes VALUES (?, ?, ?) ON CONFLICT (study, lane) DO UPDATE SET free_at = "
                "CASE WHEN lanes.free_at > ? THEN lanes.free_at ELSE ? END + ? RETURNING free_at",
                (self._study, lane, now + seconds, now, now, seconds),
            ).fetchall()
            return float(max(end - seconds - now, 0.0))

        return await self._changed(change)

    async def _changed(self, change: Callable[[Connection], T]) -> T:
        if not self._made:
            await self._store.soon(lambda connection: connection.create(*_TABLES))
            self._made = True
        return await self._store.soon(change)

    def _add(self, connection: Connection, part: str, amount: int) -> None:
        connection.execute(
            "UPDATE budgets SET used = used + ? WHERE study = ? AND part = ?", (amount, self._study, part)
        )
