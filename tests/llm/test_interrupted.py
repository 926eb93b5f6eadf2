"""Runs that are killed, interrupted or not alone: every reply is paid for once, and none is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metaeval.llm.store import tools as store_tools
from metaeval.llm.store.replies import Store
from tests.llm.asking import requests, run
from tests.llm.server import Server, serving

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
        assert time.monotonic() - started < 15  # less than the calls would take
        assert process.returncode != 0
        assert "KeyboardInterrupt" in error
        assert "Task was destroyed" not in error
        assert len(stored(place, server)) == answered
    with Store(place) as store:
        assert store_tools.problems(store) == []


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
from tests.llm.asking import running
from metaeval.llm.store.replies import Store
asked = (Request("simulated", "m", (Message("user", str(i)),)) for i in range(20_000))
answers = iter(running(asked, Store(sys.argv[1])))
next(answers)
"""


def test_a_program_that_leaves_a_run_unfinished_ends(tmp_path: Path) -> None:
    # The run is far ahead of whoever took its first answer, and waits for that one, who never comes again.
    command = [sys.executable, "-c", ABANDONED, str(tmp_path / "s.sqlite")]
    assert subprocess.run(command, timeout=60, check=True, capture_output=True).stderr == b""
