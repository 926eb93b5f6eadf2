"""Work on all cores or in a thread, and the engines of a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from typing import TypeVar

from metaeval.base.progress import progress

Item = TypeVar("Item")
Result = TypeVar("Result")

RAY, DUCKDB, MEMORY = ENGINES = ("ray", "duckdb", "memory")
"""What ``engine`` of a run may be."""

PARALLEL_FROM = 4_000
"""Items: starting the workers takes longer than the work on fewer."""

_CHUNK = 1_000
_LOOK_AGAIN = 0.5  # seconds


def spread(
    work: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item], description: str
) -> list[Result]:
    """Return what ``work`` makes of the items, one result per item, and show how far it is.

    From `PARALLEL_FROM` items on, processes do it, each some items at a time: ``work`` and all that it takes
    and returns can be pickled. ``LOKY_MAX_CPU_COUNT`` in the environment limits their number.
    """
    chunks = [items[start : start + _CHUNK] for start in range(0, len(items), _CHUNK)]
    results: list[Result] = []
    with progress(description, len(items)) as advance:
        for chunk in _results(work, chunks, len(items)):
            results += chunk
            advance(len(chunk))
    return results


def _results(
    work: Callable[[Sequence[Item]], list[Result]], chunks: Sequence[Sequence[Item]], total: int
) -> Iterable[list[Result]]:
    if total < PARALLEL_FROM:
        return map(work, chunks)
    import joblib

    processes = min(joblib.cpu_count(), len(chunks))
    if processes == 1:
        return map(work, chunks)
    parallel = joblib.Parallel(n_jobs=processes, backend="loky", return_as="generator")
    results: Iterable[list[Result]] = parallel(joblib.delayed(work)(c) for c in chunks)
    return results


def in_thread(work: Callable[[], Result]) -> Future[Result]:
    """Have work done in a thread that a program which ends does not wait for."""
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - whoever waits is told
            done.set_exception(error)

    threading.Thread(target=run, name="metaeval waits", daemon=True).start()
    return done


def within(seconds: float, work: Callable[[], Result], more: Callable[[], float] = lambda: 0.0) -> Result:
    """Return the result of work; raise `TimeoutError` if it takes longer than some seconds and ``more``."""
    done, since = in_thread(work), time.monotonic()
    while (left := since + seconds + more() - time.monotonic()) > 0:
        if wait([done], timeout=min(left, _LOOK_AGAIN)).done:
            return done.result()
    raise TimeoutError(f"no end of it after {time.monotonic() - since:.0f} s")
