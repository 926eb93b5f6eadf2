"""One thread for linear algebra, within and after; results of several threads in order."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from metaeval.stats.resampling.weights import drawn, generator, in_threads, one_thread, permutation


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


def test_results_come_in_order_and_threads_start_no_threads() -> None:
    seen = set()

    def slow(item: int) -> list[int]:
        time.sleep(0.02 if item == 0 else 0)
        seen.add(threading.current_thread())
        assert threads() == {1}
        return [*in_threads(lambda part: part + item, range(3))]

    assert [*in_threads(slow, range(5))] == [[i, i + 1, i + 2] for i in range(5)]
    assert len(seen) <= 5


def test_the_first_error_is_raised() -> None:
    done = []
    with pytest.raises(ZeroDivisionError):
        done += in_threads(lambda item: 1 // item, [1, 0, 2])
    assert not done or done == [1]
    assert [*in_threads(abs, [])] == []


NAMES = st.lists(st.text(max_size=3), unique=True, max_size=8)


@given(NAMES, NAMES, st.integers(0, 8), st.randoms())
def test_fewer_names_are_among_more_whatever_else_is_there(names, others, count: int, random) -> None:
    found = drawn(names, count or 1, 0)
    assert drawn(random.sample(names, len(names)), count or 1, 0) == found
    assert drawn(names, (count or 1) + 1, 0)[: count or 1] == found
    wider = drawn({*names, *others}, None, 0)
    assert sorted(wider) == sorted({*names, *others})
    of_both = drawn({*names, *others}, len({*names, *others}) or 1, 0)
    assert [name for name in of_both if name in found] == found


def test_another_seed_or_name_is_another_draw() -> None:
    names = [f"n{i}" for i in range(40)]
    assert drawn(names, 10, 0) != drawn(names, 10, 1)
    assert drawn(names, 0, 0) == sorted(names)
    assert generator(0, "a", "b").random() == generator(0, "a", "b").random()
    assert generator(0, "a", "b").random() != generator(0, "ab").random()
    assert sorted(permutation(9, 3, "a")) == list(range(9))
