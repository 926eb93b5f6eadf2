"""A reply as a row of the store: its columns, and a digest that detects damage.

The key of a row covers the request (`metaeval.llm.calls.request.key_of`); the digest covers key and reply.
Without it, a flipped bit on the disk could turn a score of 4 into one of 5.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from typing import TYPE_CHECKING, Any

from metaeval.llm.calls.request import CallFailure, Reply, key_of, well_formed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from metaeval.llm.calls.request import Request

Row = tuple[Any, ...]

_LARGEST = 2**63 - 1  # a whole number of SQLite
_UNKNOWN = "none"  # the digest of a row of version 1, which has none

_TYPES: Mapping[str, str] = {
    "text": "TEXT NOT NULL",
    "finish_reason": "TEXT",
    "refusal": "TEXT",
    "model": "TEXT",
    "fingerprint": "TEXT",
    "prompt_tokens": "INTEGER",
    "completion_tokens": "INTEGER",
    "cached_tokens": "INTEGER",
    "queue_seconds": "REAL NOT NULL",
    "service_seconds": "REAL NOT NULL",
    "raw": "TEXT NOT NULL",
    "error_kind": "TEXT",
    "error_message": "TEXT",
    "error_code": "TEXT",
    "sent": "TEXT",
}
_REPLY = ",".join(_TYPES)
_KEPT = f"{_REPLY},created,digest"

TABLE = f"""CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, request TEXT NOT NULL, provider TEXT NOT NULL, asked TEXT NOT NULL,
    {",".join(f"{name} {kind}" for name, kind in _TYPES.items())}, created REAL NOT NULL, digest INTEGER)"""
# The first reply stays; only a failed call is replaced.
PUT = f"""INSERT INTO replies (key,request,provider,asked,{_KEPT})
    VALUES ({",".join("?" * (len(_TYPES) + 6))}) ON CONFLICT (key) DO UPDATE SET
    {",".join(f"{c}=excluded.{c}" for c in _KEPT.split(","))}
    WHERE replies.error_kind IS NOT NULL"""  # noqa: S608 - nothing but the names above


class DamagedReplyError(sqlite3.DatabaseError):
    """A row that was changed after it was written; the rest of the file can be used."""

    def __init__(self, key: object) -> None:
        super().__init__(
            f"the reply {str(key)[:12]!r} is not what was kept; `metaeval store prune --damaged` deletes "
            "such replies, and they are asked for again"
        )


def columns(version: int) -> str:
    """Return the columns that `reply_in` reads, of a store of that version."""
    kept = _REPLY if version > 2 else _REPLY.replace(",sent", ",NULL")
    return f"key,{kept},created,{'digest' if version > 1 else repr(_UNKNOWN)}"


def row(request: Request, reply: Reply, created: float) -> Row:
    """Return the row of a reply, as `PUT` takes it."""
    return values((request.key, request.canonical, request.provider, request.model), reply, created)


def values(asked: tuple[str, str, str, str], reply: Reply, created: float) -> Row:
    """Return the row of a reply; ``asked`` is the request's key, its JSON text, its provider and model."""
    given = (*reply[:11], *(reply.error or (None, None, None)), reply.sent or None)
    plain = [_AS[kind.split()[0]](value) for kind, value in zip(_TYPES.values(), given, strict=True)]
    return (*asked, *plain, created, digest(asked[0], *plain, created))


def digest(*kept: object) -> int:
    """Return a 64-bit digest of the key, the columns of the reply and the time."""
    if kept[-2] is None:  # nothing was sent otherwise: the digest of version 2, so that its rows stay
        kept = (*kept[:-2], kept[-1])
    text = "\x1f".join(map(str, kept)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big", signed=True)


def reply_in(found: Sequence[Any], key: str | None = None) -> Reply:
    """Return the reply in the `columns` of a row; raise `DamagedReplyError` if it was changed."""
    given = found[0]
    sound = found[-1] in (_UNKNOWN, digest(*found[:-1]))  # a row of version 1 has no digest
    if not sound or (key is not None and given != key):
        raise DamagedReplyError(given)
    error = None if found[12] is None else CallFailure(found[12], found[13] or "", found[14] or "")
    return Reply._make((*found[1:12], error, found[15] or ""))


def request_in(text: str, key: str) -> dict[str, Any]:
    """Return the fields of a request from its column; raise `DamagedReplyError` if its key is another."""
    try:
        request: dict[str, Any] = json.loads(text)
        if key_of(request) == key:
            return request
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise DamagedReplyError(key)


def upgrade(connection: sqlite3.Connection, version: int) -> None:
    """Add what rows of an older version lack: what was sent otherwise, and digests before version 2."""
    connection.execute("ALTER TABLE replies ADD COLUMN sent TEXT")
    if version > 1:
        return
    connection.create_function("reply_digest", -1, digest, deterministic=True)
    connection.execute("ALTER TABLE replies ADD COLUMN digest INTEGER")
    connection.execute(f"UPDATE replies SET digest = reply_digest(key,{_REPLY},created)")  # noqa: S608 - names


def _text(value: object) -> str | None:
    return None if value is None else well_formed(str(value))


def _whole(value: Any) -> int | None:  # noqa: ANN401 - what a provider sent for a number of tokens
    """Return a whole number that SQLite can store; None for any other."""
    return None if value is None or not 0 <= value <= _LARGEST else int(value)


# SQLite converts a value to the type of its column. Done here first, for the digest is of the stored value.
_AS: Mapping[str, Callable[[Any], object]] = {"TEXT": _text, "INTEGER": _whole, "REAL": float}
