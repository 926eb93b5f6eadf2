"""Runs that are killed, interrupted or not alone: every reply is paid for once, and none is lost."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from metaeval.llm.store import tools as store_tools
from metaeval.llm.store.replies import Store
from tests.llm.asking import requests, run
from tests.llm.server import Server, serving

if TYPE_CHECKING:
    from pathlib import Path

NUMBER = 150


def start(path: str, server: Server) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.llm.asking", path, server.openai, str(NUMBER)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_calls(server: Server, number: int) -> None:
    until = time.monotonic() + 20
    while len(server.log) < number and time.monotonic() < until:
        time.sleep(0.005)


def stored(path: str, server: Server) -> set[str]:
    """Return the texts whose replies are on file."""
    with Store(path) as store:
        found = store.get_many(r.key for r in requests(NUMBER, server.openai))
        return {r.messages[0].content for r in requests(NUMBER, server.openai) if r.key in found}


def test_a_killed_run_goes_on_where_it_was(place: str, tmp_path: Path) -> None:
    rng = random.Random(4)  # noqa: S311 - no secret
    with serving(delay=0.02) as server:
        for _ in range(3):
            before, asked = stored(place, server), len(server.log)
            process = start(place, server)
            wait_for_calls(server, asked + rng.randint(5, 30))
            process.kill()
            process.communicate()
            # What was on file when it started was not asked for again.
            assert not before & {seen.body["messages"][0]["content"] for seen in server.log[asked:]}
        before, asked = stored(place, server), len(server.log)
        assert 0 < len(before) < NUMBER
        out, error = start(place, server).communicate()
        assert (out, error) == (f"{NUMBER}\n", "")
        last = Counter(seen.body["messages"][0]["content"] for seen in server.log[asked:])
        assert set(last) == {r.messages[0].content for r in requests(NUMBER, server.openai)} - before
        assert set(last.values()) == {1}
        # A kill loses no more than what was in flight at that moment.
        assert len(server.log) <= NUMBER + 3 * 8
    assert len(stored(place, server)) == NUMBER
    with Store(place) as store:
        assert store_tools.problems(store) == []
    assert not list(tmp_path.rglob("*.lock"))


def test_ctrl_c_ends_soon_with_all_that_was_answered(place: str) -> None:
    with serving(delay=0.05) as server:
        process = start(place, server)
        wait_for_calls(server, 40)
        server.delay = 30.0  # those that are under way now would take long
        time.sleep(0.2)
        answered = len(server.log) - server.in_flight
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, error = process.communicate()
        assert time.monotonic() - started < 2
        assert process.returncode != 0
        assert "KeyboardInterrupt" in error
        assert "Task was destroyed" not in error
        assert len(stored(place, server)) == answered
    with Store(place) as store:
        assert store_tools.problems(store) == []


def test_several_processes_pay_once_together(place: str) -> None:
    with serving(delay=0.02) as server:
        running = [start(place, server) for _ in range(3)]
        assert [p.communicate()[0] for p in running] == [f"{NUMBER}\n"] * 3
        assert len(server.log) == NUMBER


def test_a_run_without_end_is_left_by_ctrl_c_in_the_same_process(tmp_path: Path) -> None:
    # As in a notebook: the store stays open, and the next run takes up what the first one had claimed.
    with serving(delay=0.05) as server, Store(tmp_path / "s.sqlite") as store:
        answers = iter(run(server, store, 100))
        next(answers)
        with pytest.raises(KeyboardInterrupt):
            answers.throw(KeyboardInterrupt)
        again = run(server, store, 100)
        assert len(list(again)) == 100
        assert again.tally.from_store > 0


ABANDONED = """
import sys
from metaeval.llm.calls.request import Message, Request
from metaeval.llm.calls.runner import RequestRun
from metaeval.llm.store.replies import Store
asked = (Request("simulated", "m", (Message("user", str(i)),)) for i in range(20_000))
answers = iter(RequestRun(asked, Store(sys.argv[1])))
next(answers)
"""


def test_a_program_that_leaves_a_run_unfinished_ends(tmp_path: Path) -> None:
    # The run is far ahead of whoever took its first answer, and waits for that one, who never comes again.
    command = [sys.executable, "-c", ABANDONED, str(tmp_path / "s.sqlite")]
    assert subprocess.run(command, timeout=60, check=True, capture_output=True).stderr == b""
