"""Servers that are down, hang or talk nonsense: a run ends in stated time, and goes on later."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from metaeval.base.errors import StoppedError
from metaeval.llm.calls import runner
from metaeval.llm.calls.limits import Limits
from metaeval.llm.calls.runner import RequestRun
from metaeval.llm.providers import CONNECT_SECONDS
from metaeval.llm.store.replies import Store
from tests.llm.asking import address, requests, run, running
from tests.llm.server import ANSWER, CUT, DROP, HANG, Act, always, error, serving

QUICK = Limits(concurrency=8, reply_seconds=0.4, retries=6, patience_seconds=1.0)
MANY = 3000


def stopped(run: RequestRun) -> tuple[str, float]:
    """Return the sentence with which a run stops, and how long that took."""
    started = time.monotonic()
    with pytest.raises(StoppedError) as caught:
        list(run)
    assert caught.value.exit_code == 3
    assert "what was answered is kept" in str(caught.value)
    return str(caught.value), time.monotonic() - started


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def after(number: int, act: Act) -> Callable[[dict[str, Any], int], Act]:
    """Answer a number of requests, then act so."""
    left = [number]

    def behave(_body: dict[str, Any], _before: int) -> Act:
        left[0] -= 1
        return ANSWER if left[0] >= 0 else act

    return behave


def test_the_defaults_end_a_run_within_two_minutes() -> None:
    limits = Limits()
    # A server that hangs is found out after reply_seconds, and asked again until patience is over.
    assert CONNECT_SECONDS < limits.reply_seconds < limits.patience_seconds <= 105


@pytest.mark.parametrize("provider", ["openai", "dashscope"])
def test_a_refused_port_says_so_in_two_seconds(store: Store, provider: str) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    said, seconds = stopped(running(requests(MANY, nobody, provider), store))
    assert "answers no call (connect): cannot connect" in said
    assert seconds < 30  # of a busy machine


@pytest.mark.parametrize("provider", ["openai", "dashscope"])
@pytest.mark.parametrize("answered", [0, 20])
def test_a_server_that_hangs(store: Store, provider: str, answered: int) -> None:
    with serving(after(answered, HANG)) as server:
        said, seconds = stopped(run(server, store, MANY, provider, limits=QUICK))
        assert ("stopped answering" if answered else "answers no call") + " (timeout): no reply" in said
        assert "raise `judging.reply_seconds` (0.4)" in said
        assert seconds < 30  # of a busy machine; the server never answers
        assert len(server.log) < answered + 20
        server.behave = always(ANSWER)
        again = run(server, store, 100, provider, limits=QUICK)
        assert all(a.reply.final for a in again)
        assert again.tally.from_store == answered


@pytest.mark.parametrize("act", [CUT, DROP, error(503, "ServiceUnavailable"), Act("body", body="<html>")])
def test_a_server_that_stops_answering(store: Store, act: Act) -> None:
    with serving(after(20, act)) as server:
        said, seconds = stopped(run(server, store, MANY, limits=QUICK))
        assert "stopped answering" in said
        assert seconds < 30  # of a busy machine
        assert len(server.log) < 20 + 20


def test_a_server_that_goes_away_and_comes_back_loses_nothing(store: Store) -> None:
    with serving(delay=0.01) as server:
        answers = iter(run(server, store, 200, limits=Limits(concurrency=8)))
        seen = [next(answers) for _ in range(40)]
    with contextlib.ExitStack() as later:
        timer = threading.Timer(1.5, lambda: later.enter_context(serving(port=server.port)))
        timer.start()
        seen += answers
        timer.join()
    assert [a.reply.text for a in seen] == ["Summary: 3"] * 200


@pytest.mark.parametrize("provider", ["openai", "dashscope"])
@pytest.mark.parametrize("answered", [0, 20])
def test_a_wait_that_is_too_long_ends_the_run_with_a_sentence(
    store: Store, provider: str, answered: int
) -> None:
    act = error(429, "rate_limit_exceeded", "quota of the day", Retry_After="3600")
    with serving(after(answered, act)) as server:
        limits = Limits(concurrency=8)
        said, seconds = stopped(run(server, store, MANY, provider, limits=limits))
        assert "quota of the day (it asks to wait 3600 s, and `judging.patience_seconds` is 100)" in said
        assert seconds < 30  # of a busy machine
        assert len(server.log) <= answered + 2 * limits.concurrency


def test_rejections_after_good_calls_end_the_run(store: Store) -> None:
    with serving(after(20, error(400, "unsupported_parameter", "no seed here"))) as server:
        said, _ = stopped(run(server, store, MANY))
        assert "takes no call (unsupported_parameter): no seed here" in said
        assert len(server.log) <= 20 + 30 + 2 * 8


@pytest.mark.parametrize("provider", ["openai", "dashscope"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(store: Store, provider: str, status: int) -> None:
    with serving() as elsewhere, serving() as server:
        place = address(provider, elsewhere) + "/chat/completions"
        server.behave = always(Act("status", status=status, body={}, headers={"Location": place}))
        said, _ = stopped(run(server, store, 100, provider))
        assert f"(redirect): the server redirects to '{place}', which is not followed" in said
        assert len(server.log) == 3
        assert elsewhere.log == []


@pytest.mark.slow
@pytest.mark.parametrize(("in_flight", "bad"), [(8, [5, 6, 7, 8, 97, 98, 99]), (1, [5, 6, 98, 99])])
def test_requests_that_no_server_can_answer_do_not_stop_the_others(
    store: Store, in_flight: int, bad: list[int]
) -> None:
    def behave(body: dict[str, Any], _before: int) -> Act:
        poison = any(f"text {i}?" in body["messages"][0]["content"] for i in bad)
        return error(500, "InternalError") if poison else ANSWER

    with serving(behave) as server:
        # Longer than a busy machine takes between two answers.
        limits = Limits(concurrency=in_flight, retries=2, patience_seconds=4)
        work = run(server, store, 100, limits=limits)
        assert sorted(a.position for a in work if a.reply.error) == bad


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect what the progress bar says."""
    said: list[str] = []

    @contextlib.contextmanager
    def progress(_description: str, _total: int) -> Iterator[Callable[..., None]]:
        yield lambda _steps=1, /, note=None: said.append(note or "")

    monkeypatch.setattr(runner, "progress", progress)
    return said


@pytest.mark.slow
def test_the_bar_says_what_is_waited_for(store: Store, notes: list[str]) -> None:
    def behave(_body: dict[str, Any], before: int) -> Act:
        return error(429, "slow", Retry_After="2") if before == 0 else ANSWER

    with serving(behave) as server:
        assert all(a.reply.final for a in run(server, store, 3))
    assert any(note.startswith("server asks to wait 2 s; ") for note in notes)
    assert any(note.startswith("server asks to wait 1 s; ") for note in notes)
    notes.clear()
    with serving(after(5, error(503, "down"))) as server:
        stopped(run(server, store, 100, limits=Limits(patience_seconds=1.2)))
    assert any("no answer (down): next try in 1 s, giving up in" in note for note in notes)
    notes.clear()
    with serving() as server:
        list(run(server, store, 3, limits=Limits(requests_per_minute=50)))
    assert any("2 held back by the limits per minute" in note for note in notes)
