"""Runs side by side: each address keeps to its limits, all to one budget, and what is equal is sent once."""

from __future__ import annotations

import dataclasses
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metaeval.base.errors import MetaevalError, StoppedError
from metaeval.llm.calls.address import Where
from metaeval.llm.calls.caller import Caller
from metaeval.llm.calls.limits import Budget, Limits
from metaeval.llm.calls.price import Prices
from metaeval.llm.calls.request import Request
from metaeval.llm.calls.runner import CallLoop
from metaeval.llm.calls.work import Answer
from metaeval.llm.store.replies import Store
from tests.examples import examples
from tests.llm.asking import FAST, requests, running
from tests.llm.server import ANSWER, HANG, PROSE, Act, always, error, first, serving

PRICES = Prices({"m": {"input": 1000, "output": 1000}})  # a reply of the server costs 0.11 USD


def a_loop(
    limits: Limits = FAST, budget: Budget | None = None, at: dict[Where, Limits] | None = None
) -> CallLoop:
    budget, at = budget or Budget(), at or {}
    return CallLoop(Caller(limits=limits, budget=budget, prices=PRICES, at=at, draw=lambda: 0.05))


def asked(
    loop: CallLoop, store: Store, *runs: list[Request], **options: Any
) -> list[list[Answer] | Exception]:
    """Run side by side; return the answers of each run, or why it ended."""

    def answers(run: list[Request]) -> list[Answer] | Exception:
        try:
            return sorted(running(run, store, loop=loop, prices=PRICES, **options))
        except MetaevalError as why:
            return why

    with ThreadPoolExecutor(len(runs)) as pool:
        return list(pool.map(answers, runs))


def done(outcome: list[Answer] | Exception) -> list[Answer]:
    assert isinstance(outcome, list), outcome
    return outcome


def test_each_address_keeps_to_its_own_limits(store: Store) -> None:
    with serving(delay=0.05) as one, serving(delay=0.05) as two:
        at = {("openai", two.openai): Limits(concurrency=2)}
        runs = [list(requests(20, s.openai, replicate=n)) for s in (one, two) for n in range(2)]
        outcomes = asked(a_loop(at=at), store, *runs)
        assert [len(done(o)) for o in outcomes] == [20] * 4
        # Two runs at each: together they fill the places of their address, and take no more.
        assert (one.most_in_flight, two.most_in_flight) == (FAST.concurrency, 2)


@pytest.mark.parametrize("attempts", [1, 3])
def test_what_is_equal_is_asked_once(store: Store, attempts: int) -> None:
    with serving(first(*[PROSE] * (attempts - 1)), delay=0.02) as server:
        outcomes = asked(
            a_loop(),
            store,
            *[list(requests(40, server.openai))] * 12,
            usable=lambda _, reply: reply.text == "Summary: 3",
            attempts=attempts,
        )
        assert len(server.log) == 40 * attempts
    replies = [[a.replies for a in done(o)] for o in outcomes]
    assert all(r == replies[0] for r in replies)
    assert {len(r) for r in replies[0]} == {attempts}


@settings(max_examples=examples(15), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    usd=st.none() | st.floats(0, 3),
    calls=st.none() | st.integers(0, 25),
    sizes=st.lists(st.integers(0, 12), min_size=2, max_size=4),
)
def test_a_budget_is_one(
    tmp_path_factory: pytest.TempPathFactory, usd: float | None, calls: int | None, sizes: list[int]
) -> None:
    path = tmp_path_factory.mktemp("budget") / "s.sqlite"
    with serving() as server, Store(path) as store:
        loop = a_loop(budget=Budget(max_usd=usd, max_calls=calls))
        runs = [list(requests(n, server.openai, replicate=r)) for r, n in enumerate(sizes)]
        outcomes = asked(loop, store, *runs)
        kept = [a for o in outcomes for a in done(o) if a.reply.error is None]
        assert [len(done(o)) for o in outcomes] == sizes
        assert len(server.log) == len(kept)
        assert len(kept) <= (sum(sizes) if calls is None else calls)
        assert 0.11 * len(kept) <= (9 if usd is None else usd) + 1e-9
        if usd is None:
            assert len(kept) == min(sum(sizes), calls if calls is not None else 99)
        # What was spent is spent: the next run of the loop has the rest.
        more = done(asked(loop, store, list(requests(30, server.openai, replicate=9)))[0])
        kept += [a for a in more if a.reply.error is None]
        assert 0.11 * len(kept) <= (9 if usd is None else usd) + 1e-9
        assert len(kept) <= (sum(sizes) + 30 if calls is None else calls)


REFUSED = always(error(401, "invalid_api_key", "wrong key"))
QUICK = Limits(concurrency=8, reply_seconds=0.4, patience_seconds=1.0)


@pytest.mark.slow
@pytest.mark.parametrize(("behave", "why"), [(REFUSED, "takes no call"), (always(HANG), "answers no call")])
def test_a_model_that_takes_no_call_stops_its_own_run(store: Store, behave: Any, why: str) -> None:
    with serving(behave) as bad, serving(delay=0.02) as good:
        loop = a_loop(QUICK)
        runs = [list(requests(200, s.openai, replicate=n)) for s in (bad, good) for n in range(2)]
        *stopped, one, two = asked(loop, store, *runs)
        assert all(isinstance(s, StoppedError) and why in str(s) for s in stopped)
        assert all(a.reply.text == "Summary: 3" for o in (one, two) for a in done(o))
        assert len(good.log) == 400
        assert len(bad.log) < 20
        # The next runs ask anew.
        bad.behave = always(ANSWER)
        again = done(asked(loop, store, runs[0])[0])
        assert all(a.reply.text == "Summary: 3" for a in again)


def test_settings_that_are_rejected_stop_their_own_run(store: Store) -> None:
    """However often the same model answers others meanwhile."""

    def behave(body: dict[str, Any], _before: int) -> Act:
        return error(400, "bad_request", "no such style") if body["max_tokens"] == 21 else ANSWER

    with serving(behave, delay=0.01) as server:
        loop = a_loop()
        good = list(requests(300, server.openai))
        bad = [dataclasses.replace(r, parameters={**r.parameters, "max_tokens": 21}) for r in good]
        stopped, answered = asked(loop, store, bad, good)
    assert "takes no call (bad_request): no such style" in str(stopped)
    assert all(a.reply.text == "Summary: 3" for a in done(answered))
    assert sum(s.body["max_tokens"] == 21 for s in server.log) < 30 + 2 * FAST.concurrency


def test_a_mistake_of_one_ends_all(store: Store) -> None:
    def mistaken(_position: int, _reply: object) -> bool:
        raise MetaevalError("my mistake")

    loop = a_loop()
    with serving(delay=0.05) as server, ThreadPoolExecutor(1) as pool:
        other = pool.submit(asked, loop, store, list(requests(2000, server.openai, replicate=1)))
        while len(server.log) < 20:
            time.sleep(0.01)
        (mine,) = asked(loop, store, list(requests(5, server.openai)), usable=mistaken)
        (theirs,) = other.result(timeout=10)
        assert [str(mine), str(theirs)] == ["my mistake"] * 2
        # What was under way is paid for, and kept.
        kept = store.get_many(r.key for n in range(2) for r in requests(2000, server.openai, replicate=n))
        assert len(kept) == len(server.log) < 1000


def test_stopped_they_end_at_once_and_leave_no_thread(store: Store) -> None:
    before = threading.active_count()
    loop = a_loop()
    with serving(always(HANG)) as server:
        started = time.monotonic()
        threading.Timer(0.5, loop.stop).start()
        outcomes = asked(loop, store, *[list(requests(50, server.openai, replicate=n)) for n in range(4)])
        assert all(isinstance(o, StoppedError) for o in outcomes)
        assert time.monotonic() - started < 30
    store.close()
    assert threading.active_count() <= before
    loop.stop()  # there is nothing to stop


def test_another_process_that_asks_the_same_is_waited_for(store: Store, tmp_path: Path) -> None:
    with serving() as server, Store(store.database) as other:
        todo = list(requests(30, server.openai))
        loop = a_loop()
        with ThreadPoolExecutor(1) as pool:
            for request in todo[:20]:
                assert other.write(lambda c, key=request.key: other._claim(c, key)).ours
            runs = pool.submit(asked, loop, store, todo, todo)
            time.sleep(0.5)
            assert len(server.log) == 10  # the others go on
            for request in todo[:20]:
                other.release(request.key)
            assert [len(done(o)) for o in runs.result(timeout=20)] == [30, 30]
        assert len(server.log) == 30
