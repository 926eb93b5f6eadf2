"""The same work on many items, on all cores if they are very many."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from metaeval.base.progress import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Item = TypeVar("Item")
Result = TypeVar("Result")

PARALLEL_FROM = 4_000
"""Items: starting the workers takes longer than the work on fewer."""

_CHUNK = 1_000


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
