"""Servers that take fewer calls than they get: what is asked is answered, and nothing is asked many times."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metaeval.base.errors import StoppedError
from metaeval.llm.calls.limits import Limits
from metaeval.llm.calls.request import Reply
from metaeval.llm.store.replies import Store
from tests.llm.asking import FakeTime, requests, run, running
from tests.llm.server import ANSWER, Act, always, error, serving

LIMITED = error(429, "rate_limit_exceeded", "Rate limit reached")
TRIES = 1 + 2 * Limits().retries


class Bucket:
    """A token bucket: so many calls a second, after a burst.

    It asks to wait until the next is free, or always for so many seconds; None: it does not say.
    """

    def __init__(self, a_second: float, burst: int = 1, asks: float | None = 0.0) -> None:
        self.interval, self.burst, self.asks = 1 / a_second, burst, asks
        self.free = 0.0
        self.tries = Counter[str]()

    def __call__(self, body: dict[str, Any], _before: int) -> Act:
        self.tries[str(body)] += 1
        now = time.monotonic()
        self.free = max(self.free, now - (self.burst - 1) * self.interval)
        if now < self.free:
            asked = {} if self.asks is None else {"Retry_After": f"{self.asks or self.free - now:.4f}"}
            return error(429, "rate_limit_exceeded", "Rate limit reached", **asked)
        self.free += self.interval
        return ANSWER


@pytest.mark.parametrize("models", ["m", "mn"])
@pytest.mark.parametrize(
    ("options", "delay"),
    [
        ({"a_second": 40}, 0.0),
        ({"a_second": 40}, 0.1),
        ({"a_second": 80, "burst": 40}, 0.1),
        ({"a_second": 80, "burst": 40, "asks": 0.3}, 0.1),
        ({"a_second": 40, "asks": None}, 0.1),
    ],
)
def test_what_a_limit_holds_back_is_answered(
    store: Store, options: dict[str, Any], delay: float, models: str
) -> None:
    bucket = Bucket(**options)
    with serving(bucket, delay=delay) as server:
        asked = [
            dataclasses.replace(request, model=models[i % len(models)])
            for i, request in enumerate(requests(100, server.openai))
        ]
        work = running(asked, store, limits=Limits(concurrency=64))
        assert [a.reply.error for a in work] == [None] * 100
    assert max(bucket.tries.values()) <= TRIES
    assert work.tally.calls <= 4 * 100


def test_fewer_are_under_way_after_a_limit_and_then_more(store: Store) -> None:
    """Ten at once are too many; then the limit is gone."""
    under_way: list[int] = []

    def behave(_body: dict[str, Any], _before: int) -> Act:
        under_way.append(server.in_flight)
        return LIMITED if server.in_flight >= 10 and len(under_way) < 300 else ANSWER

    with serving(behave, delay=0.02) as server:
        answers = list(running(requests(900, server.openai), store, limits=Limits(concurrency=64)))
    assert all(a.reply.final for a in answers)
    assert max(under_way) > 16
    # One more than is taken is tried after each of the answers to as many. On a busy machine calls are long
    # on their way, so that a few more are sent before a limit is seen.
    assert sorted(under_way[150:300])[-15] <= 11
    assert max(under_way[300:]) > 11


@given(equal=st.integers(1, 6), retries=st.integers(0, 3), status=st.sampled_from([429, 500, 400]))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_equal_and_lost_is_asked_once(
    tmp_path_factory: pytest.TempPathFactory, equal: int, retries: int, status: int
) -> None:
    """However often it comes, in one run or in those beside it, every time it has the same outcome."""

    def behave(body: dict[str, Any], _before: int) -> Act:
        return error(status, "broken") if "text 1?" in str(body) else ANSWER

    place = tmp_path_factory.mktemp("store") / "s.sqlite"
    with Store(place) as store, serving(behave) as server:
        time = FakeTime()
        asked = [*requests(3, server.openai)] * equal
        options = {"limits": Limits(concurrency=2, retries=retries), "clock": time.clock, "sleep": time.sleep}
        answers = list(running(asked, store, **options))
        assert Counter(a.request.key for a in answers if a.reply.error) == {asked[1].key: equal}
        tries = sum("text 1?" in str(seen.body) for seen in server.log)
        assert tries == 1 + {400: 0, 429: 2 * retries, 500: retries}[status]
        # The next run asks again.
        server.behave = always(ANSWER)
        assert all(a.reply.final for a in running(asked, store, **options))


@pytest.mark.parametrize(
    ("text", "attempts", "final"), [("Summary: 3", 2, True), ("?", 2, False), ("?", 1, True)]
)
def test_a_reply_that_others_put_into_the_store_is_used(
    store: Store, text: str, attempts: int, final: bool
) -> None:
    """The first request is lost; while the last is asked, another process brings its reply."""
    with Store(store.database) as other:

        def behave(body: dict[str, Any], _before: int) -> Act:
            if "text 0?" in str(body):
                return error(500, "broken")
            if "text 9?" in str(body):
                other.put(asked[0], Reply(text, prompt_tokens=1, completion_tokens=1))
            return ANSWER

        with serving(behave) as server:
            asked = list(requests(10, server.openai))
            time, usable = FakeTime(), lambda _, reply: reply.text == "Summary: 3"
            options = {"limits": Limits(concurrency=1, retries=1), "clock": time.clock, "sleep": time.sleep}
            work = running(asked, store, usable=usable, attempts=attempts, **options)
            answers = sorted(work)
    # One that cannot be read is asked for again by the next run, if that may be.
    assert answers[0].reply.final == final
    assert (answers[0].reply.text == text) == final
    assert work.tally.failed == (text == "?")


def test_the_message_names_the_option_and_the_limit_that_was_seen(store: Store) -> None:
    def behave(body: dict[str, Any], _before: int) -> Act:
        return LIMITED if "text 50?" in str(body) else ANSWER

    with serving(behave) as server:
        limits = Limits(concurrency=4, retries=2)
        (lost,) = [a.reply.error for a in run(server, store, 500, limits=limits) if a.reply.error]
        rate, _, rest = lost.message.removeprefix("Rate limit reached; it answered ").partition(" ")
        assert rest == "a minute: set judging.requests_per_minute below that"
        assert 60 < int(rate) < 10**6
        server.behave = always(LIMITED)
        time = FakeTime()
        options = {"limits": Limits(patience_seconds=2), "clock": time.clock, "sleep": time.sleep}
        with pytest.raises(StoppedError, match=r"Rate limit reached .*; set judging.requests_per_minute\)"):
            list(running(requests(9, server.openai, replicate=1), store, **options))
