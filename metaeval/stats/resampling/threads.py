"""One thread for products of small matrices."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIMITED = ContextVar("limited", default=False)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Keep numpy's linear algebra to one thread; a context, or the decorator of a function.

    The products of the bootstrap and its kin are many and small. Spread over threads they gain nothing on an
    idle machine, and on a busy one each waits for the slowest thread: ten times as long was seen.
    """
    from threadpoolctl import threadpool_limits

    if _LIMITED.get():  # to find the libraries again takes as long as a test of two evaluators
        yield
        return
    token = _LIMITED.set(True)
    try:
        with threadpool_limits(limits=1, user_api="blas"):
            yield
    finally:
        _LIMITED.reset(token)
