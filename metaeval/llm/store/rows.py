"""Rows of a store: replies with a digest that detects damage, and their requests, each text of them once.

The key of a row covers the request (`metaeval.llm.calls.request.key_of`); the digest covers key and reply.
Without it, a flipped bit on the disk could turn a score of 4 into one of 5.

Requests repeat most of what they say: settings, instructions, examples, a profile. So the settings of a
request (all but its attempt and its messages) and each message are kept compressed under their hash, and the
row of a reply holds the hashes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, Self
from urllib.parse import unquote

from metaeval.base.errors import MetaevalError, StoppedError
from metaeval.llm.calls.request import CallFailure, Reply, canonical, key_of, well_formed

_TABLES = {
    "replies": """key TEXT PRIMARY KEY, request TEXT NOT NULL, provider TEXT NOT NULL, asked TEXT NOT NULL,
        error_kind TEXT, prompt_tokens INTEGER, completion_tokens INTEGER, reply BLOB NOT NULL,
        created REAL NOT NULL, digest BLOB""",
    "texts": "hash TEXT PRIMARY KEY, text BLOB NOT NULL",
    "claims": "key TEXT PRIMARY KEY, owner TEXT NOT NULL",
    "budgets": "study TEXT, part TEXT, used INTEGER NOT NULL, PRIMARY KEY (study, part)",
    "leases": "study TEXT, lane TEXT, held TEXT NOT NULL, PRIMARY KEY (study, lane)",
    "batches": """rowid INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, run TEXT NOT NULL,
        provider TEXT NOT NULL, model TEXT NOT NULL, address TEXT NOT NULL, state TEXT NOT NULL,
        requests INTEGER NOT NULL, usd REAL NOT NULL, changes TEXT NOT NULL,
        file TEXT NOT NULL, id TEXT NOT NULL""",
    "batch_requests": """key TEXT PRIMARY KEY, batch TEXT NOT NULL, request TEXT NOT NULL, sent TEXT NOT NULL,
        tries INTEGER NOT NULL""",
}
SCHEMA = (
    *(f"CREATE TABLE IF NOT EXISTS {name} ({columns})" for name, columns in _TABLES.items()),
    "CREATE INDEX IF NOT EXISTS requests_of_batch ON batch_requests (batch)",
)
"""Makes all tables of a store, in SQLite's types."""
COLUMNS = "key,reply,created,digest"
"""What `reply_in` reads."""

# The first reply stays; only a failed call is replaced.
_PUT = """INSERT INTO replies VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT (key) DO UPDATE SET
    error_kind=excluded.error_kind, prompt_tokens=excluded.prompt_tokens,
    completion_tokens=excluded.completion_tokens, reply=excluded.reply, created=excluded.created,
    digest=excluded.digest WHERE replies.error_kind IS NOT NULL"""
# Another process may keep the same at the same time.
_KEEP = "INSERT INTO texts VALUES (?,?) ON CONFLICT (hash) DO UPDATE SET text = excluded.text"
_BROKEN = (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError, zlib.error)
"""What a row that was changed after it was written may raise."""
_AT_ONCE = 5000  # rows
_encode = json.JSONEncoder(ensure_ascii=False, default=str).encode
_MOST_TOKENS = 1 << 53


class DamagedReplyError(sqlite3.DatabaseError):
    """A row that was changed after it was written; the rest of the file can be used."""

    def __init__(self, key: object) -> None:
        super().__init__(
            f"the reply {str(key)[:12]!r} is not what was kept; `metaeval store prune --damaged` deletes "
            "such replies, and they are asked for again"
        )


class StoreConnection(Protocol):
    """A connection to a store; a statement outside a transaction is one of its own."""

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Any:  # noqa: ANN401 - its cursor
        """Execute a statement, in SQLite's types and with question marks."""

    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> Any:  # noqa: ANN401 - its cursor
        """Execute a statement with each of several values."""

    def begin(self) -> None:
        """Begin a transaction that writes."""

    def commit(self) -> None:
        """End the transaction."""

    def rollback(self) -> None:
        """Undo what was begun."""

    def alone(self) -> None:
        """Wait until no other writes."""

    def now(self) -> float:
        """Return the time in seconds, by the one clock of all who use the store."""
        ...

    def hold(self, name: str) -> bool:
        """Take a lock that this process keeps as long as it lives; false if it is taken, be it by itself."""
        ...

    def held(self, name: str) -> bool:
        """Say whether someone holds a lock."""
        ...

    def let_go(self, name: str, *, for_good: bool = True) -> None:
        """Release a lock."""

    def close(self) -> None:
        """Close the connection."""


class Database(Protocol):
    """Where a store lies."""

    name: str
    """For messages and run folders."""
    withheld: str
    """Why it is given no password, as the end of a sentence; empty if it may be given one."""

    def exists(self) -> bool:
        """Say whether there is a store; raise `MetaevalError` if there can be none."""
        ...

    def open_to_read(self) -> StoreConnection:
        """Open a store to read it."""
        ...

    def open_to_write(self) -> StoreConnection:
        """Open a store to write to it."""
        ...

    def sentences(self) -> AbstractContextManager[None]:
        """Turn errors of the database inside the block into a `MetaevalError`."""
        ...

    def size(self, connection: StoreConnection, /) -> int:
        """Return how many bytes the store takes."""
        ...

    def faults(self, connection: StoreConnection, most: int = 100) -> list[str]:
        """Return what the database finds damaged."""
        ...

    def shrink(self, connection: StoreConnection, /) -> None:
        """Give free space back."""

    def state(self) -> list[int] | None:
        """Return the state of a file; None if it is not known."""
        ...


def put(
    connection: StoreConnection, key: str, request: Mapping[str, Any], reply: Reply, created: float
) -> bool:
    """Keep the reply to a request, given by its fields; false if one is stored already."""
    model = request["provider"], request["model"]
    return put_held(connection, key, keep(connection, request), model, reply, created=created)


def put_held(
    connection: StoreConnection, key: str, held: str, model: tuple[str, str], reply: Reply, *, created: float
) -> bool:
    """Keep a reply as `put` does; the texts of its request are kept already, for a provider and model."""
    packed = _packed(_encode(reply))
    kind = None if reply.error is None else reply.error.kind
    tokens = (_tokens(reply.prompt_tokens), _tokens(reply.completion_tokens))
    row = (key, held, *model, kind, *tokens, packed, created, _digest(key, packed, created))
    return bool(connection.execute(_PUT, row).rowcount == 1)


def reply_in(row: Sequence[Any], key: str | None = None) -> Reply:
    """Return the reply in the `COLUMNS` of a row; raise `DamagedReplyError` if it was changed."""
    kept_under, packed, created, digest = row
    whole = isinstance(packed, bytes) and digest == _digest(kept_under, packed, created)
    if not whole or (key is not None and kept_under != key):
        raise DamagedReplyError(kept_under)
    values = json.loads(zlib.decompress(packed))
    values[11] = values[11] and CallFailure(*values[11])
    return Reply._make(values)


def keep(connection: StoreConnection, request: Mapping[str, Any]) -> str:
    """Keep the texts of a request, given by its fields, and return what its row holds."""
    settings = canonical({n: v for n, v in request.items() if n not in ("attempt", "messages")})
    messages = [(role, content, _hash(content)) for role, content in request["messages"]]
    texts = {_hash(settings): settings, **{hashed: content for _, content, hashed in messages}}
    marks = ",".join("?" * len(texts))
    rows = connection.execute(f"SELECT hash, text FROM texts WHERE hash IN ({marks})", [*texts])  # noqa: S608
    for hashed, packed in rows.fetchall():
        with contextlib.suppress(*_BROKEN):  # what is damaged is replaced
            if _unpacked(packed) == texts[hashed]:
                del texts[hashed]
    connection.executemany(_KEEP, [(hashed, _packed(texts[hashed])) for hashed in sorted(texts)])
    hashes = [[role, hashed] for role, _, hashed in messages]
    return canonical({"attempt": request["attempt"], "settings": _hash(settings), "messages": hashes})


def request_in(connection: StoreConnection, held: str | bytes, key: str) -> dict[str, Any]:
    """Return the fields of a request from its column; raise `DamagedReplyError` if its key is another."""

    def text(hashed: object) -> str:
        ((packed,),) = connection.execute("SELECT text FROM texts WHERE hash = ?", (str(hashed),)).fetchall()
        return _unpacked(packed)

    try:
        row = json.loads(held)
        messages = [[role, text(hashed)] for role, hashed in row["messages"]]
        request = {"attempt": row["attempt"], **json.loads(text(row["settings"])), "messages": messages}
        if key_of(request) == key:
            return request
    except _BROKEN:
        pass
    raise DamagedReplyError(key)


def drop_unused(connection: StoreConnection) -> None:
    """Delete the texts that no request uses, be it answered or in a batch."""
    connection.alone()  # else a reply to come might use one that is being deleted
    unused = {hashed for (hashed,) in connection.execute("SELECT hash FROM texts")}
    for held in _all_held(connection):
        with contextlib.suppress(*_BROKEN):
            row = json.loads(held)
            unused.difference_update([row["settings"], *(hashed for _, hashed in row["messages"])])
    connection.executemany("DELETE FROM texts WHERE hash = ?", [(hashed,) for hashed in sorted(unused)])


def _all_held(connection: StoreConnection) -> Iterator[str | bytes]:
    """Yield what the rows of all requests hold, some at a time: there may be many millions."""
    for table in ("batch_requests", "replies"):
        sql = f"SELECT key, request FROM {table} WHERE key > ? ORDER BY key LIMIT {_AT_ONCE}"  # noqa: S608
        last = ""
        while rows := connection.execute(sql, (last,)).fetchall():
            yield from (held for _, held in rows)
            last = rows[-1][0]


def _digest(key: object, packed: bytes, created: object) -> bytes:
    return hashlib.blake2b(f"{key} {created!r} ".encode("utf-8", "replace") + packed, digest_size=8).digest()


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _packed(text: str) -> bytes:
    return zlib.compress(well_formed(text).encode())


def _unpacked(packed: bytes) -> str:
    return zlib.decompress(packed).decode()


def _tokens(number: int | None) -> int | None:
    """Return a number of tokens that every database takes."""
    return number if number is not None and 0 <= number < _MOST_TOKENS else None


VERSION = 1
"""Of the layout of tables."""

_HOST = r"(?:\[[^\]@/?#\s]*\]|[^\[:@/?#,\s]*)(?::\d*)?"
_ADDRESS = re.compile(
    r"(?P<scheme>postgres(?:ql)?://)(?:(?P<user>[^:@/?#\s]*)(?::(?P<password>[^:@/?#\s]*))?@)?"
    rf"(?P<where>{_HOST}(?:,{_HOST})*(?:/[^:@/?#\s]*)?)(?:\?(?P<query>[^@?#\s]*))?"
)
# What may be written down of the options; any other may be a password, or a part of one.
_PLAIN = {"host", "hostaddr", "port", "user", "dbname", "service", "passfile", "target_session_attrs"}
_PLAIN |= {"sslmode", "sslrootcert", "sslcert", "sslkey"}
UNREADABLE = (
    "the store's address cannot be read; write it as postgresql://USER@HOST:PORT/DATABASE, and "
    "@ : / ? # & and % of a password as %40 %3A %2F %3F %23 %26 and %25"
)


class UndoneError(StoppedError):
    """A transaction was undone, through no fault of its own; it may be made again."""


def is_address(text: str) -> bool:
    """Say whether this is the address of a database, and no path."""
    return text.lstrip().startswith(("postgresql:", "postgres:"))


class ServerAddress(NamedTuple):
    """An address as libpq takes it: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=VALUE``."""

    text: str
    name: str
    """The address without passwords."""
    secrets: tuple[str, ...]
    """The passwords, each as it is and as it stands in the text."""

    @classmethod
    def read(cls, text: str) -> Self:
        """Read an address; what cannot be read is not repeated, for a part of it may be a password."""
        text = text.strip()
        parts = _ADDRESS.fullmatch(text)
        if parts is None or not text.isprintable():
            raise MetaevalError(UNREADABLE)
        options = [option.partition("=") for option in (parts["query"] or "").split("&")]
        plain = ["=".join((name, value)) for name, _, value in options if name in _PLAIN]
        secrets = [parts["password"], *(value for name, _, value in options if name not in _PLAIN)]
        user = "" if parts["user"] is None else f"{parts['user']}@"
        name = f"{parts['scheme']}{user}{parts['where']}{'?' if plain else ''}{'&'.join(plain)}"
        return cls(text, name, tuple(form for one in secrets if one for form in (one, unquote(one))))

    @staticmethod
    def shown(store: str) -> str:
        """Return a path as it is, and an address as it may be written down."""
        if not is_address(store):
            return store
        try:
            return ServerAddress.read(store).name
        except MetaevalError:
            return "postgresql://"
