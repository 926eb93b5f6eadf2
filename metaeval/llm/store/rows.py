"""A reply as a row of the store: its columns, and a digest that detects damage.

The key of a row covers the request (`metaeval.llm.calls.request.key_of`); the digest covers key and reply.
Without it, a flipped bit on the disk could turn a score of 4 into one of 5.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from metaeval.llm.calls.request import CallFailure, Reply, well_formed
from metaeval.llm.store.texts import TEXTS, DamagedReplyError, keep, request_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metaeval.llm.calls.request import Request
    from metaeval.llm.store.database import StoreConnection
    from metaeval.llm.store.file import FileConnection

Row = tuple[Any, ...]

_LARGEST = 2**63 - 1  # a whole number of either database
_UNKNOWN = "none"  # the digest of a row of version 1, which has none
_STEP = 250  # rows, after which the progress is shown

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
_REPLY_BEFORE = _REPLY.replace(",sent", ",NULL")  # up to version 2
_KEPT = f"{_REPLY},created,digest"

TABLE = f"""CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, request TEXT NOT NULL, provider TEXT NOT NULL, asked TEXT NOT NULL,
    {",".join(f"{name} {kind}" for name, kind in _TYPES.items())}, created REAL NOT NULL, digest INTEGER)"""
# The first reply stays; only a failed call is replaced.
_PUT = f"""INSERT INTO replies (key,request,provider,asked,{_KEPT})
    VALUES ({",".join("?" * (len(_TYPES) + 6))}) ON CONFLICT (key) DO UPDATE SET
    {",".join(f"{c}=excluded.{c}" for c in _KEPT.split(","))}
    WHERE replies.error_kind IS NOT NULL"""  # noqa: S608 - nothing but the names above


def columns(version: int) -> str:
    """Return the columns that `reply_in` reads, of a store of that version."""
    kept = _REPLY if version > 2 else _REPLY_BEFORE
    return f"key,{kept},created,{'digest' if version > 1 else repr(_UNKNOWN)}"


def put(
    connection: StoreConnection,
    key: str,
    request: Request | Mapping[str, Any],
    reply: Reply,
    created: float,
) -> bool:
    """Keep the reply to a request, or to its fields; false if one is stored already."""
    fields = request if isinstance(request, Mapping) else vars(request)
    model = fields["provider"], fields["model"]
    return put_held(connection, key, keep(connection, request), model, reply, created=created)


def put_held(
    connection: StoreConnection,
    key: str,
    held: str,
    model: tuple[str, str],
    reply: Reply,
    *,
    created: float,
) -> bool:
    """Keep a reply as `put` does; the texts of its request are kept already, for a provider and model."""
    given = (*reply[:11], *(reply.error or (None, None, None)), reply.sent or None)
    plain = [_AS[kind.split()[0]](value) for kind, value in zip(_TYPES.values(), given, strict=True)]
    row = (
        *(key, held, *model),
        *(*plain, created, digest(key, *plain, created)),
    )
    return connection.execute(_PUT, row).rowcount == 1


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


def upgrade(connection: FileConnection, advance: Callable[[int], object]) -> None:
    """Bring a store of version 1, without digests, or 2, with whole requests, up to date.

    Parameters
    ----------
    connection
        In a transaction, so that the store is upgraded as a whole or stays as it is.
    advance
        Called with the number of rows that were just copied.
    """
    has_digest = "digest" in {column[1] for column in connection.execute("PRAGMA table_info(replies)")}
    connection.create_function("reply_digest", -1, digest, deterministic=True)
    made = "digest" if has_digest else f"reply_digest(key,{_REPLY_BEFORE},created)"
    connection.execute("ALTER TABLE replies RENAME TO old_replies")
    connection.create(TABLE, TEXTS)
    # Bytes, for a text of a damaged row may be none; such a row is kept as it is, and stays damaged.
    rows = connection.execute(
        "SELECT rowid, CAST(key AS TEXT), CAST(request AS BLOB) FROM old_replies ORDER BY rowid"
    )
    for done, (number, key, held) in enumerate(rows, 1):
        texts = None
        with contextlib.suppress(DamagedReplyError):
            texts = keep(connection, request_in(connection, held, key))
        connection.execute(
            f"INSERT INTO replies SELECT key,coalesce(?,request),provider,asked,{_REPLY_BEFORE},"  # noqa: S608 - names
            f"created,{made} FROM old_replies WHERE rowid = ?",
            (texts, number),
        )
        if done % _STEP == 0:
            advance(_STEP)
    connection.execute("DROP TABLE old_replies")


def _text(value: object) -> str | None:
    return None if value is None else well_formed(str(value))


def _whole(value: Any) -> int | None:  # noqa: ANN401 - what a provider sent for a number of tokens
    """Return a whole number that can be stored; None for any other."""
    return None if value is None or not 0 <= value <= _LARGEST else int(value)


# A database converts a value to the type of its column. Done here first: the digest is of the stored value.
_AS: Mapping[str, Callable[[Any], object]] = {"TEXT": _text, "INTEGER": _whole, "REAL": float}
