"""The replies behind a run: their keys, and whether the store still has the same ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metaeval.llm.calls.request import key_of
from metaeval.llm.store.database import Database
from metaeval.llm.store.replies import Store

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.base.records import ScoreTable

_BATCH = 500
# In the canonical text of a request its attempt comes first; the text of a first attempt need not be read.
_LATER = """CASE WHEN request LIKE '{"attempt":0,%' THEN NULL ELSE request END"""


@dataclass(frozen=True, slots=True)
class RepliesState:
    """What tells whether a store still has the replies that were used."""

    file: list[int] | None
    """The store's file as it was; None if someone else wrote to it, or it is no file."""
    digest: str | None
    """Of the replies to the calls; None if there were others that no file of the run names."""

    def holds(self, store: Database, calls: Callable[[], Sequence[str]]) -> bool:
        """Say whether the store still has the replies to these calls."""
        if not store.exists():
            return False
        if self.file is not None and self.file == store.state():
            return True
        # Another run may have added to the store; what counts is that these replies are the same.
        return self.digest is not None and self.digest == _digest(store, calls())


def calls_in(frames: Iterable[pd.DataFrame | None]) -> list[str]:
    """Return the keys of the last call behind each score or verdict, each once, sorted."""
    keys: set[str] = set()
    for frame in frames:
        if frame is not None and "call" in frame:
            keys.update(" ".join(frame["call"].dropna().unique()).split())  # of samples there are several
    return sorted(keys)


def with_attempts(store: Store, calls: Sequence[str]) -> Iterator[str]:
    """Yield the keys of calls, each after those of the earlier attempts at the same request."""
    for start in range(0, len(calls), _BATCH):
        chunk = calls[start : start + _BATCH]
        with store.sentences():
            rows = _rows(store, f"key,{_LATER}", chunk)
            later = {key: store.request_in(text, key) for key, text in rows if text}
        for key in chunk:
            request = later.get(key, {"attempt": 0})
            yield from (key_of({**request, "attempt": n}) for n in range(request["attempt"]))
            yield key


def replies_state(store: Database, calls: Sequence[str], behind: Iterable[ScoreTable]) -> RepliesState:
    """Return what tells later whether a store has the same replies.

    Parameters
    ----------
    store
        This process has it not open.
    calls
        What `metaeval.runs.finished.calls_of_run` finds in the run folder.
    behind
        The tables of all judges, also of those whose scores are not in the folder.
    """
    if not store.exists():
        return RepliesState(None, None)
    whole = calls_in(frame for table in behind for frame in (table.frame, table.verdicts))
    digest = _digest(store, calls) if whole == list(calls) else None
    return RepliesState(store.state(), digest)


def _digest(store: Database, calls: Sequence[str]) -> str:
    digest = hashlib.sha256()
    with Store(store, create=False) as opened:
        keys = sorted(set(with_attempts(opened, calls)))
        for start in range(0, len(keys), _BATCH):
            for row in sorted(_rows(opened, "key,digest", keys[start : start + _BATCH])):
                digest.update(repr(row).encode())
    return digest.hexdigest()


def _rows(store: Store, columns: str, keys: Sequence[str]) -> list[tuple[Any, ...]]:
    marks = ",".join("?" * len(keys))
    return store.rows(f"SELECT {columns} FROM replies WHERE key IN ({marks})", keys)  # noqa: S608
