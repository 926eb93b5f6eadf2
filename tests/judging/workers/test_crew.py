"""Workers that share a budget, and workers that die."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metaeval.base.errors import StoppedError
from metaeval.base.progress import Advance
from metaeval.judging.asking import Shards
from metaeval.judging.settings import JudgingOptions
from metaeval.llm.calls.price import Prices
from metaeval.llm.calls.request import Reply
from metaeval.llm.store.replies import Store
from tests.judging.workers.conftest import kill
from tests.llm.asking import requests
from tests.llm.server import HANG, Server, always

pytestmark = pytest.mark.slow

pytest.importorskip("ray", reason="no Ray: install metaeval[ray]")
PRICE = {"openai/m": {"input": 2, "output": 8}}


def ask(server: Server, store: Path, number: int, workers: int, **options: object) -> None:
    from metaeval.judging.crew import Crew

    given = JudgingOptions(store=str(store), study_id="one", prices=PRICE, **options)
    with Shards(4) as shards, Crew(given, {}, workers) as crew:
        for request in requests(number, server.openai):
            shards.add(request)
        crew.ask(iter(shards), len(shards.keys))


def stored(server: Server, store: Path, number: int) -> dict[str, str]:
    """Return text → key of the requests whose replies are there."""
    with Store(store) as opened:
        found = opened.get_many(r.key for r in requests(number, server.openai))
    return {r.messages[0].content: r.key for r in requests(number, server.openai) if r.key in found}


@pytest.mark.usefixtures("ray_cluster")
def test_one_display_shows_what_all_workers_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[int, str | None]] = []

    @contextlib.contextmanager
    def progress(what: str, total: int) -> Iterator[Advance]:
        assert (what, total) == ("asking by 2 workers", 100)
        yield lambda steps=1, /, note=None: shown.append((steps, note))

    monkeypatch.setattr("metaeval.judging.crew.progress", progress)
    with Server(delay=0.1) as server:
        ask(server, tmp_path / "s.sqlite", 100, 2, concurrency=4)
    assert sum(steps for steps, _ in shown) == 100
    assert sum(steps > 0 for steps, _ in shown) > 4, "it moves while shards are under way"
    assert any("to start" in (note or "") for _, note in shown)
    assert re.fullmatch(r"0 failed, 0 from store, [\d.]+ calls/s, 0.03 USD", shown[-1][1] or "")


@pytest.mark.usefixtures("ray_cluster")
def test_four_workers_keep_to_one_budget(tmp_path: Path) -> None:
    store, number = tmp_path / "s.sqlite", 400
    price = Prices(PRICE)
    (first,) = requests(1, "http://127.0.0.1:9/v1")
    of_call = price.cost(first, Reply(text="x", prompt_tokens=100, completion_tokens=10))
    assert of_call is not None
    with Server() as server:
        with pytest.raises(StoppedError, match=r"the budget of 0\.0504 USD is used up"):
            ask(server, store, number, 4, max_usd=180 * of_call, concurrency=8)
        assert 170 <= len(server.log) < 180 + 4
        with pytest.raises(StoppedError, match="the budget of 150 calls is used up"):
            ask(server, store, number, 2, max_calls=150, concurrency=8)
        assert 170 + 145 <= len(server.log) <= 180 + 150
        assert len(stored(server, store, number)) == len(server.log)


def test_what_a_dead_worker_had_is_asked_by_others(
    tmp_path: Path, ray_cluster: Callable[[], list[int]]
) -> None:
    store, number = tmp_path / "s.sqlite", 200
    with Server(delay=0.05) as server:

        def kill_two() -> None:
            for enough in (40, 100):
                while len(server.log) < enough:
                    time.sleep(0.01)
                kill(ray_cluster()[0])

        killer = threading.Thread(target=kill_two)
        killer.start()
        ask(server, store, number, 2, concurrency=4)
        killer.join()
        assert len(stored(server, store, number)) == number
        # Asked twice are those alone that were in flight at a kill.
        twice = [body for body, n in Counter(str(seen.body) for seen in server.log).items() if n > 1]
        assert 1 <= len(server.log) - number <= 2 * 4
        assert len(twice) <= 2 * 4


def test_a_shard_that_kills_every_worker_ends_the_run(
    tmp_path: Path, ray_cluster: Callable[[], list[int]]
) -> None:
    with Server(always(HANG)) as server:
        over = threading.Event()

        def kill_all() -> None:
            asked = 0
            while not over.is_set():
                if len(server.log) > asked:
                    asked = len(server.log)
                    for process in ray_cluster():
                        kill(process)
                time.sleep(0.05)

        killer = threading.Thread(target=kill_all)
        killer.start()
        try:
            with pytest.raises(StoppedError, match="3 workers died while they asked the same 1 question"):
                ask(server, tmp_path / "s.sqlite", 1, 1)
        finally:
            over.set()
            killer.join()
        assert len(server.log) == 3
