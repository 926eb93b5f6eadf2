"""Budget and limits per minute of several processes together."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
import time
import uuid
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metaeval.llm.calls.address import SharedPace
from metaeval.llm.calls.limits import Budget, Purse, nano
from metaeval.llm.calls.price import Prices
from metaeval.llm.calls.request import Message, Request
from metaeval.llm.store.replies import Store, StudyShares
from tests.examples import examples
from tests.llm.asking import KEY
from tests.llm.server import ANSWER, Act, serving

pytestmark = pytest.mark.slow

PRICES = {"m": {"input": 0.0, "output": 1000.0}}
BOUND, COST = 0.02, 0.01  # USD of a call: 20 tokens at most, 10 in fact
ASKED = Request("openai", "m", (Message("user", "x"),), {"max_tokens": 20})


async def spend(purse: Purse, shares: list[float], paid: list[float]) -> None:
    """Make calls that cost some share of what they may cost at most."""
    for share in shares:
        reserved = await purse.reserve(ASKED)
        if reserved is None:
            break
        await asyncio.sleep(0)
        paid.append(BOUND * share)
        purse.settle(ASKED, reserved, nano(BOUND * share))
    await purse.close()


@settings(
    max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    budget=st.floats(0, 1.5),
    work=st.lists(st.lists(st.floats(0, 1), max_size=40), min_size=1, max_size=5),
)
def test_a_budget_is_kept_by_all_together(store: Store, budget: float, work: list[list[float]]) -> None:
    paid: list[float] = []
    study = str(uuid.uuid4())

    async def go() -> None:
        purses = [Purse(Budget(max_usd=budget), Prices(PRICES), StudyShares(store, study)) for _ in work]
        await asyncio.gather(*(spend(p, shares, paid) for p, shares in zip(purses, work, strict=True)))

    asyncio.run(go())
    calls = sum(map(len, work))
    assert sum(paid) <= budget + 1e-9 * (calls + 1)
    if len(paid) == calls:
        return
    # Whoever stopped found less than a call left, but for what others still held: a 64th, or a call, each.
    assert sum(paid) > budget - len(work) * (BOUND + budget / 64) - BOUND - 1e-9 * (calls + 1)


def test_what_is_not_used_is_given_back_and_a_larger_budget_goes_on(store: Store, place: str) -> None:
    async def calls(most: int, opened: Store) -> int:
        purse = Purse(Budget(max_calls=most), Prices(), StudyShares(opened, "s"))
        made = 0
        while made < 3 and await purse.reserve(ASKED) is not None:
            made += 1
        await purse.close()
        return made

    with Store(place) as other:
        made = [asyncio.run(calls(300, one)) for one in (store, other) * 2]
        assert made == [3, 3, 3, 3]
        assert asyncio.run(calls(12, store)) == 0
        assert asyncio.run(calls(14, other)) == 2
    assert store.rows("SELECT part, used FROM budgets") == [("calls", 14)]


def test_leases_of_several_processes_do_not_overlap(store: Store, place: str) -> None:
    async def turns(pace: SharedPace, number: int, begins: list[float]) -> None:
        async def one() -> None:
            wait = await pace.turn(time.monotonic)
            begins.append(time.monotonic() + wait)

        await asyncio.gather(*(one() for _ in range(number)))

    async def go(opened: list[Store]) -> list[float]:
        begins: list[float] = []

        paces = [
            SharedPace(6000, partial(StudyShares(one, "s").lease, "openai", "http://x", "n"))
            for one in opened
        ]
        for number in (20, 5, 0, 15):
            await asyncio.gather(*(turns(pace, number, begins) for pace in paces))
        return sorted(begins)

    with Store(place) as other:
        begins = asyncio.run(go([store, other]))
    steps = [after - before for before, after in itertools.pairwise(begins)]
    assert len(begins) == 80
    assert begins[-1] - begins[0] > 79 * 0.01 - 0.05
    assert sum(step < 0.005 for step in steps) < 10  # but for how long the look at the clock took


LEASES = """
import asyncio, os, sys
from metaeval.llm.store.replies import Store
from metaeval.llm.store.replies import StudyShares
asyncio.run(StudyShares(Store(sys.argv[1]), "s").lease("openai", "http://x", "requests", 600))
os._exit(9)
"""


@pytest.mark.parametrize("ends", ["killed", "closed", "clock"])
def test_what_was_leased_is_free_again(
    store: Store, place: str, ends: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once its owner is gone, however it ended, or the clock was set back."""

    def wait(opened: Store, seconds: float) -> float:
        return asyncio.run(StudyShares(opened, "s").lease("openai", "http://x", "requests", seconds))

    if ends == "clock":
        now = type(store._reader).now
        monkeypatch.setattr(type(store._reader), "now", lambda self: now(self) + 900)
        assert wait(store, 60) == 0
        monkeypatch.undo()
    elif ends == "closed":
        with Store(place) as one, Store(place) as two:
            assert wait(one, 600) == 0
            assert 590 < wait(two, 600) <= 600  # while its owner is there
    else:
        subprocess.run([sys.executable, "-c", LEASES, place], check=False)
    assert wait(store, 60) == 0


WORKER = """
import sys
from metaeval.judging.settings import judging
from metaeval.llm.calls.limits import Budget, Limits
from metaeval.llm.calls.price import Prices
from tests.llm.asking import running
from tests.llm.asking import requests
from tests.llm.store.test_shares import PRICES
place, url, part = sys.argv[1], sys.argv[2], int(sys.argv[3])
limits, prices = Limits(concurrency=4, requests_per_minute=3000), Prices(PRICES)
wanted = [r for i, r in enumerate(requests(200, url)) if i % 4 == part]
with judging(place, limits=limits, budget=Budget(max_usd=1.0), prices=prices, study_id="s") as shared:
    list(running(wanted, shared.store, limits=limits, prices=prices, loop=shared.loop))
"""


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def test_four_processes_keep_to_one_budget_and_one_limit_a_minute(place: str) -> None:
    times: list[float] = []

    def timed(_body: Any, _before: int) -> Act:
        times.append(time.monotonic())
        return ANSWER

    with serving(timed, delay=0.01) as server:
        running = [
            subprocess.Popen([sys.executable, "-c", WORKER, place, server.openai, str(part)])
            for part in range(4)
        ]
        assert [process.wait(60) for process in running] == [0] * 4
    assert COST * len(times) <= 1.0
    assert COST * len(times) > 1.0 - 5 * (BOUND + 1 / 64)
    for start, end in zip(times, times[50:], strict=False):
        assert end - start > 50 / 50 - 0.3  # 50 a second; but for how late a request may be sent
