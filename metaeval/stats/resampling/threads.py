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
