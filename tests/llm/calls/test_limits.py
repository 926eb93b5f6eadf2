from __future__ import annotations

import asyncio
import dataclasses
import math
import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.base.errors import MetaevalError
from metaeval.llm.calls.address import Pace
from metaeval.llm.calls.client import RetryableError
from metaeval.llm.calls.limits import Budget, Limits, Purse, bound_of, nano, wait_before
from metaeval.llm.calls.price import Prices
from metaeval.llm.calls.request import Message, Request

RANDOM_BUDGETS = int(os.environ.get("METAEVAL_RANDOM_BUDGETS", "1000"))


def test_concurrency_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Limits().concurrency == 32
    monkeypatch.setenv("METAEVAL_CONCURRENCY", "5")
    assert Limits().concurrency == 5
    monkeypatch.setenv("METAEVAL_CONCURRENCY", "many")
    with pytest.raises(MetaevalError, match="METAEVAL_CONCURRENCY is 'many'"):
        Limits()


@pytest.mark.parametrize(
    "wrong",
    [
        {"concurrency": 0},
        {"requests_per_minute": 0},
        {"reply_seconds": -1},
        {"retries": -1},
        {"patience_seconds": math.inf},
    ],
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
        usd = PRICES.at_most(request())
        assert usd is not None
        assert usd > 1.0
        purse = Purse(Budget(max_usd=2.6 * usd), PRICES)
        bound = nano(usd)
        assert await purse.reserve(request()) == bound
        alone = asyncio.create_task(purse.reserve(request()))
        await asyncio.sleep(0)
        assert not alone.done()  # what a call of this model is charged is not known yet
        purse.settle(request(), bound, bound // 10)
        first, second = await alone, await purse.reserve(request())
        assert first == second == bound
        third = asyncio.create_task(purse.reserve(request()))
        await asyncio.sleep(0)
        assert not third.done()  # there may be enough when the others have cost less than they might
        purse.settle(request(), bound, bound // 10)
        assert await third == bound
        purse.settle(request(), bound, bound)
        purse.settle(request(), bound, bound)
        assert await purse.reserve(request()) is None
        assert "USD is used up" in purse.empty
        assert purse._calls.used == 4

    asyncio.run(go())


def test_what_is_reserved_learns_from_what_was_charged() -> None:
    """A server that charges thrice what a request allows: no less is reserved from then on."""

    async def go() -> None:
        bound = nano(PRICES.at_most(request()) or 0)
        purse = Purse(Budget(max_usd=11 * bound / 1e9), PRICES)
        other = dataclasses.replace(request(), model="openai/m")
        assert await purse.reserve(request()) == bound
        purse.settle(request(), bound, 3 * bound)
        assert [await purse.reserve(request()) for _ in range(2)] == [3 * bound] * 2
        third = asyncio.create_task(purse.reserve(request()))
        await asyncio.sleep(0)
        assert not third.done()  # 3 are spent and 6 reserved, and there is room for 11
        purse.settle(request(), 3 * bound, 0)
        assert await third == 3 * bound
        for _ in range(2):
            purse.settle(request(), 3 * bound, 3 * bound)
        assert await purse.reserve(request()) is None
        with pytest.raises(MetaevalError, match="price is unknown"):
            await purse.reserve(other)

    asyncio.run(go())


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"max_tokens": 10, "best_of": 20}, "best_of multiplies its price"),
        ({"max_tokens": 10, "max_completion_tokens": -100_000}, "max_completion_tokens=-100000 is no limit"),
        ({"max_tokens": 10.5}, "max_tokens=10.5 is no limit"),
        ({"max_tokens": True}, "max_tokens=True is no limit"),
    ],
)
def test_what_multiplies_or_unbounds_a_price_is_refused(parameters: dict[str, object], why: str) -> None:
    with pytest.raises(MetaevalError, match=f"max_usd` cannot be kept for openai/m, since {re.escape(why)}"):
        bound_of(Request("openai", "m", (Message("user", "x"),), parameters), PRICES)


@pytest.mark.parametrize(
    ("prices", "max_tokens", "why"),
    [
        (
            {},
            10,
            r"price is unknown; set `judging.prices`: \{openai/m: \{input: …, output: …\}\}, or",
        ),
        (PRICES, None, "set `max_tokens` in its spec"),
    ],
)
def test_a_limit_in_money_needs_an_upper_bound(prices: object, max_tokens: int | None, why: str) -> None:
    purse = Purse(Budget(max_usd=1), prices if isinstance(prices, Prices) else Prices())
    with pytest.raises(MetaevalError, match=why):
        asyncio.run(purse.reserve(request(max_tokens)))


def test_what_can_be_paid_to_the_cent_is_paid() -> None:
    async def go() -> int:
        prices = Prices({"m": {"input": 0, "output": 1000}})  # 0.01 USD for 10 tokens
        purse = Purse(Budget(max_usd=0.03), prices)
        while (reserved := await purse.reserve(request())) is not None:
            purse.settle(request(), reserved, nano(0.01))
        return purse._calls.used

    assert asyncio.run(go()) == 3


@settings(max_examples=RANDOM_BUDGETS, deadline=None)
@given(
    budget=st.floats(0, 2),
    judges=st.lists(
        st.tuples(
            st.tuples(st.floats(0, 5000), st.floats(0, 5000)),  # prices
            st.lists(st.floats(0, 1), min_size=1, max_size=40),  # of what a reply costs at most
            st.integers(1, 8),  # requests at once
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_a_budget_is_kept_and_nobody_waits_for_ever(
    budget: float, judges: list[tuple[tuple[float, float], list[float], int]]
) -> None:
    """Judges side by side, at their own prices and each in its time, have one purse."""
    given = {f"m{n}": {"input": p[0], "output": p[1]} for n, (p, _, _) in enumerate(judges)}
    prices = Prices(given)
    paid: list[float] = []
    bounds: list[float] = []

    async def work(purse: Purse, judge: int, replies: list[float]) -> None:
        asked = dataclasses.replace(request(), model=f"m{judge}")
        bound = prices.at_most(asked)
        assert bound is not None
        while replies:
            cost = bound * replies.pop()
            reserved = await purse.reserve(asked)
            if reserved is None:
                bounds.append(bound)
                continue
            for _ in range((len(replies) + judge) % 3):
                await asyncio.sleep(0)
            paid.append(cost)
            purse.settle(asked, reserved, nano(cost))

    async def go() -> Purse:
        purse = Purse(Budget(max_usd=budget), prices)
        todo = [(list(shares), workers) for _, shares, workers in judges]
        tasks = [work(purse, n, replies) for n, (replies, w) in enumerate(todo) for _ in range(w)]
        await asyncio.wait_for(asyncio.gather(*tasks), 10)
        return purse

    purse = asyncio.run(go())
    assert sum(paid) <= budget * (1 + 1e-12) + 1e-12 * len(paid)
    assert purse._usd.used / 1e9 == pytest.approx(sum(paid), abs=1e-9 * (len(paid) + 1))
    if bounds:  # nothing that could be paid for was refused
        assert budget - sum(paid) < max(bounds) + 1e-9 * (len(paid) + 2)


@pytest.mark.parametrize("wrong", [-1, math.inf, math.nan, 1e300])
def test_wrong_budget(wrong: float) -> None:
    with pytest.raises(MetaevalError, match=re.escape(f"max_usd is {wrong}")):
        Budget(max_usd=wrong)
