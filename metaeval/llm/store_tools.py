"""What is done to a store as a whole: say what is in it, make it smaller, carry replies elsewhere."""

from __future__ import annotations

import datetime as dt
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from metaeval.counts import counted
from metaeval.errors import MetaevalError
from metaeval.files import replacing
from metaeval.llm.request import CallFailure, Message, Reply, canonical, key_of
from metaeval.llm.store import PUT, REPLY_COLUMNS, reply_of, row_of

if TYPE_CHECKING:
    import os
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from metaeval.llm.store import Store

_COLUMNS = f"key,request,{REPLY_COLUMNS},created"
_CHUNK = 500
_DAY = 86400.0


class ModelCount(NamedTuple):
    """What a store has of one model."""

    model: str
    """As it was asked: ``provider/model``."""
    replies: int
    failures: int
    """Requests that brought no reply; they are asked again."""
    prompt_tokens: int
    completion_tokens: int


class Info(NamedTuple):
    """What is in a store."""

    path: str
    bytes: int
    replies: int
    failures: int
    oldest: str | None
    """Time of the oldest reply, ISO 8601; None if there is none."""
    newest: str | None
    models: tuple[ModelCount, ...]


class Imported(NamedTuple):
    """How many replies of a file were new, and how many were there."""

    added: int
    present: int


class Conversation(NamedTuple):
    """A call of a model: what it was asked, and what came back."""

    messages: tuple[Message, ...]
    reply: Reply


def info(store: Store) -> Info:
    """Say what is in a store."""
    counted = store.rows(
        "SELECT provider || '/' || asked, count(*) - count(error_kind), count(error_kind), "
        "coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0) "
        "FROM replies GROUP BY provider, asked ORDER BY provider, asked"
    )
    models = tuple(ModelCount(*row) for row in counted)
    ((oldest, newest),) = store.rows("SELECT min(created), max(created) FROM replies")
    files = (store.path, store.path.with_name(f"{store.path.name}-wal"))
    return Info(
        path=str(store.path),
        bytes=sum(f.stat().st_size for f in files if f.exists()),
        replies=sum(m.replies for m in models),
        failures=sum(m.failures for m in models),
        oldest=None if oldest is None else _iso(oldest),
        newest=None if newest is None else _iso(newest),
        models=models,
    )


def problems(store: Store) -> list[str]:
    """Return what SQLite's ``integrity_check`` finds wrong; empty if the file is sound."""
    return [text for (text,) in store.rows("PRAGMA integrity_check") if text != "ok"]


def describe(found: Info, wrong: Sequence[str] = ()) -> str:
    """Return what `info` and `problems` found as lines for people."""
    lines = [
        f"store     {found.path}",
        f"size      {found.bytes / 1e6:,.1f} MB",
        f"replies   {found.replies:,}",
        f"failures  {found.failures:,}",
    ]
    if found.oldest:
        lines.append(f"from      {found.oldest} to {found.newest}")
    lines += [
        f"          {m.model}: {counted(m.replies, 'reply', 'replies')}, {counted(m.failures, 'failure')}, "
        f"{m.prompt_tokens:,} + {m.completion_tokens:,} tokens"
        for m in found.models
    ]
    return "\n".join([*lines, *(f"problem   {text}" for text in wrong)])


def prune(
    store: Store,
    *,
    older_than_days: float | None = None,
    model: str | None = None,
    failures: bool = False,
    everything: bool = False,
) -> int:
    """Delete replies for which all that is asked holds, and give their space back.

    Parameters
    ----------
    older_than_days
        Delete what is older.
    model
        Delete what this model answered: ``provider/model``.
    failures
        Delete only requests that brought no reply.
    everything
        Say that all may go; needed if nothing else is said.

    Returns
    -------
    int
        How many were deleted.

    Raises
    ------
    MetaevalError
        If it is not said what to delete.
    """
    where: list[str] = []
    values: list[Any] = []
    if older_than_days is not None:
        where.append("created < ?")
        values.append(time.time() - older_than_days * _DAY)
    if model is not None:
        where.append("provider || '/' || asked = ?")
        values.append(model)
    if failures:
        where.append("error_kind IS NOT NULL")
    if not where and not everything:
        raise MetaevalError("nothing says what to delete; name --older-than, --model, --failures or --all")
    clause = f" WHERE {' AND '.join(where)}" if where else ""

    def delete(connection: sqlite3.Connection) -> int:
        return connection.execute(f"DELETE FROM replies{clause}", values).rowcount  # noqa: S608 - fixed texts

    deleted = store.write(delete)
    if deleted:
        store.shrink()
    return deleted


def export_jsonl(store: Store, path: str | os.PathLike[str], keys: Iterable[str] | None = None) -> int:
    """Write replies as JSON Lines, one a line, and return how many.

    Parameters
    ----------
    store
        Where they are.
    path
        The file to write.
    keys
        Which, in this order; all if left out. A key that is not there is left out.
    """
    count = 0
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for row in _all_rows(store) if keys is None else _rows_of(store, list(keys)):
            reply = reply_of(row[2:16])
            record = {
                "key": row[0],
                "request": json.loads(row[1]),
                "reply": {**reply._asdict(), "error": reply.error and reply.error._asdict()},
                "created": _iso(row[16]),
            }
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
    return count


def conversations(store: Store, keys: Iterable[str]) -> dict[str, Conversation]:
    """Return the calls of some keys; one that is not there is left out."""
    found = {}
    for row in _rows_of(store, list(keys)):
        messages = json.loads(row[1])["messages"]
        found[row[0]] = Conversation(tuple(Message(*m) for m in messages), reply_of(row[2:16]))
    return found


def _all_rows(store: Store) -> Iterator[tuple[Any, ...]]:
    last = ""
    while rows := store.rows(
        f"SELECT {_COLUMNS} FROM replies WHERE key > ? ORDER BY key LIMIT {_CHUNK}",  # noqa: S608 - fixed
        (last,),
    ):
        yield from rows
        last = rows[-1][0]


def _rows_of(store: Store, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        marks = ",".join("?" * len(chunk))
        sql = f"SELECT {_COLUMNS} FROM replies WHERE key IN ({marks})"  # noqa: S608 - question marks only
        found = {row[0]: row for row in store.rows(sql, chunk)}
        yield from (found[key] for key in dict.fromkeys(chunk) if key in found)


def import_jsonl(store: Store, path: str | os.PathLike[str]) -> Imported:
    """Add the replies of a file that `export_jsonl` wrote; a reply that is there stays.

    Raises
    ------
    MetaevalError
        If a line is not of this form, or its key is not that of its request. Nothing is added then.
    """

    def add(connection: sqlite3.Connection) -> Imported:
        added = seen = 0
        for row in _read(Path(path)):
            added += connection.execute(PUT, row).rowcount
            seen += 1
        return Imported(added, seen - added)

    return store.write(add)


def _read(path: Path) -> Iterator[tuple[Any, ...]]:
    with path.open(encoding="utf-8") as file:
        try:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield _row(line, path, number)
        except UnicodeDecodeError as error:
            raise MetaevalError(f"{path} is no text in UTF-8: {error.reason}") from error


def _row(line: str, path: Path, number: int) -> tuple[Any, ...]:
    try:
        record = json.loads(line)
        request, said = record["request"], record["reply"]
        text, key = canonical(request), key_of(request)
        error = said["error"] and CallFailure(**said["error"])
        reply = Reply(**{**said, "error": error})
        created = dt.datetime.fromisoformat(record["created"]).timestamp()
        given, about = record["key"], (request["provider"], request["model"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise MetaevalError(
            f"{path}, line {number}: this is no reply as `metaeval store export` writes it ({error})"
        ) from None
    if key != given:
        raise MetaevalError(
            f"{path}, line {number}: the request was changed after it was sent; its key differs"
        )
    return (given, text, *about, *row_of(reply), created)


def _iso(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, tz=dt.UTC).isoformat(timespec="microseconds")
