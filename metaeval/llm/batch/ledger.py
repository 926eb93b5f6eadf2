"""The batches of a store: the state of each, and the requests in it.

A state is written before the next step is made, so whoever is killed between two steps leaves a row that says
what may have happened.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from metaeval.llm.calls.request import Reply, Request
from metaeval.llm.store.rows import keep, put_held

if TYPE_CHECKING:
    from metaeval.llm.store.database import StoreConnection
    from metaeval.llm.store.replies import Store

DRAFT, ENDED, LIMITED = "draft", "ended", "limited"
"""It may not be there yet; it was collected; the provider has no room for so many requests."""
UNDER_WAY = SENT, _, _ = ("sent", "read once", "read twice")
"""It is there; its results were read so often, and lacked rows."""


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
    """The provider's name of the batch; of a draft, when it was asked for; empty if it was not."""


_COLUMNS = ",".join(Batch._fields)
_NOTE = (
    f"INSERT INTO batches ({_COLUMNS}) VALUES ({','.join('?' * len(Batch._fields))}) "  # noqa: S608 - names
    f"ON CONFLICT (name) DO UPDATE SET {','.join(f'{name} = excluded.{name}' for name in Batch._fields[5:])}"
)


class Ledger:
    """The batches of a store, to some places: providers and addresses."""

    def __init__(self, store: Store, places: Collection[tuple[str, str]]) -> None:
        self._store, self._places = store, places

    def batches(self, *states: str) -> list[Batch]:
        """Return the batches in some states, in the order in which they were begun."""
        marks = ",".join("?" * len(states))
        rows = self._store.rows(
            f"SELECT {_COLUMNS} FROM batches WHERE state IN ({marks}) ORDER BY rowid",  # noqa: S608 - names
            states,
        )
        return [batch for batch in map(Batch._make, rows) if (batch.provider, batch.address) in self._places]

    def note(self, batch: Batch) -> Batch:
        """Write the state of a batch."""
        self._store.write(lambda connection: connection.execute(_NOTE, batch).rowcount)
        return batch

    def give_up(self, batch: Batch, most: int | None = None) -> None:
        """Forget a batch that never was: its requests are to be sent, ``most`` at once, if that is given."""

        def change(connection: StoreConnection) -> None:
            connection.execute("UPDATE batch_requests SET batch = '' WHERE batch = ?", (batch.name,))
            if most is None:
                connection.execute("DELETE FROM batches WHERE name = ?", (batch.name,))
            else:
                connection.execute(_NOTE, batch._replace(state=LIMITED, requests=most, usd=0.0))

        self._store.write(change)

    def add(self, batch: Batch, requests: Iterable[tuple[Request, str]]) -> None:
        """Note that requests, with what is sent otherwise of each, are in a batch."""

        def insert(connection: StoreConnection) -> None:
            connection.executemany(
                "INSERT INTO batch_requests VALUES (?,?,?,?,0) ON CONFLICT (key) DO UPDATE SET "
                "batch = excluded.batch, sent = excluded.sent",
                [(r.key, batch.name, keep(connection, r.fields), sent) for r, sent in requests],
            )

        self._store.write(insert)

    def known(self, key: str) -> tuple[str, int] | None:
        """Return the batch that a request is in, empty for none, and how many ended without a reply to it."""
        rows = self._store.rows("SELECT batch,tries FROM batch_requests WHERE key = ?", (key,))
        return rows[0] if rows else None

    def requests(self, batch: Batch) -> dict[str, str]:
        """Return the keys of the requests that are in a batch, with what was sent otherwise of each."""
        return dict(self._store.rows("SELECT key,sent FROM batch_requests WHERE batch = ?", (batch.name,)))

    def keep(self, batch: Batch, replies: Mapping[str, Reply]) -> None:
        """Keep replies to requests of a batch; a failed one is out of the batch, and counts as a try."""

        def change(connection: StoreConnection) -> None:
            for key, reply in replies.items():
                row = connection.execute(
                    "SELECT request FROM batch_requests WHERE key = ? AND batch = ?", (key, batch.name)
                ).fetchone()
                if row is None:
                    continue
                put_held(connection, key, row[0], (batch.provider, batch.model), reply, created=time.time())
                if reply.final:
                    connection.execute("DELETE FROM batch_requests WHERE key = ?", (key,))
                else:
                    connection.execute(
                        "UPDATE batch_requests SET batch = '', tries = tries + 1 WHERE key = ?", (key,)
                    )

        self._store.write(change)

    def close(self, run: str) -> None:
        """Forget what is over: another run may spend, and ask for what failed, again."""

        def change(connection: StoreConnection) -> None:
            connection.execute("DELETE FROM batches WHERE run = ? AND state IN (?, ?)", (run, ENDED, LIMITED))
            connection.execute("DELETE FROM batch_requests WHERE batch = ''")

        self._store.write(change)
