"""Operations on a whole store: describe it, delete replies, export, import and copy them."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.base.files import replacing
from metaeval.base.progress import progress
from metaeval.llm.calls.request import Message, Reply, key_of
from metaeval.llm.store.rows import COLUMNS, DamagedReplyError, StoreConnection, drop_unused, put, reply_in

if TYPE_CHECKING:
    from metaeval.llm.store.replies import Store

_AT_ONCE = 500  # rows
_COLUMNS = f"key,request,{COLUMNS}"
_DAY = 86400.0
_Try = Annotated[int, Field(strict=True, ge=0, lt=1000)]


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
    """How many replies of a file or a store were new, and how many were there already."""

    added: int
    present: int


class Conversation(NamedTuple):
    """A call of a model: what it was asked, and what came back."""

    messages: tuple[Message, ...]
    reply: Reply


def info(store: Store) -> Info:
    """Count what is in a store."""
    # Cast, for a file that is damaged may hold anything.
    tokens = (f"CAST(coalesce(sum(1.0 * {n}_tokens), 0) AS BIGINT)" for n in ("prompt", "completion"))
    rows = store.rows(
        f"SELECT CAST(provider || '/' || asked AS TEXT), count(*) - count(error_kind), count(error_kind), "  # noqa: S608
        f"{','.join(tokens)} FROM replies GROUP BY 1"
    )
    models = tuple(sorted(ModelCount(*row) for row in rows))
    ((oldest, newest),) = store.rows("SELECT min(created), max(created) FROM replies")
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
    faults = store.reading(store.database.faults)
    damaged = 0 if faults else len(_damaged(store))
    if damaged:
        faults.append(
            f"{damaged:,} replies are not what was kept; `metaeval store prune --damaged` deletes them, and "
            "they are asked for again"
        )
    return faults


def _damaged(store: Store) -> list[str]:
    """Return the keys of replies that are not what was kept, or not of what was asked."""
    damaged = []
    with store.sentences():
        for key, request, *row in _all_rows(store):
            try:
                store.request_in(request, key)
                reply_in(row)
            except DamagedReplyError:
                damaged.append(key)
    return damaged


def _check_file(store: Store) -> None:
    """Raise `MetaevalError` if the file is damaged: then a search may pass over replies."""
    for text in store.reading(lambda connection: store.database.faults(connection, 1)):
        with store.sentences():
            raise sqlite3.DatabaseError(text)


def describe(counts: Info, wrong: Sequence[str] = ()) -> str:
    """Return the results of `info` and `problems` as text."""
    lines = [
        f"store     {counts.path}",
        f"size      {counts.bytes / 1e6:,.1f} MB",
        f"replies   {counts.replies:,}",
        f"failures  {counts.failures:,}",
    ]
    if counts.oldest:
        lines.append(f"from      {counts.oldest} to {counts.newest}")
    lines += [
        f"          {m.model}: {counted(m.replies, 'reply', 'replies')}, {counted(m.failures, 'failure')}, "
        f"{m.prompt_tokens:,} + {m.completion_tokens:,} tokens"
        for m in counts.models
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
        where.append("key = ?")
        each = [[*values, key] for key in _damaged(store)]
    clause = f" WHERE {' AND '.join(where)}" if where else ""

    def delete(connection: StoreConnection) -> int:
        count: int = connection.executemany(f"DELETE FROM replies{clause}", each).rowcount  # noqa: S608 - fixed texts
        drop_unused(connection)
        return count

    count = store.write(delete)
    if count:
        store.reading(store.database.shrink)
    return count


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
        for key, request, *row in _all_rows(store) if keys is None else store.rows_of(list(keys), _COLUMNS):
            reply = reply_in(row)
            record = {
                "key": key,
                "request": store.request_in(request, key),
                "reply": {**reply._asdict(), "error": reply.error and reply.error._asdict()},
                "created": _iso(row[-2]),
            }
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
    return count


def conversations(store: Store, keys: Iterable[str]) -> dict[str, Conversation]:
    """Return the conversations of some keys; unknown keys are left out."""
    with store.sentences():
        return {
            key: Conversation(
                tuple(Message(*m) for m in store.request_in(request, key)["messages"]), reply_in(row)
            )
            for key, request, *row in store.rows_of(list(keys), _COLUMNS)
        }


def _all_rows(store: Store) -> Iterator[tuple[Any, ...]]:
    """Yield `_COLUMNS` of every reply, by its key."""
    sql = f"SELECT {_COLUMNS} FROM replies WHERE key > ? ORDER BY key LIMIT {_AT_ONCE}"  # noqa: S608 - fixed
    last = ""
    while rows := store.rows(sql, (last,)):
        yield from rows
        last = rows[-1][0]


class _RequestFields(BaseModel):
    provider: str
    model: str
    messages: list[tuple[str, str]]
    attempt: _Try
    replicate: _Try


class _ReplyLine(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    key: str
    request: dict[str, Any]
    reply: Reply
    created: str


def import_jsonl(store: Store, path: str | os.PathLike[str]) -> ImportedReplies:
    """Add the replies of a file that `export_jsonl` wrote; existing replies stay.

    `MetaevalError` is raised, and nothing added, if a line has another form or a key that is not its
    request's.
    """

    def add(connection: StoreConnection) -> ImportedReplies:
        added = count = 0
        with Path(path).open("rb") as file:
            for line in filter(bytes.strip, file):
                count += 1
                added += put(connection, *_read(line, f"{path}, line {count}"))
        return ImportedReplies(added, count - added)

    return store.write(add)


def _read(line: bytes, where: str) -> tuple[str, dict[str, Any], Reply, float]:
    """Return key, fields of the request, reply and time in a line of a file."""
    try:
        record = _ReplyLine.model_validate_json(line.decode())
        _RequestFields.model_validate(record.request)
        key, created = key_of(record.request), dt.datetime.fromisoformat(record.created).timestamp()
    except UnicodeDecodeError as error:
        raise MetaevalError(f"{where}: is no text in UTF-8: {error.reason}") from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        why = str(error)
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            why = ": ".join([*([".".join(map(str, first["loc"]))] if first["loc"] else []), first["msg"]])
        raise MetaevalError(
            f"{where}: this is no reply as `metaeval store export` writes it ({why[:200]})"
        ) from None
    if key != record.key:
        raise MetaevalError(f"{where}: the request was changed after it was sent; its key differs")
    return key, record.request, record.reply, created


def copy(source: Store, target: Store) -> ImportedReplies:
    """Add the replies of another store; existing replies stay, but failures are replaced.

    Some at a time are committed: a copy that broke off goes on when it is made again.
    """
    added = 0
    ((total,),) = source.rows("SELECT count(*) FROM replies")
    rows = _all_rows(source)
    with source.sentences(), progress("copying", total) as advance:
        while some := list(itertools.islice(rows, _AT_ONCE)):
            replies = {key: reply_in(row, key) for key, _, *row in some}
            there = target.get_many(replies)
            new = [
                (key, source.request_in(request, key), replies[key], row[-2])
                for key, request, *row in some
                if key not in there or replies[key].final > there[key].final
            ]
            added += target.write(lambda c, new=new: sum(put(c, *reply) for reply in new))  # type: ignore[misc]
            advance(len(some))
    return ImportedReplies(added, total - added)


def _iso(seconds: float) -> str:
    try:
        return dt.datetime.fromtimestamp(seconds, tz=dt.UTC).isoformat(timespec="microseconds")
    except (ValueError, TypeError, OverflowError, OSError) as error:
        raise sqlite3.DatabaseError(f"a reply came at {seconds}, which is no time") from error
