"""The texts of requests, each kept once.

Requests repeat most of what they say: settings, instructions, examples, a user's profile. So the settings of
a request (all but its attempt and its messages) are one text, and a message is cut into pieces; each is kept
under its hash, and the row of a reply holds their numbers, a run of them as its first and last. A cut depends
on the few bytes before it alone, so what two messages share is cut alike in both, wherever it stands.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import sqlite3
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.llm.calls.request import canonical, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from metaeval.llm.calls.request import Request
    from metaeval.llm.store.database import Connection

TEXTS = (
    "CREATE TABLE IF NOT EXISTS texts (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, text BLOB NOT NULL)"
)
BATCH_REQUESTS = """CREATE TABLE IF NOT EXISTS batch_requests (
    key TEXT PRIMARY KEY, batch TEXT NOT NULL, request TEXT NOT NULL, sent TEXT NOT NULL,
    tries INTEGER NOT NULL)"""
_BROKEN = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What a row that was changed after it was written may raise."""

_AT_ONCE = 400  # texts that are looked up
_ROWS = 5000  # that are read
_WINDOW = 8  # bytes that decide whether there is a cut behind them
_LEAST, _MOST = 128, 4096  # bytes of a piece; a text that repeats itself may have no cut
_ONE_IN = 9  # bits: a cut behind one window of 512
_LARGEST = 2**63  # no number of a row is larger
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # Knuth's multiplicative hash: its first bits depend on all bits


class DamagedReplyError(sqlite3.DatabaseError):
    """A row that was changed after it was written; the rest of the file can be used."""

    def __init__(self, key: object) -> None:
        super().__init__(
            f"the reply {str(key)[:12]!r} is not what was kept; `metaeval store prune --damaged` deletes "
            "such replies, and they are asked for again"
        )


def keep(connection: Connection, request: Request | Mapping[str, Any]) -> str:
    """Keep the texts of a request, or of its fields, and return what its row holds."""
    if isinstance(request, Mapping):
        attempt, messages = request["attempt"], request["messages"]
        frame = canonical({**{n: v for n, v in request.items() if n != "attempt"}, "messages": []})
    else:
        attempt, messages, frame = request.attempt, request.messages, request.frame
    settings = [(_hash(frame.encode()), frame.encode())]
    cut = [(role, _hashed_pieces(content)) for role, content in messages]
    numbers = _numbers(connection, dict(itertools.chain(settings, *(found for _, found in cut))))
    texts: list[int | str | list[int]] = [numbers[settings[0][0]]]
    for role, found in cut:
        texts += [role, *_as_runs(numbers[hashed] for hashed, _ in found)]
    return canonical({"attempt": attempt, "texts": texts})


def request_in(connection: Connection, held: str | bytes, key: str) -> dict[str, Any]:
    """Return the fields of a request from its column; raise `DamagedReplyError` if its key is another."""
    try:
        request: dict[str, Any] = json.loads(held)
        if "texts" in request:  # up to version 2 a row holds the request itself
            request = _put_together(connection, request["attempt"], request["texts"])
        if key_of(request) == key:
            return request
    except _BROKEN:
        pass
    raise DamagedReplyError(key)


def drop_unused(connection: Connection) -> None:
    """Delete the texts that no request uses, be it answered or in a batch."""
    connection.create(BATCH_REQUESTS)
    connection.alone()  # else a reply to come might use one that is being deleted
    runs: set[tuple[int, int]] = set()
    for held in _all_held(connection):
        with contextlib.suppress(*_BROKEN):
            runs.update(_run(part) for part in json.loads(held)["texts"] if not isinstance(part, str))
    kept = np.array([n for (n,) in connection.execute("SELECT id FROM texts ORDER BY id")], np.int64)
    used = np.zeros(len(kept) + 1, np.int64)  # how many runs begin less how many end, summed up below
    for first, last in runs:
        used[np.searchsorted(kept, first)] += 1
        used[np.searchsorted(kept, last, "right")] -= 1
    unused = kept[np.cumsum(used)[:-1] == 0]
    connection.executemany("DELETE FROM texts WHERE id = ?", [(number,) for number in unused.tolist()])


def _all_held(connection: Connection) -> Iterator[str | bytes]:
    """Yield what the rows of all requests hold, some at a time: there may be many millions."""
    yield from (held for (held,) in connection.execute("SELECT request FROM batch_requests"))
    some = f"SELECT rowid, request FROM replies WHERE rowid > ? ORDER BY rowid LIMIT {_ROWS}"  # noqa: S608 - a number
    last = -1
    while rows := connection.execute(some, (last,)).fetchall():
        yield from (held for _, held in rows)
        last = rows[-1][0]


def pieces(text: bytes) -> Iterator[bytes]:
    """Cut a text where its own bytes say so; no piece is long, and none but the last is very short."""
    windows = np.ndarray(max(len(text) - _WINDOW + 1, 0), "<u8", text, strides=(1,))
    ends = np.flatnonzero(windows * _FACTOR >> np.uint64(64 - _ONE_IN) == 0) + _WINDOW
    start = 0
    for end in [*ends.tolist(), len(text)]:
        while end - start > _MOST:
            yield text[start : start + _MOST]
            start += _MOST
        if end - start >= _LEAST or start < end == len(text):
            yield text[start:end]
            start = end


@functools.lru_cache(maxsize=4)  # a long message is that of many requests
def _hashed_pieces(content: str) -> list[tuple[bytes, bytes]]:
    return [(_hash(piece), piece) for piece in pieces(content.encode())]


def _hash(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=16).digest()


def _as_runs(numbers: Iterable[int]) -> Iterator[int | list[int]]:
    """Yield numbers, and first and last of three or more that follow each other."""
    run: list[int] = []
    for number in (*numbers, None):
        if run and number != run[-1] + 1:
            yield from [[run[0], run[-1]]] if len(run) > 2 else run
            run = []
        if number is not None:
            run.append(number)


def _run(part: int | list[int]) -> tuple[int, int]:
    """Return first and last of a number, or of a run; raise `ValueError` if it is none."""
    first, last = (part, part) if isinstance(part, int) else part
    if not 0 < first <= last < _LARGEST:
        raise ValueError(f"{part!r} is no run of texts")
    return first, last


def _numbers(connection: Connection, wanted: dict[bytes, bytes]) -> dict[bytes, int]:
    """Return the number of each text by its hash; what is not there is kept, what is damaged is replaced."""
    hashes = [*wanted]
    numbers: dict[bytes, int] = {}
    for start in range(0, len(hashes), _AT_ONCE):
        some = hashes[start : start + _AT_ONCE]
        for hashed, number, text in connection.execute(_looking_up(len(some)), some).fetchall():
            if text == wanted[hashed]:
                numbers[hashed] = number
            else:
                connection.execute("DELETE FROM texts WHERE id = ?", (number,))
        new = [part for hashed in some if hashed not in numbers for part in (hashed, wanted[hashed])]
        if new:
            numbers.update(connection.execute(_keeping(len(new) // 2), new).fetchall())
    return numbers


@functools.cache
def _looking_up(number: int) -> str:
    return f"SELECT hash, id, text FROM texts WHERE hash IN ({','.join('?' * number)})"  # noqa: S608 - question marks


@functools.cache
def _keeping(number: int) -> str:
    rows = ",".join(["(?,?)"] * number)
    # Another process may keep the same at the same time.
    return (
        f"INSERT INTO texts (hash,text) VALUES {rows} "  # noqa: S608 - question marks
        "ON CONFLICT (hash) DO UPDATE SET text = excluded.text RETURNING hash, id"
    )


def _put_together(
    connection: Connection, attempt: int, numbers: Iterable[int | str | list[int]]
) -> dict[str, Any]:
    messages: list[tuple[str, list[bytes]]] = [("", [])]  # the settings stand before the first role
    for part in numbers:
        if isinstance(part, str):
            messages.append((part, []))
        else:
            messages[-1][1].extend(_texts(connection, part))
    (_, frame), *said = [[role, b"".join(parts).decode()] for role, parts in messages]
    return {"attempt": attempt, **json.loads(frame), "messages": said}


def _texts(connection: Connection, part: int | list[int]) -> list[bytes]:
    """Return the texts of a number, or of a run, in their order; one that is not there changes the key."""
    between = "SELECT text FROM texts WHERE id BETWEEN ? AND ? ORDER BY id"
    return [text for (text,) in connection.execute(between, _run(part))]
