"""One thread for products of small matrices, and several for what does not depend on each other."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import TypeVar

_MOST_THREADS = 8

T = TypeVar("T")
R = TypeVar("R")

_LIMITED = ContextVar("limited", default=False)
_WITHIN = ContextVar("within", default=False)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Keep numpy's linear algebra to one thread; a context, or the decorator of a function.

    Resampling makes many small matrix products. More threads do not speed them up on an idle machine, and
    slowed them down tenfold on a busy one.
    """
    from threadpoolctl import threadpool_limits

    if _LIMITED.get():  # finding the libraries takes as long as a test of two evaluators
        yield
        return
    token = _LIMITED.set(True)
    try:
        with threadpool_limits(limits=1, user_api="blas"):
            yield
    finally:
        _LIMITED.reset(token)


def in_threads(function: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """Yield what a function returns for each item, in order; several are worked on at a time.

    It is for functions that spend their time in numpy, which lets other threads go on meanwhile. Each result
    is that of the function alone, whatever the number of threads.
    """
    n_threads = min(_MOST_THREADS, os.cpu_count() or 1, len(items))
    with one_thread():
        if n_threads < 2 or _WITHIN.get():  # threads of threads would only be in each other's way
            yield from map(function, items)
            return
        pool = ThreadPoolExecutor(n_threads)
        try:
            inside = copy_context()
            inside.run(_WITHIN.set, True)
            futures = [pool.submit(inside.copy().run, function, item) for item in items]
            for future in futures:
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)
