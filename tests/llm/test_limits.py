from __future__ import annotations

import asyncio

import pytest

from metaeval.errors import MetaevalError
from metaeval.llm.client import RetryableError
from metaeval.llm.limits import Budget, Gate, Limits, Pace, Purse, wait_before
from metaeval.llm.price import Prices
from metaeval.llm.request import Message, Request


def test_concurrency_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Limits().in_flight == 32
    monkeypatch.setenv("METAEVAL_CONCURRENCY", "5")
    assert Limits().in_flight == 5
    monkeypatch.setenv("METAEVAL_CONCURRENCY", "many")
    with pytest.raises(MetaevalError, match="METAEVAL_CONCURRENCY is 'many'"):
        Limits()


@pytest.mark.parametrize(
    "wrong", [{"in_flight": 0}, {"requests_per_minute": 0}, {"reply_seconds": -1}, {"retries": -1}]
)
def test_wrong_limits(wrong: dict[str, int]) -> None:
    with pytest.raises(MetaevalError, match=f"^{next(iter(wrong))} is"):
        Limits(**wrong)


def test_a_pace_never_exceeds_its_minute() -> None:
    pace, now, times = Pace(60), 100.0, []
    for _ in range(5):
        wait = pace.reserve(now)
        times.append(now + wait)
    assert times == [100, 101, 102, 103, 104]
    assert pace.reserve(200.0) == 0  # what was not used is not saved up
    assert pace.reserve(200.0, 30) == 1
    assert pace.reserve(200.0) == 31
    pace.correct(-20)
    assert pace.reserve(200.0) == 12
    assert Pace(None).reserve(5.0, 1e9) == 0


def test_waits_grow_and_keep_to_what_was_asked() -> None:
    error = RetryableError("busy")
    assert [wait_before(n, error, 1.0) for n in range(4)] == [0.5, 1, 2, 4]
    assert wait_before(50, error, 1.0) == 60
    assert wait_before(3, error, 0.0) == 0  # full jitter
    asked = RetryableError("busy", retry_after=10)
    assert 10 <= wait_before(0, asked, 0.0) < wait_before(0, asked, 1.0) <= 11


def request(max_tokens: int | None = 10) -> Request:
    limit = {} if max_tokens is None else {"max_tokens": max_tokens}
    return Request("openai", "m", (Message("user", "x" * 1000),), limit)


PRICES = Prices({"m": {"input": 1000, "output": 1000}})  # 0.001 USD a token


def test_a_purse_sets_aside_what_a_call_may_cost() -> None:
    async def go() -> None:
        bound = PRICES.at_most(request())
        assert bound is not None
        assert bound > 1.0
        purse = Purse(Budget(max_usd=2.5 * bound), PRICES)
        first, second = await purse.reserve(request()), await purse.reserve(request())
        assert first == second == bound
        third = asyncio.create_task(purse.reserve(request()))
        await asyncio.sleep(0)
        assert not third.done()  # there may be enough when the others have cost less than they might
        purse.settle(bound, 0.1 * bound)
        assert await third == bound
        purse.settle(bound, bound)
        purse.settle(bound, bound)
        assert await purse.reserve(request()) is None
        assert "USD is used up" in purse.empty
        assert purse.calls == 3

    asyncio.run(go())


def test_a_purse_counts_calls() -> None:
    async def go() -> None:
        purse = Purse(Budget(max_calls=2), Prices())
        assert [await purse.reserve(request()) for _ in range(3)] == [0, 0, None]
        assert purse.empty == "the budget of 2 calls is used up"

    asyncio.run(go())


@pytest.mark.parametrize(
    ("prices", "max_tokens", "why"), [({}, 10, "price is unknown"), (PRICES, None, "max_tokens")]
)
def test_a_limit_in_money_needs_an_upper_bound(prices: object, max_tokens: int | None, why: str) -> None:
    purse = Purse(Budget(max_usd=1), prices if isinstance(prices, Prices) else Prices())
    with pytest.raises(MetaevalError, match=why):
        asyncio.run(purse.reserve(request(max_tokens)))


def test_wrong_budget() -> None:
    with pytest.raises(MetaevalError, match="max_usd is -1"):
        Budget(max_usd=-1)


def test_a_gate_lets_three_through_until_it_opens() -> None:
    async def go() -> None:
        gate = Gate()
        for _ in range(3):
            await gate.enter()
        fourth = asyncio.create_task(gate.enter())
        await asyncio.sleep(0)
        assert not fourth.done()
        gate.open()
        await fourth
        await gate.enter()

    asyncio.run(go())
