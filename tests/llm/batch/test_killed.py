"""Clients and servers that die at each step and by chance: no reply is lost, and none paid twice."""

from __future__ import annotations

import multiprocessing
import random
import time
from pathlib import Path

import pytest

from metaeval.base.errors import StoppedError
from metaeval.llm.batch import endpoint
from metaeval.llm.calls.client import CallError
from metaeval.llm.store.replies import Store
from tests.llm.batch import asking
from tests.llm.batch.asking import HIDES, of_both, replies, round_of
from tests.llm.batch.server import BatchServer, DiedError

pytestmark = pytest.mark.slow

CHANGES = [f"{step} {when}" for step in ("upload", "create", "content") for when in ("before", "after")]
BY_CHANCE = 4  # further deaths
NUMBER = 40  # requests to each of two providers
ROUNDS = 60


class Fate:
    """Says when somebody dies: once at each step that changes something, and at others by chance."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)  # noqa: S311 - no secret
        self.moments: list[str] = []
        self.by_chance = 0

    def __call__(self, step: str) -> bool:
        """Say whether somebody dies at a step."""
        first = step in CHANGES and step not in self.moments
        dies = first or (self.by_chance < BY_CHANCE and self._draw.random() < 0.15)
        self.by_chance += dies and not first
        self.moments += [step] * dies
        return dies


def _expired(before: int) -> str:
    return "expired" if before < 6 else "completed"


def _all_there(store: Store, port: int) -> bool:
    """Say whether no reply is lost; what a batch lost when it expired is asked for by the next run."""
    return all(answer.reply.error is None for answer in replies(store, of_both(port, NUMBER)))


def _check(store: Store, server: BatchServer, fate: Fate) -> None:
    assert set(CHANGES) <= set(fate.moments)
    assert fate.by_chance == BY_CHANCE
    wanted = of_both(server.port, NUMBER)
    found = {answer.reply.text or str(answer.reply.error) for answer in replies(store, wanted)}
    assert found == {"Summary: 3"}
    assert server.paid() == dict.fromkeys((request.key for request in wanted), 1)
    used = {batch["input_file_id"] for batch in server.made()}
    assert {file["id"] for file in server.uploads()} == used  # others were deleted


def test_a_client_that_is_killed(tmp_path: Path, place: str) -> None:
    fate = Fate(seed=2)
    # Its children start fast, and are killed as any other process is.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([asking.__name__])
    client = context.Process()

    def at(step: str) -> None:
        victim = client  # the next one starts as soon as this one is dead
        if victim.is_alive() and fate(step):
            victim.kill()
            while victim.is_alive():
                time.sleep(0.001)

    with BatchServer(tmp_path / "server", fate=_expired, looks=1, at=at) as server:
        server.hides = HIDES
        for _ in range(ROUNDS):
            client = context.Process(target=asking.main, args=(place, server.port, NUMBER))
            client.start()
            client.join(60)
            with Store(place) as store:
                if client.exitcode == 0 and _all_there(store, server.port):
                    break
        with Store(place) as store:
            _check(store, server, fate)


@pytest.mark.parametrize("seed", [2, 3])
def test_a_server_that_dies(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(endpoint, "_TRIES", 0)
    fate = Fate(seed)

    def at(step: str) -> None:
        if step == "dead" or fate(step):
            raise DiedError

    port, left = 0, True
    for _ in range(ROUNDS):
        with BatchServer(tmp_path / "server", fate=_expired, looks=1, at=at, port=port) as server:
            port = server.port
            try:
                while left:
                    to_come = round_of(store, of_both(port, NUMBER)).to_come
                    left = bool(to_come) or not _all_there(store, port)
            except (CallError, StoppedError):
                assert server.dead
        if not left:
            break
    _check(store, server, fate)
