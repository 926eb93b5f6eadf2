"""One thread for linear algebra, within and after."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from metaeval.stats.resampling.threads import one_thread


def threads() -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_an_inner_limit_ends_with_the_outer_one() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        if before == {1}:
            pytest.skip("the library has one thread only")
        for _ in range(2):
            with one_thread():
                with one_thread():
                    assert threads() == {1}
                assert threads() == {1}
            assert threads() == before
        with pytest.raises(ZeroDivisionError), one_thread():
            raise ZeroDivisionError
        assert threads() == before
