"""The replies behind a run: which they are, and whether the store still has the same."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.llm.calls.request import key_of
from metaeval.llm.store.replies import Store, default_path
from metaeval.llm.store.rows import request_in
from metaeval.runs.folder import SCORES, VERDICTS, read_output
from metaeval.runs.record import ReplyFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd

    from metaeval.base.records import ScoreTable
    from metaeval.judging.settings import JudgingOptions
    from metaeval.runs.record import Record

_BATCH = 500
# In the canonical text of a request its attempt comes first; the text of a first attempt need not be read.
_LATER = """CASE WHEN request LIKE '{"attempt":0,%' THEN NULL ELSE request END"""
# All of a reply that a score, a cost or a status is made of, and when it came.
_SEEN = "key,text,finish_reason,refusal,model,fingerprint,prompt_tokens,completion_tokens,cached_tokens,\
service_seconds,error_kind,error_code,created"


def store_path(options: JudgingOptions) -> Path:
    """Return where the replies of a study's judges are kept."""
    return Path(options.store) if options.store else default_path()


def calls_in(frames: Iterable[pd.DataFrame | None]) -> list[str]:
    """Return the keys of the last call behind each score or verdict, each once, sorted."""
    keys: set[str] = set()
    for frame in frames:
        if frame is not None and "call" in frame:
            keys.update(frame["call"].dropna().unique())
    return sorted(keys - {""})


def calls_of_run(folder: Path, record: Record) -> list[str]:
    """Return the keys of the calls behind the scores and verdicts of a finished run.

    Raises
    ------
    RunFolderError
        If the run is not finished, or its files are not those that it wrote.
    """
    import pandas as pd
    import pyarrow.parquet as pq

    names = [SCORES, *([VERDICTS] if VERDICTS in record.outputs else [])]
    files = [read_output(folder, name) for name in names]
    having = [file for file in files if "call" in pq.read_schema(file).names]
    return calls_in(pd.read_parquet(file, columns=["call"]) for file in having)


def with_attempts(store: Store, calls: Sequence[str]) -> Iterator[str]:
    """Yield the keys of calls, each after those of the earlier attempts at the same request."""
    for start in range(0, len(calls), _BATCH):
        chunk = calls[start : start + _BATCH]
        with store.sentences():
            rows = _rows(store, f"key,{_LATER}", chunk)
            later = {key: request_in(text, key) for key, text in rows if text}
        for key in chunk:
            request = later.get(key, {"attempt": 0})
            yield from (key_of({**request, "attempt": n}) for n in range(request["attempt"]))
            yield key


def replies_state(path: Path, calls: Sequence[str], behind: Iterable[ScoreTable]) -> ReplyFacts:
    """Return what tells later whether the store at ``path`` has the same replies.

    Parameters
    ----------
    path
        The store; nobody of this process has it open.
    calls
        What `calls_of_run` will find in the run folder.
    behind
        The tables of all judges, those too whose scores are not in the folder.

    Returns
    -------
    ReplyFacts
        ``file``: the store's file as it is now, None if somebody else writes to it. ``digest``: of the
        replies to the calls, None if there are others that the run's files do not name.
    """
    if not path.is_file():
        return ReplyFacts(file=None, digest=None)
    whole = calls_in(frame for table in behind for frame in (table.frame, table.verdicts))
    digest = _digest(path, calls) if whole == list(calls) else None
    return ReplyFacts(file=_file_state(path), digest=digest)


def same_replies(path: Path, folder: Path, record: Record) -> bool:
    """Say whether a store has the replies that a run used; true if it used none."""
    kept = record.replies
    if kept is None:
        return True
    if not path.is_file():
        return False
    if kept.file is not None and kept.file == _file_state(path):
        return True
    # Another run may have added to the store; what counts is that these replies are the same.
    return kept.digest is not None and kept.digest == _digest(path, calls_of_run(folder, record))


def _file_state(path: Path) -> list[int] | None:
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        return None  # changes that are not in the file itself yet
    found = path.stat()
    return [found.st_ino, found.st_size, found.st_mtime_ns]


def _digest(path: Path, calls: Sequence[str]) -> str:
    digest = hashlib.sha256()
    with Store(path, create=False) as store:
        keys = sorted(set(with_attempts(store, calls)))
        for start in range(0, len(keys), _BATCH):
            for row in sorted(_rows(store, _SEEN, keys[start : start + _BATCH])):
                digest.update(repr(row).encode())
    return digest.hexdigest()


def _rows(store: Store, columns: str, keys: Sequence[str]) -> list[tuple[Any, ...]]:
    marks = ",".join("?" * len(keys))
    return store.rows(f"SELECT {columns} FROM replies WHERE key IN ({marks})", keys)  # noqa: S608
