"""Operations on a whole store: describe it, delete replies, export and import them."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.base.files import replacing
from metaeval.base.progress import progress
from metaeval.llm.calls.request import Message
from metaeval.llm.store.lines import lines_in
from metaeval.llm.store.rows import put, reply_in
from metaeval.llm.store.texts import DamagedReplyError, drop_unused

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from metaeval.llm.calls.request import Reply
    from metaeval.llm.store.database import StoreConnection
    from metaeval.llm.store.replies import Store
    from metaeval.llm.store.rows import Row

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


class ImportedReplies(NamedTuple):
    """How many replies of a file were new, and how many were there already."""

    added: int
    present: int


class Conversation(NamedTuple):
    """A call of a model: what it was asked, and what came back."""

    messages: tuple[Message, ...]
    reply: Reply


def info(store: Store) -> Info:
    """Count what is in a store."""
    found = store.rows(
        # Cast, for a file that is damaged may hold anything.
        "SELECT CAST(provider || '/' || asked AS TEXT), count(*) - count(error_kind), count(error_kind), "
        "CAST(coalesce(sum(1.0 * prompt_tokens), 0) AS BIGINT), "
        "CAST(coalesce(sum(1.0 * completion_tokens), 0) AS BIGINT) "
        "FROM replies GROUP BY provider, asked ORDER BY provider, asked"
    )
    models = tuple(ModelCount(*row) for row in found)
    ((oldest, newest),) = store.rows(
        "SELECT CAST(min(created) AS DOUBLE PRECISION), CAST(max(created) AS DOUBLE PRECISION) FROM replies"
    )
    size = store.reading(store.database.size)
    with store.sentences():
        return Info(
            path=store.name,
            bytes=size,
            replies=sum(m.replies for m in models),
            failures=sum(m.failures for m in models),
            oldest=None if oldest is None else _iso(oldest),
            newest=None if newest is None else _iso(newest),
            models=models,
        )


def problems(store: Store) -> list[str]:
    """Return what is wrong with the file, and how many replies are damaged; empty if nothing is."""
    found = store.reading(store.database.faults)
    damaged = 0 if found else len(_damaged(store))
    if damaged:
        found.append(
            f"{damaged:,} replies are not what was kept; `metaeval store prune --damaged` deletes them, and "
            "they are asked for again"
        )
    return found


def _damaged(store: Store) -> list[int]:
    """Return the row numbers of replies that are not what was kept, or not of what was asked."""
    found = []
    with store.sentences():
        for number, request, *kept in _all_rows(store, "rowid", -1):
            try:
                store.request_in(request, kept[0])
                reply_in(kept)
            except DamagedReplyError:
                found.append(number)
    return found


def _check_file(store: Store) -> None:
    """Raise `MetaevalError` if the file is damaged: then a search may pass over replies."""
    for text in store.reading(lambda connection: store.database.faults(connection, 1)):
        with store.sentences():
            raise sqlite3.DatabaseError(text)


def describe(found: Info, wrong: Sequence[str] = ()) -> str:
    """Return what `info` and `problems` found as text."""
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
    damaged: bool = False,
    everything: bool = False,
) -> int:
    """Delete the replies that meet all conditions, free their space on the disk, and return their number.

    Parameters
    ----------
    older_than_days
        Delete what is older.
    model
        Delete what this model answered: ``provider/model``.
    failures
        Delete only requests that brought no reply.
    damaged
        Delete only replies that are not what was kept.
    everything
        Delete all replies; without a condition and this, `MetaevalError` is raised.
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
    if not where and not damaged and not everything:
        raise MetaevalError(
            "nothing says what to delete; name --older-than, --model, --failures, --damaged or --all"
        )
    _check_file(store)
    each = [values]
    if damaged:
        where.append("rowid = ?")
        each = [[*values, number] for number in _damaged(store)]
    clause = f" WHERE {' AND '.join(where)}" if where else ""

    def delete(connection: StoreConnection) -> int:
        deleted = connection.executemany(f"DELETE FROM replies{clause}", each).rowcount  # noqa: S608 - fixed texts
        drop_unused(connection)
        return deleted

    deleted = store.write(delete)
    if deleted:
        store.shrink()
    return deleted


def export_jsonl(store: Store, path: str | os.PathLike[str], keys: Iterable[str] | None = None) -> int:
    """Write replies as JSON Lines and return their number.

    Parameters
    ----------
    store
        The store to read.
    path
        The file to write.
    keys
        Keys of the replies, in this order; all replies if None. Unknown keys are left out.
    """
    count = 0
    if keys is None:
        _check_file(store)
    with (
        store.sentences(),
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as file,
    ):
        for key, request, *kept in (
            _all_rows(store, "key", "") if keys is None else _rows_of(store, list(keys))
        ):
            reply = reply_in(kept)
            record = {
                "key": key,
                "request": store.request_in(request, key),
                "reply": {**reply._asdict(), "error": reply.error and reply.error._asdict()},
                "created": _iso(kept[-2]),
            }
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
    return count


def conversations(store: Store, keys: Iterable[str]) -> dict[str, Conversation]:
    """Return the conversations of some keys; unknown keys are left out."""
    found = {}
    with store.sentences():
        for key, request, *kept in _rows_of(store, list(keys)):
            messages = store.request_in(request, key)["messages"]
            found[key] = Conversation(tuple(Message(*m) for m in messages), reply_in(kept))
    return found


def _all_rows(store: Store, by: str, last: int | str) -> Iterator[Row]:
    """Yield a column, the request and the columns of every reply, by that column, from behind ``last``."""
    while rows := store.rows(
        f"SELECT {by},request,{store.columns} FROM replies WHERE {by} > ? ORDER BY {by} LIMIT {_CHUNK}",  # noqa: S608 - fixed
        (last,),
    ):
        yield from rows
        last = rows[-1][0]


def _rows_of(store: Store, keys: Sequence[str]) -> Iterator[Row]:
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        marks = ",".join("?" * len(chunk))
        sql = f"SELECT key,request,{store.columns} FROM replies WHERE key IN ({marks})"  # noqa: S608 - question marks only
        found = {row[0]: row for row in store.rows(sql, chunk)}
        yield from (found[key] for key in dict.fromkeys(chunk) if key in found)


def import_jsonl(store: Store, path: str | os.PathLike[str]) -> ImportedReplies:
    """Add the replies of a file that `export_jsonl` wrote; existing replies stay.

    `MetaevalError` is raised, and nothing added, if a line has another form or a key that is not its
    request's.
    """

    def add(connection: StoreConnection) -> ImportedReplies:
        added = seen = 0
        for line in lines_in(Path(path)):
            added += put(connection, *line)
            seen += 1
        return ImportedReplies(added, seen - added)

    return store.write(add)


def copy(source: Store, target: Store) -> ImportedReplies:
    """Add the replies of another store; existing replies stay, but failures are replaced.

    Some at a time are committed: a copy that broke off goes on when it is made again.
    """
    added = seen = 0
    ((total,),) = source.rows("SELECT count(*) FROM replies")
    rows = _all_rows(source, "key", "")
    with source.sentences(), progress("copying", total) as advance:
        while some := list(itertools.islice(rows, _CHUNK)):
            added += _copy(source, target, some)
            seen += len(some)
            advance(len(some))
    return ImportedReplies(added, seen - added)


def _copy(source: Store, target: Store, rows: Sequence[Row]) -> int:
    there = target.get_many(key for key, *_ in rows)
    replies = {key: reply_in(kept, key) for key, _, *kept in rows}
    new = [
        (key, request, replies[key], kept[-2])
        for key, request, *kept in rows
        if key not in there or replies[key].final > there[key].final
    ]
    return target.write(
        lambda connection: sum(
            put(connection, key, source.request_in(request, key), *reply) for key, request, *reply in new
        )
    )


def _iso(seconds: float) -> str:
    try:
        return dt.datetime.fromtimestamp(seconds, tz=dt.UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError, OSError) as error:
        raise sqlite3.DatabaseError(f"a reply came at {seconds}, which is no time") from error
