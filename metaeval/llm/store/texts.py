"""The texts of requests, each kept once.

Requests repeat most of what they say: settings, instructions, examples, a user's profile. So the settings of
a request (all but its attempt and its messages) are one text, and a message is cut into pieces; each is kept
under its hash, and the row of a reply holds their numbers. A cut depends on the few bytes before it alone, so
what two messages share is cut alike in both, wherever it stands.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.llm.calls.request import canonical, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from metaeval.llm.calls.request import Request

TEXTS = (
    "CREATE TABLE IF NOT EXISTS texts (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, text BLOB NOT NULL)"
)
BATCH_REQUESTS = """CREATE TABLE IF NOT EXISTS batch_requests (
    key TEXT PRIMARY KEY, batch TEXT NOT NULL, request TEXT NOT NULL, sent TEXT NOT NULL,
    tries INTEGER NOT NULL)"""
_UNUSED = """DELETE FROM texts WHERE id NOT IN (
    SELECT used.value
    FROM (SELECT request FROM replies UNION ALL SELECT request FROM batch_requests),
    json_each(CASE WHEN json_valid(request) THEN request ELSE '{}' END, '$.texts') AS used
    WHERE used.type = 'integer')"""

_WINDOW = 8  # bytes that decide whether there is a cut behind them
_LEAST, _MOST = 128, 4096  # bytes of a piece; a text that repeats itself may have no cut
_ONE_IN = 9  # bits: a cut behind one window of 512
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # Knuth's multiplicative hash: its first bits depend on all bits


class DamagedReplyError(sqlite3.DatabaseError):
    """A row that was changed after it was written; the rest of the file can be used."""

    def __init__(self, key: object) -> None:
        super().__init__(
            f"the reply {str(key)[:12]!r} is not what was kept; `metaeval store prune --damaged` deletes "
            "such replies, and they are asked for again"
        )


def keep(connection: sqlite3.Connection, request: Request | Mapping[str, Any]) -> str:
    """Keep the texts of a request, or of its fields, and return what its row holds."""
    if isinstance(request, Mapping):
        attempt, messages = request["attempt"], request["messages"]
        frame = canonical({**{n: v for n, v in request.items() if n != "attempt"}, "messages": []})
    else:
        attempt, messages, frame = request.attempt, request.messages, request.frame
    texts: list[int | str] = [_number(connection, frame.encode())]
    for role, content in messages:
        texts += [role, *(_number(connection, piece) for piece in pieces(content.encode()))]
    return canonical({"attempt": attempt, "texts": texts})


def request_in(connection: sqlite3.Connection, held: str | bytes, key: str) -> dict[str, Any]:
    """Return the fields of a request from its column; raise `DamagedReplyError` if its key is another."""
    try:
        request: dict[str, Any] = json.loads(held)
        if "texts" in request:  # up to version 2 a row holds the request itself
            request = _put_together(connection, request["attempt"], request["texts"])
        if key_of(request) == key:
            return request
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        pass
    raise DamagedReplyError(key)


def drop_unused(connection: sqlite3.Connection) -> None:
    """Delete the texts that no request uses, be it answered or in a batch."""
    connection.execute(BATCH_REQUESTS)
    connection.execute(_UNUSED)


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


def _number(connection: sqlite3.Connection, text: bytes) -> int:
    """Return the number of a text, which is kept if it is not there; a damaged one is replaced."""
    given = (hashlib.blake2b(text, digest_size=16).digest(), text)
    found = connection.execute("SELECT id FROM texts WHERE hash = ? AND text = ?", given).fetchone()
    if found is None:
        inserted = connection.execute("INSERT OR REPLACE INTO texts (hash, text) VALUES (?, ?)", given)
        found = (inserted.lastrowid,)
    return int(found[0])


def _put_together(
    connection: sqlite3.Connection, attempt: int, numbers: Iterable[int | str]
) -> dict[str, Any]:
    frame, *rest = numbers
    texts = dict(
        connection.execute(
            "SELECT id, text FROM texts WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps([n for n in (frame, *rest) if isinstance(n, int)]),),
        )
    )
    messages: list[tuple[str, list[bytes]]] = []
    for part in rest:
        if isinstance(part, str):
            messages.append((part, []))
        else:
            messages[-1][1].append(texts[part])
    said = [[role, b"".join(parts).decode()] for role, parts in messages]
    return {"attempt": attempt, **json.loads(texts[frame]), "messages": said}
