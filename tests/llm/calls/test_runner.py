"""Runs over the real SDKs against a server on the loopback address."""

from __future__ import annotations

import asyncio
import dataclasses
import random
import time
from pathlib import Path
from typing import Any

import pytest

from metaeval.base.errors import MetaevalError, StoppedError
from metaeval.llm.calls.limits import Budget, Limits
from metaeval.llm.calls.price import Prices
from metaeval.llm.calls.request import Message, Reply, Request
from metaeval.llm.calls.runner import RequestRun
from metaeval.llm.providers import Connection
from metaeval.llm.store.replies import Store
from tests.llm.asking import FAST, KEY, FakeTime, no_sleep, requests, run, running
from tests.llm.server import (
    ANSWER,
    CUT,
    DROP,
    EMPTY,
    INVALID_JSON,
    LENGTH,
    PROSE,
    REFUSED,
    Act,
    Server,
    always,
    error,
    first,
    serving,
)

ALL = ("openai", "dashscope")


def texts(answers: list[Any]) -> list[str]:
    return [a.reply.text for a in sorted(answers)]


def test_from_store_is_what_was_there_before(store: Store) -> None:
    """Neither what equals a request of the same run, nor what the budget kept from being sent."""
    with serving() as server:
        fresh = running([*requests(10, server.openai)] * 4, store, limits=FAST)
        assert len(list(fresh)) == 40
        assert (fresh.tally.calls, fresh.tally.from_store) == (10, 0)
        later = run(server, store, 20, budget=Budget(max_calls=4))
        assert len(list(later)) == 20
        assert (later.tally.calls, later.tally.from_store) == (4, 10)


@pytest.mark.parametrize("provider", ALL)
def test_nothing_is_paid_twice(store: Store, provider: str) -> None:
    with serving() as server:
        once = run(server, store, 40, provider)
        answers = list(once)
        assert sorted(a.position for a in answers) == list(range(40))
        assert (once.tally.calls, once.tally.failed, once.tally.from_store) == (40, 0, 0)
        assert len(server.log) == 40
        assert 1 < server.most_in_flight <= FAST.concurrency
        assert all(a.reply.service_seconds > 0 and a.reply.queue_seconds >= 0 for a in answers)
        twice = run(server, store, 40, provider)
        again = list(twice)
        assert len(server.log) == 40
        assert (twice.tally.calls, twice.tally.from_store) == (0, 40)
        assert [a.replies for a in sorted(again)] == [a.replies for a in sorted(answers)]
        assert all(a.from_store for a in again)


@pytest.mark.parametrize("seed", range(8))
def test_a_server_that_overcharges_is_paid_one_call_too_many_at_most(store: Store, seed: int) -> None:
    """It counts thoughts beyond ``max_tokens``; two models, 100 requests in flight."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    thoughts = {"a": rng.choice([5, 400]), "b": rng.randrange(40_000)}
    charged: dict[str, list[float]] = {"a": [], "b": []}

    def behave(body: dict[str, Any], _before: int) -> Act:
        model = body["model"]
        charged[model].append((100 + thoughts[model]) / 1e6)
        return Act(usage={"prompt_tokens": 100, "completion_tokens": thoughts[model]})

    budget = rng.uniform(0, 0.5) ** 2
    prices = Prices({model: {"input": 1, "output": 1} for model in charged})
    with serving(behave, delay=0.001) as server:
        wanted = list(requests(60, server.openai))
        asked = [dataclasses.replace(one, model=model) for one in wanted for model in charged]
        limits = Limits(concurrency=100)
        list(running(asked, store, limits=limits, budget=Budget(max_usd=budget), prices=prices))
    spent = sum(map(sum, charged.values()))
    assert spent <= budget + sum(calls[0] for calls in charged.values() if calls)
    unspent = [calls[0] for calls in charged.values() if 0 < len(calls) < 60]
    assert not unspent or spent > budget - max([0.0005, *unspent])


def test_whatever_a_client_raises_is_a_failed_call(store: Store) -> None:
    class Odd:
        async def complete(self, request: Request) -> Reply:
            if request.messages[-1].content.endswith("1?"):
                raise KeyError("choices")
            return Reply("fine")

        async def close(self) -> None:
            """Have nothing to close."""

    def made(_: Connection) -> Odd:
        return Odd()

    asked = requests(4, "http://localhost:9/v1")
    replies = [a.reply for a in sorted(running(asked, store, limits=FAST, clients=made))]
    failed = [r.error for r in replies if r.error is not None]
    assert [(e.kind, e.code, e.message) for e in failed] == [
        ("rejected", "unexpected", "KeyError: 'choices'")
    ]
    assert [r.text for r in replies if r.error is None] == ["fine"] * 3


@pytest.mark.parametrize("provider", ALL)
@pytest.mark.parametrize(
    "act",
    [
        error(429, "rate_limit_exceeded", "slow down", Retry_After="0.2"),
        error(500, "InternalError"),
        error(503, "ServiceUnavailable"),
        CUT,
        DROP,
        INVALID_JSON,
    ],
    ids=lambda a: f"{a.kind}{a.status}",
)
def test_what_passes_is_tried_again(store: Store, provider: str, act: Act) -> None:
    with serving(first(act)) as server:
        started = time.monotonic()
        work = run(server, store, 4, provider)
        assert texts(list(work)) == ["Summary: 3"] * 4
        assert work.tally.calls == len(server.log) == 8
        if act.headers:
            assert time.monotonic() - started >= 0.2
        list(run(server, store, 4, provider))
        assert len(server.log) == 8


def test_a_failure_of_transport_is_kept_but_asked_again(store: Store) -> None:
    broken = [0, 3, 7]

    def behave(body: dict[str, Any], _before: int) -> Act:
        bad = any(f"text {i}?" in body["messages"][0]["content"] for i in broken)
        return error(500, "InternalError", "broken") if bad else ANSWER

    with serving(behave) as server:
        time = FakeTime()
        work = run(server, store, 10, clock=time.clock, sleep=time.sleep)
        answers = sorted(work)
        lost = [a.position for a in answers if a.reply.error == ("transport", "broken", "InternalError")]
        assert lost == broken
        assert work.tally.failed == 3
        # Offline it is what it was; the next run asks again.
        offline = run(server, store, 10, offline=True)
        assert [a.replies for a in sorted(offline)] == [a.replies for a in answers]
        broken.clear()
        asked = len(server.log)
        again = run(server, store, 10)
        assert texts(list(again)) == ["Summary: 3"] * 10
        assert again.tally.failed == 0
        list(run(server, store, 10))
        assert len(server.log) == asked + 3


@pytest.mark.parametrize("act", [EMPTY, LENGTH, PROSE, REFUSED, error(400, "content_filter", "blocked")])
def test_what_was_said_is_kept_as_it_is(store: Store, act: Act) -> None:
    with serving(always(act)) as server:
        answers = list(run(server, store, 3))
        assert all(a.reply.final for a in answers)
        assert [a.replies for a in sorted(run(server, store, 3))] == [a.replies for a in sorted(answers)]
        assert len(server.log) == 3


def parsed(_position: int, reply: Reply) -> bool:
    return reply.text == "Summary: 3"


def test_an_unusable_reply_is_asked_again_as_another_attempt(store: Store) -> None:
    with serving(first(PROSE, PROSE)) as server:
        answers = list(run(server, store, 3, usable=parsed, attempts=3))
        assert len(server.log) == 9
        assert all([r.text for r in a.replies] == [PROSE.text, PROSE.text, "Summary: 3"] for a in answers)
        bodies = [str(seen.body) for seen in server.log]
        assert len(set(bodies)) == 3  # the same settings: what is sent does not say which attempt it is
        again = list(run(server, store, 3, usable=parsed, attempts=3))
        assert [a.replies for a in sorted(again)] == [a.replies for a in sorted(answers)]
        assert len(server.log) == 9


def test_attempts_end(store: Store) -> None:
    with serving(always(PROSE)) as server:
        work = run(server, store, 3, usable=parsed, attempts=2)
        assert all(len(a.replies) == 2 for a in work)
        assert work.tally.failed == 3
        # A better parser needs no new call, and a stricter one offline makes none.
        assert all(len(a.replies) == 1 for a in run(server, store, 3, attempts=2))
        offline = run(server, store, 3, usable=lambda _position, _reply: False, attempts=9, offline=True)
        assert all(len(a.replies) == 2 for a in offline)
        assert len(server.log) == 6


@pytest.mark.parametrize(
    "act",
    [
        error(401, "invalid_api_key", f"Incorrect API key provided: {KEY}."),
        error(404, "model_not_found", "The model `m` does not exist."),
        error(429, "insufficient_quota", "You exceeded your current quota."),
    ],
    ids=lambda a: a.body["code"],
)
def test_the_same_refusal_of_every_call_stops_the_run(store: Store, act: Act) -> None:
    with serving(always(act)) as server:
        with pytest.raises(StoppedError) as caught:
            list(run(server, store, 500))
        assert len(server.log) == 3
        words = act.body["message"].replace(KEY, "[key]").rstrip(".")
        assert words in str(caught.value)
        assert KEY not in str(caught.value)
        assert caught.value.exit_code == 3


def test_what_was_answered_before_it_stopped_is_kept(store: Store) -> None:
    left = [20]

    def behave(_body: dict[str, Any], _before: int) -> Act:
        left[0] -= 1
        return ANSWER if left[0] >= 0 else error(429, "insufficient_quota", "no money left")

    with serving(behave) as server:
        with pytest.raises(StoppedError, match="no money left"):
            list(run(server, store, 500))
        assert len(server.log) <= 20 + 2 * FAST.concurrency
        left[0] = 10**6
        work = run(server, store, 500)
        assert len(list(work)) == 500
        assert work.tally.from_store == 20


def test_one_bad_request_among_many_does_not(store: Store) -> None:
    def behave(body: dict[str, Any], _before: int) -> Act:
        bad = any(f"text {i}?" in body["messages"][0]["content"] for i in (0, 1, 2, 50))
        return error(400, "context_length_exceeded", "too long") if bad else ANSWER

    with serving(behave) as server:
        answers = sorted(run(server, store, 60))
        assert [a.position for a in answers if a.reply.error] == [0, 1, 2, 50]
        assert answers[0].reply.error == ("rejected", "too long", "context_length_exceeded")
        assert len(server.log) == 60


def test_max_calls(store: Store) -> None:
    with serving() as server:
        work = run(server, store, 30, budget=Budget(max_calls=12))
        answers = list(work)
        assert len(server.log) == work.tally.calls == 12
        assert len(answers) == 30
        unsent = [a.reply.error for a in answers if a.reply.error]
        assert unsent == [("budget", "the budget of 12 calls is used up", "")] * 18
        rest = run(server, store, 30)
        assert all(a.reply.final for a in rest)
        assert len(server.log) == 30


def test_nobody_waits_for_a_silent_model_once_the_budget_is_used_up(store: Store) -> None:
    def behave(body: dict[str, Any], _before: int) -> Act:
        known = any(f"text {i}?" in body["messages"][0]["content"] for i in range(4))
        return ANSWER if known else error(500, "InternalError", "broken")

    with serving(behave) as server:
        time, limits = FakeTime(), Limits(concurrency=2, retries=0)
        work = run(
            server, store, 200, budget=Budget(max_calls=12), limits=limits, clock=time.clock, sleep=time.sleep
        )
        kinds = [a.reply.error.kind for a in work if a.reply.error]
    assert kinds.count("budget") == 188
    assert time.now < limits.patience_seconds / 2


def test_max_usd(store: Store) -> None:
    prices = Prices({"m": {"input": 1000, "output": 1000}})  # a reply of the server costs 0.11 USD
    with serving() as server:
        work = run(server, store, 60, budget=Budget(max_usd=2.0), prices=prices)
        answers = list(work)
        assert len(answers) == 60
        assert 0 < len(server.log) < 60
        assert work.tally.usd <= 2.0
        assert work.tally.usd == pytest.approx(0.11 * len(server.log))
        assert {a.reply.error.message for a in answers if a.reply.error} == {"the budget of 2 USD is used up"}
        with pytest.raises(MetaevalError, match="its price is unknown"):
            list(run(server, store, 60, budget=Budget(max_usd=2.0)))


def test_lost_calls_count_as_spent(store: Store) -> None:
    prices = Prices({"m": {"input": 1000, "output": 1000}})
    with serving(always(CUT)) as server:
        work = run(server, store, 5, budget=Budget(max_usd=0.5), prices=prices, sleep=no_sleep)
        assert {a.reply.error.kind for a in work if a.reply.error} <= {"budget", "transport"}
        assert 0 < len(server.log) <= 5


def test_requests_a_minute(store: Store) -> None:
    with serving() as server:
        started = time.monotonic()
        list(run(server, store, 11, limits=Limits(concurrency=8, requests_per_minute=1200)))
        assert time.monotonic() - started >= 0.5
        waits: list[float] = []

        async def sleep(seconds: float) -> None:
            waits.append(seconds)

        slow = Limits(concurrency=1, tokens_per_minute=60)
        list(
            running(
                requests(3, server.openai, replicate=1), store, limits=slow, sleep=sleep, clock=lambda: 0.0
            )
        )
        # The server's replies took 110 tokens each, and the limit is one per second.
        assert [round(w) for w in waits] == [110, 220]


def test_offline_makes_no_client_and_counts_what_is_missing(store: Store) -> None:
    def no_client(_connection: Connection) -> Any:
        raise AssertionError

    with serving() as server:
        list(run(server, store, 4))
    assert len(list(run(server, store, 4, offline=True, clients=no_client))) == 4
    with pytest.raises(MetaevalError, match=r"6 of 10 replies are not in the store"):
        list(run(server, store, 10, offline=True, clients=no_client))


def test_it_works_inside_a_running_loop(store: Store) -> None:
    async def notebook(server: Server) -> int:
        return len(list(run(server, store, 3)))

    with serving() as server:
        assert asyncio.run(notebook(server)) == 3


def test_who_stops_iterating_ends_it(store: Store) -> None:
    with serving(delay=0.05) as server:
        for answer in run(server, store, 1000):
            assert answer.reply.final
            break
        assert len(server.log) < 100
        asked = len(server.log)
        time.sleep(0.2)
        assert len(server.log) == asked
        assert next(iter(run(server, store, 1))).from_store  # the first that were answered are on file


def test_errors_of_the_caller_come_through(store: Store) -> None:
    def usable(_position: int, _reply: Reply) -> bool:
        raise ZeroDivisionError

    def broken() -> Any:
        yield from requests(2, server.openai)
        raise KeyError("mine")

    with serving() as server:
        with pytest.raises(ZeroDivisionError):
            list(run(server, store, 3, usable=usable))
        with pytest.raises(KeyError, match="mine"):
            list(running(broken(), store, limits=FAST))


def test_requests_are_taken_as_they_are_needed(store: Store) -> None:
    taken = [0]

    def many() -> Any:
        for request in requests(100_000, server.openai):
            taken[0] += 1
            yield request

    with serving() as server:
        for _ in running(many(), store, limits=FAST):
            break
    assert taken[0] < 1000


def test_the_key_is_in_no_file(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    echo = Act(text=f"Your key is {KEY}", headers={"X-Echo": KEY})
    acts = [ANSWER, echo, error(400, "bad", f"key {KEY}"), error(500, "x", f"Bearer {KEY}")]
    with serving(lambda body, _before: acts[int(body["messages"][0]["content"][-2]) % 4]) as server:
        for provider in ALL:
            behave = server.behave
            if provider == "dashscope":
                server.behave = lambda body, before: acts[before % 4]
            time = FakeTime()
            list(run(server, store, 8, provider, clock=time.clock, sleep=time.sleep))
            server.behave = behave
        assert all(seen.authorization == f"Bearer {KEY}" for seen in server.log)
    store.close()
    for file in Path(store.name).parent.iterdir():
        assert KEY.encode() not in file.read_bytes(), file
    printed = capsys.readouterr()
    assert KEY not in printed.out + printed.err


def test_the_claims_of_a_run_that_stands_still_are_waited_for_for_a_stated_time(store: Store) -> None:
    # As if it were another process that was suspended: it is alive, and does nothing.
    with serving() as server, Store(store.database) as other:
        asked = list(requests(5, server.openai))
        assert asyncio.run(other.claim(asked[3].key)).ours
        limits = Limits(concurrency=2, call_seconds=0.5)
        with pytest.raises(StoppedError, match=r"another run on the store .* is asking 1 of the same"):
            list(running(asked, store, limits=limits))
        assert len(server.log) == 4
    with serving(port=server.port) as server:
        again = running(asked, store, limits=limits)
        assert len(list(again)) == 5
        assert again.tally.from_store == 4


@pytest.mark.parametrize("key", ["sk-schl\u00fcssel-4711", "sk-\udcff-4711", "sk-two\nlines-4711"])
def test_a_key_that_is_none_is_said_in_a_sentence(
    store: Store, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with serving() as server:
        with pytest.raises(MetaevalError, match="OPENAI_API_KEY holds a character that no key has") as caught:
            list(run(server, store, 3))
        assert "4711" not in str(caught.value)
        assert server.log == []


def on_trial(server: Server, store: Store, number: int, **options: Any) -> RequestRun:
    """Return a run that stops after 20 unread replies, with more requests in flight than those."""
    options = {"limits": Limits(concurrency=64), "usable": parsed, "attempts": 3, **options}
    return run(server, store, number, unread=lambda at, reply: f"{at}: {reply.text}", **options)


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_run_stops_if_none_of_its_first_replies_can_be_used(store: Store, attempts: int) -> None:
    with serving(always(PROSE)) as server:
        for asked in (20, 40):  # the same command again asks other questions, or the same once more
            with pytest.raises(StoppedError, match=rf"\d+: {PROSE.text}"):
                list(on_trial(server, store, 100, attempts=attempts))
            assert len(server.log) == asked
            assert server.most_in_flight <= 20
        server.behave = always(Act(text="Summary: 3"))
        answers = list(on_trial(server, store, 100, attempts=attempts))
        # What no attempt is left for stays unread; the last 20 were never read by anyone.
        assert sum(not parsed(0, a.reply) for a in answers) == (40 if attempts == 1 else 0)
        assert len(server.log) == 40 + (60 if attempts == 1 else 100)


def test_what_cannot_be_used_waits_until_a_reply_can(store: Store) -> None:
    questions: set[str] = set()

    def behave(body: dict[str, Any], before: int) -> Act:
        questions.add(str(body))
        return Act(text="Summary: 3" if before or len(questions) == 20 else PROSE.text)

    with serving(behave) as server:
        answers = list(on_trial(server, store, 20))
        assert all(parsed(0, a.reply) for a in answers)
        bodies = [str(seen.body) for seen in server.log]
        assert len(bodies) == 39
        assert len(set(bodies[:20])) == 20  # no question twice before all were asked once


@pytest.mark.parametrize("number", [1, 19])
def test_fewer_questions_than_are_tried_are_asked_again(store: Store, number: int) -> None:
    with serving(first(PROSE)) as server:
        assert all(parsed(0, a.reply) for a in on_trial(server, store, number))
        assert len(server.log) == 2 * number


def test_failures_and_requests_of_a_group_do_not_hold_a_trial_up(store: Store) -> None:
    def behave(body: dict[str, Any], _before: int) -> Act:
        return error(400, "too_long") if "0?" in str(body) else PROSE

    with serving(behave) as server:
        shared = [Message("system", "The same for all.")]
        asked = [r.asking([*shared, *r.messages], shares=True) for r in requests(100, server.openai)]
        work = running(asked, store, limits=FAST, usable=parsed, attempts=2, unread=lambda *_: "unread")
        with pytest.raises(StoppedError):
            list(work)
    failed = sum(seen.act.status == 400 for seen in server.log)
    assert failed
    assert len(server.log) == 20 + failed


def test_a_run_may_go_on_without_a_usable_reply(store: Store) -> None:
    with serving(always(PROSE)) as server:
        answers = list(on_trial(server, store, 50, limits=Limits(stop_unread=0), attempts=2))
        assert len(answers) == 50
        assert len(server.log) == 100


@pytest.mark.parametrize("provider", ALL)
def test_an_error_in_a_body_of_status_200_is_waited_for_and_not_charged(store: Store, provider: str) -> None:
    message = {"error": {"code": 429, "message": "Provider returned error"}}
    busy = Act("body", body={**message, "choices": None, "output": {"choices": []}, "usage": {"a": 1}})
    prices = Prices({"m": {"input": 1000, "output": 1000}})  # a reply of the server costs 0.11 USD
    options = {"prices": prices, "limits": Limits(retries=1), "budget": Budget(max_usd=0.5), "attempts": 3}
    with serving(always(busy)) as server:
        time = FakeTime()
        work = run(server, store, 4, provider, clock=time.clock, sleep=time.sleep, **options)
        limit = "Provider returned error; set judging.requests_per_minute"
        assert {a.reply.error for a in work} == {("transport", limit, "429")}
        assert time.now > 0
        assert (work.tally.usd, len(server.log)) == (0.0, 8)
        server.behave = always(ANSWER)
        again = run(server, store, 4, provider, **options)
        assert texts(list(again)) == ["Summary: 3"] * 4
        assert again.tally.usd == pytest.approx(0.44)
