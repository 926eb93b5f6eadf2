"""What a store knows of batches: what is in each, and how far it came.

Each step is written before the next one is made, so whoever is killed between two steps leaves a row that
says what may have happened.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from metaeval.llm.store.rows import put_held
from metaeval.llm.store.texts import BATCH_REQUESTS, keep

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from metaeval.llm.calls.request import Reply, Request
    from metaeval.llm.store.database import StoreConnection
    from metaeval.llm.store.replies import Store

_BATCHES = """CREATE TABLE IF NOT EXISTS batches (
    name TEXT PRIMARY KEY, run TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
    address TEXT NOT NULL, state TEXT NOT NULL, requests INTEGER NOT NULL, usd REAL NOT NULL,
    changes TEXT NOT NULL, file TEXT NOT NULL, id TEXT NOT NULL)"""
_OF_BATCH = "CREATE INDEX IF NOT EXISTS requests_of_batch ON batch_requests (batch)"

DRAFT, SENT, ENDED, LIMITED = "draft", "sent", "ended", "limited"
"""It may not be there yet; it is there; it was collected; the provider has no room for so many requests."""


class Batch(NamedTuple):
    """A batch of requests to one model."""

    name: str
    """Of our own: the run's, and a number drawn at random."""
    run: str
    """Whose budget it counts against."""
    provider: str
    model: str
    address: str
    state: str
    requests: int
    """How many; of a ``limited`` one, how many there is room for at most."""
    usd: float
    """What it costs; at most, until it was collected."""
    changes: str
    """What was known of the model when it was sent, as JSON (`metaeval.llm.calls.terms`)."""
    file: str = ""
    """The provider's name of the uploaded file; empty if that is not known."""
    id: str = ""
    """The provider's name of the batch; empty if that is not known."""


class Sent(NamedTuple):
    """A request that is or was in a batch."""

    batch: str
    """Name of the batch under way that it is in; empty if it is in none."""
    tries: int
    """How many batches ended without a reply to it."""


class Ledger:
    """The batches of a store, to some places: providers and addresses."""

    def __init__(self, store: Store, places: Collection[tuple[str, str]]) -> None:
        self._store, self._places = store, places

        store.write(lambda connection: connection.create(_BATCHES, BATCH_REQUESTS, _OF_BATCH))

    def batches(self, *states: str) -> list[Batch]:
        """Return the batches in some states, in the order in which they were begun."""
        marks = ",".join("?" * len(states))
        rows = self._store.rows(
            f"SELECT {','.join(Batch._fields)} FROM batches WHERE state IN ({marks}) ORDER BY rowid",  # noqa: S608 - names
            states,
        )
        return [batch for batch in map(Batch._make, rows) if (batch.provider, batch.address) in self._places]

    def sent(self, key: str) -> Sent | None:
        """Return what is known of a request; None if it was in no batch of a run that is under way."""
        rows = self._store.rows("SELECT batch,tries FROM batch_requests WHERE key = ?", (key,))
        return Sent._make(rows[0]) if rows else None

    def begin(self, batch: Batch) -> None:
        """Note that a batch is about to be put together."""
        marks = ",".join("?" * len(batch))
        self._write(f"INSERT INTO batches ({','.join(Batch._fields)}) VALUES ({marks})", *batch)  # noqa: S608 - names

    def add(self, name: str, requests: Iterable[tuple[Request, str]]) -> None:
        """Note that requests, with what is sent otherwise of each, are in a batch."""

        def insert(connection: StoreConnection) -> None:
            connection.executemany(
                "INSERT INTO batch_requests VALUES (?,?,?,?,0) ON CONFLICT (key) DO UPDATE SET "
                "batch = excluded.batch, sent = excluded.sent",
                [(request.key, name, keep(connection, request), sent) for request, sent in requests],
            )

        self._store.write(insert)

    def ready(self, name: str, requests: int, usd: float) -> None:
        """Note how many requests a batch has, and what it costs at most."""
        self._write("UPDATE batches SET requests = ?, usd = ? WHERE name = ?", requests, usd, name)

    def uploaded(self, name: str, file: str) -> None:
        """Note that the file of a batch is uploaded: from now on there may be a batch."""
        self._write("UPDATE batches SET file = ? WHERE name = ?", file, name)

    def created(self, name: str, given: str) -> None:
        """Note that there is a batch, by the provider's name for it."""
        self._write("UPDATE batches SET state = ?, id = ? WHERE name = ?", SENT, given, name)

    def drop(self, name: str) -> None:
        """Forget a batch that never was; its requests are to be sent."""

        def change(connection: StoreConnection) -> None:
            connection.execute("UPDATE batch_requests SET batch = '' WHERE batch = ?", (name,))
            connection.execute("DELETE FROM batches WHERE name = ?", (name,))

        self._store.write(change)

    def limit(self, name: str, most: int) -> None:
        """Note that the provider has no room for a batch, and how many requests to send at most."""

        def change(connection: StoreConnection) -> None:
            connection.execute("UPDATE batch_requests SET batch = '' WHERE batch = ?", (name,))
            connection.execute(
                "UPDATE batches SET state = ?, requests = ?, usd = 0 WHERE name = ?", (LIMITED, most, name)
            )

        self._store.write(change)

    def sent_as(self, batch: Batch, keys: Iterable[str]) -> dict[str, str]:
        """Return, for requests in a batch, what was sent otherwise than asked for."""
        wanted = ["", *keys]  # for PostgreSQL a list of none is no list
        marks = ",".join("?" * len(wanted))
        rows = self._store.rows(
            f"SELECT key,sent FROM batch_requests WHERE batch = ? AND key IN ({marks})",  # noqa: S608
            (batch.name, *wanted),
        )
        return dict(rows)

    def left(self, batch: Batch) -> Iterator[str]:
        """Yield the keys of the requests that are still in a batch."""
        rows = self._store.rows("SELECT key FROM batch_requests WHERE batch = ?", (batch.name,))
        return (key for (key,) in rows)

    def keep(self, batch: Batch, replies: Mapping[str, Reply]) -> None:
        """Keep replies to requests of a batch; a failed one is out of the batch, and counts as a try."""

        def change(connection: StoreConnection) -> None:
            for key, reply in replies.items():
                found = connection.execute(
                    "SELECT request FROM batch_requests WHERE key = ? AND batch = ?", (key, batch.name)
                ).fetchone()
                if found is None:
                    continue
                put_held(connection, key, found[0], (batch.provider, batch.model), reply, created=time.time())
                if reply.final:
                    connection.execute("DELETE FROM batch_requests WHERE key = ?", (key,))
                else:
                    connection.execute(
                        "UPDATE batch_requests SET batch = '', tries = tries + 1 WHERE key = ?", (key,)
                    )

        self._store.write(change)

    def end(self, name: str, usd: float) -> None:
        """Note that a batch was collected, and what it cost."""
        self._write("UPDATE batches SET state = ?, usd = ? WHERE name = ?", ENDED, usd, name)

    def close(self, run: str) -> None:
        """Forget what is over: another run may spend, and ask for what failed, again."""

        def change(connection: StoreConnection) -> None:
            connection.execute("DELETE FROM batches WHERE run = ? AND state IN (?, ?)", (run, ENDED, LIMITED))
            connection.execute("DELETE FROM batch_requests WHERE batch = ''")

        self._store.write(change)

    def _write(self, sql: str, *values: object) -> None:
        self._store.write(lambda connection: connection.execute(sql, values).rowcount)
