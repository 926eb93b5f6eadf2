"""What is let through, and when, in a time that passes only while somebody sleeps."""

from __future__ import annotations

import asyncio
import math

from hypothesis import given
from hypothesis import strategies as st

from metaeval.llm.calls.breaker import Breaker
from metaeval.llm.calls.client import RetryableError
from tests.llm.asking import FakeTime

DOWN = RetryableError("down", "503")


def breaker(time: FakeTime, patience: float = 100.0) -> Breaker:
    return Breaker(patience, time.clock, time.sleep)


async def send(to: Breaker, key: str, error: RetryableError | None, *, fresh: bool = True) -> float:
    """Send a request that fails, or is answered; return the seconds it may take, 0 if it is not sent."""
    async with to.place(fresh=fresh) as seconds:
        if seconds and error:
            to.fail(key, error, to._clock())
        elif seconds:
            to.answer()
        return seconds


def test_pauses_grow_until_patience_is_over() -> None:
    async def go() -> list[float]:
        time = FakeTime()
        one = breaker(time)
        one.answer()
        sent = []
        while await send(one, f"{len(sent)}", DOWN):
            sent.append(time.now)
        return sent

    sent = asyncio.run(go())
    assert sent == [0, 0, 0, 0.25, 0.75, 1.75, 3.75, 7.75, 15.75, 30.75, 45.75, 60.75, 75.75, 90.75, 100]


def test_an_answer_starts_it_all_over() -> None:
    async def go() -> None:
        time = FakeTime()
        one = breaker(time)
        for i in range(9):
            assert await send(one, f"{i}", DOWN)
        assert one.silent
        assert 0 < await send(one, "x", None) <= 100
        assert not one.silent
        assert await send(one, "y", None) == math.inf
        for i in range(3):
            assert await send(one, f"{i}", DOWN) == math.inf
        assert one.silent
        before = time.now
        await send(one, "z", None)
        assert time.now - before == 0.25

    asyncio.run(go())


@given(
    outcomes=st.lists(
        st.sampled_from(["ok", "503", "connect", "timeout", "429", "no"]), min_size=1, max_size=60
    ),
    workers=st.integers(1, 9),
)
def test_nobody_waits_for_ever(outcomes: list[str], workers: int) -> None:
    async def work(one: Breaker, left: list[str], ended: list[int]) -> None:
        while left:
            fresh = True
            number = len(left)
            while left:
                async with one.place(fresh=fresh) as seconds:
                    if not seconds:
                        break
                    await asyncio.sleep(0)
                    outcome = left.pop() if left else "ok"
                    if outcome == "ok":
                        one.answer()
                        break
                    if outcome == "no":
                        one.refuse()
                        break
                    asked = 20.0 if outcome == "429" else None
                    one.fail(str(number), RetryableError("x", outcome, retry_after=asked), one._clock())
                    fresh = False
                await asyncio.sleep(0)
            if not seconds and fresh:  # as a run does: it stops
                one.end()
                break
        ended.append(1)

    async def go() -> int:
        time = FakeTime()
        one = breaker(time)
        ended: list[int] = []
        left = list(outcomes)
        tasks = [work(one, left, ended) for _ in range(workers)]
        await asyncio.wait_for(asyncio.gather(*tasks), 10)
        assert one._under_way == 0
        return len(ended)

    assert asyncio.run(go()) == workers
