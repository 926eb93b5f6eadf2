"""Collect batches: their results → replies in the store."""

from __future__ import annotations

import itertools
import json
import logging
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from metaeval.base.counts import counted
from metaeval.base.errors import StoppedError
from metaeval.base.progress import progress
from metaeval.llm.calls.client import CallError
from metaeval.llm.calls.request import BY_BATCH, CallFailure, FailureKind, Reply, Request, canonical
from metaeval.llm.calls.terms import changes_in
from metaeval.llm.providers.openai import read_completion
from metaeval.llm.providers.wire import MISREAD, answered, unreadable
from metaeval.llm.store.rows import StoreConnection, keep, put_held

if TYPE_CHECKING:
    from metaeval.llm.batch.endpoint import Endpoint, State
    from metaeval.llm.calls.price import Prices
    from metaeval.llm.store.replies import Store


_FULL = "token_limit_exceeded"
_AT_ONCE = 250  # results that are kept at once

_log = logging.getLogger("metaeval")


def collect(ledger: Ledger, endpoint_of: Callable[[Batch], Endpoint], prices: Prices) -> None:
    """Collect all batches that are over; raise `CallError`, or `StoppedError` if one failed as a whole."""
    states = {batch: endpoint_of(batch).state(batch.id) for batch in ledger.batches(*UNDER_WAY)}
    had_room = {model_of(batch) for batch, state in states.items() if not _had_no_room(state)}
    for batch, state in states.items():
        if state.over:
            _collect(batch, state, ledger, endpoint_of(batch), prices, alone=model_of(batch) not in had_room)


def model_of(batch: Batch | Request) -> tuple[str, str, str]:
    """Return the model and the address that a batch asks."""
    return batch.provider, batch.model, batch.address


def _collect(
    batch: Batch, state: State, ledger: Ledger, endpoint: Endpoint, prices: Prices, *, alone: bool
) -> None:
    if _had_no_room(state):
        _no_room(ledger, endpoint, batch, alone=alone)
        return
    if not state.files and state.over == "failed":
        ledger.give_up(batch)
        why = "; ".join(f"{message} ({code})" for code, message in state.errors) or "no reason is given"
        raise StoppedError(f"a batch to {batch.provider}/{batch.model} failed: {why}")
    priced = Request(batch.provider, batch.model, (), base_url=batch.address)
    usd, most, sent = 0.0, batch.usd / batch.requests, ledger.requests(batch)
    first: dict[str, int] = {}  # key → hash of the first reply to it
    failures: dict[str, Reply] = {}
    unlike: set[str] = set()  # keys with several replies
    with progress(f"collecting {batch.requests:,} replies of {batch.model}", batch.requests) as advance:
        for lines in _chunks(itertools.chain.from_iterable(map(endpoint.lines, state.files))):
            replies: dict[str, Reply] = {}
            for key, row in filter(None, map(result_in, lines)):
                reply = reply_of(row, sent.get(key, ""), endpoint.client.denied)
                (replies if reply.final else failures).setdefault(key, reply)
                if reply.final and first.setdefault(key, hash(reply.text)) != hash(reply.text):
                    unlike.add(key)
            costs = [prices.cost(priced, reply) for reply in replies.values()]
            usd += sum(most if cost is None else cost for cost in costs)
            ledger.keep(batch, replies)
            advance(len(replies))
    for keys in _chunks(failures):
        ledger.keep(batch, {key: failures[key] for key in keys})  # of those that no row has a reply to
    if unlike:
        replied = f"several different replies to {counted(len(unlike), 'request')}, such as {min(unlike)}"
        _log.warning("metaeval: a batch to %s has %s; the first of them counts", batch.model, replied)
    left = ledger.requests(batch)
    # What is missing beyond those that the batch did not come to was answered, and is paid for.
    missing = len(left) - (0 if state.over == "completed" else batch.requests - state.done)
    tries = UNDER_WAY.index(batch.state) + 1
    if missing > 0:
        lack = f"a batch to {batch.model} lacks {missing:,} of {counted(batch.requests, 'row')}"
        then = "looked for again by the same command" if tries < len(UNDER_WAY) else "sent again"
        _log.warning("metaeval: %s (try %d of %d); they are %s", lack, tries, len(UNDER_WAY), then)
        if tries < len(UNDER_WAY):
            ledger.note(batch._replace(state=UNDER_WAY[tries]))
            return
    lost = failure("transport", f"the batch {state.over} without a reply to it", f"batch_{state.over}")
    for keys in _chunks(left):
        ledger.keep(batch, dict.fromkeys(keys, lost))
    ledger.note(batch._replace(state=ENDED, usd=usd + max(missing, 0) * most))


def _no_room(ledger: Ledger, endpoint: Endpoint, batch: Batch, *, alone: bool) -> None:
    """Note that there is no room for a batch: if no other is in its way, the next is half as large."""
    endpoint.delete_files(batch.name)
    if alone and batch.requests == 1:
        ledger.give_up(batch)
        raise StoppedError(
            f"{batch.provider}/{batch.model} does not take a batch of one call; other batches of the "
            "account may fill its limit"
        )
    ledger.give_up(batch, batch.requests // 2 if alone else batch.requests)


def _had_no_room(state: State) -> bool:
    return not state.files and any(code == _FULL for code, _ in state.errors)


def _chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    lines = iter(lines)
    while chunk := list(itertools.islice(lines, _AT_ONCE)):
        yield chunk


_OURS = re.compile(r"invalid|bad.?request|unsupported|too.?(?:long|large)|inspection|filter", re.IGNORECASE)
"""In the code of an error without a status: the fault is the request's, so it is not sent again."""


def result_in(line: str) -> tuple[str, Mapping[str, Any]] | None:
    """Return the key that a line of results is about, and what it says; None if it says of none."""
    try:
        row = json.loads(line)
        key = row["custom_id"]
    except MISREAD:
        return None
    return (key, row) if isinstance(key, str) else None


def reply_of(row: Mapping[str, Any], sent: str, denied: Collection[str] = ()) -> Reply:
    """Return the reply that a row of results holds; its ``error`` says why there is none.

    Parameters
    ----------
    row
        With ``response``, which has a ``status_code`` and a ``body``, or ``error``.
    sent
        What was sent otherwise than asked for, as JSON; a failure keeps it too.
    denied
        Codes of an empty account at this provider.
    """
    try:
        reply = _read(row, denied)
    except CallError as error:
        return failure(error.kind, str(error), error.code, sent)
    return reply._replace(sent=canonical({**changes_in(sent), **BY_BATCH}))


def failure(kind: FailureKind, message: str, code: str, sent: str = "") -> Reply:
    """Return a failed reply."""
    return Reply(error=CallFailure(kind, message, code), sent=sent)


def _read(row: Mapping[str, Any], denied: Collection[str]) -> Reply:
    response, error = row.get("response"), row.get("error")
    if isinstance(response, dict):
        status, body = response.get("status_code"), response.get("body")
        raw = json.dumps(body, ensure_ascii=False)
        if status == 200:
            try:
                return read_completion(body if isinstance(body, dict) else {}, raw)
            except MISREAD as wrong:
                raise unreadable(wrong, raw, "completion") from None
        if isinstance(status, int) and not error:
            return answered(status, raw, {}, denied)
    code = str(error.get("code") or "") if isinstance(error, dict) else ""
    said = json.dumps({"error": error if error else "the row has neither a response nor an error"})
    return answered(400 if _OURS.search(code) else 500, said, {}, denied)


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
