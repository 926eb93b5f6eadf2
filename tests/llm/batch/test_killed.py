"""Clients and servers that die at ten moments, drawn at random: no reply is lost, and none paid twice."""

from __future__ import annotations

import multiprocessing
import random
import time
from typing import TYPE_CHECKING

import pytest

from metaeval.base.errors import StoppedError
from metaeval.llm.batch import endpoint
from metaeval.llm.calls.client import CallError
from metaeval.llm.store.replies import Store
from tests.llm.batch import asking
from tests.llm.batch.asking import of_both, replies, round_of
from tests.llm.batch.server import BatchServer, DiedError

if TYPE_CHECKING:
    from pathlib import Path

DEATHS = 10
NUMBER = 40  # requests to each of two providers
ROUNDS = 60


class Fate:
    """Says when somebody dies: most often at a step that changes something, if nobody has died there."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)  # noqa: S311 - no secret
        self.moments: list[str] = []

    def __call__(self, step: str) -> bool:
        """Say whether somebody dies at a step."""
        often = 0.4 if step.startswith(("upload", "create", "content")) and step not in self.moments else 0.05
        dies = len(self.moments) < DEATHS and self._draw.random() < often
        self.moments += [step] * dies
        return dies


def _expired(before: int) -> str:
    return "expired" if before < 6 else "completed"


def _check(store: Store, server: BatchServer, fate: Fate) -> None:
    assert len(fate.moments) == DEATHS
    assert {"upload after", "create before", "create after"} <= set(fate.moments)
    wanted = of_both(server.port, NUMBER)
    assert {answer.reply.text for answer in replies(store, wanted)} == {"Summary: 3"}
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
        for _ in range(ROUNDS):
            client = context.Process(target=asking.main, args=(place, server.port, NUMBER))
            client.start()
            client.join(60)
            if client.exitcode == 0:
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
                    left = bool(round_of(store, of_both(port, NUMBER)).to_come)
            except (CallError, StoppedError):
                assert server.dead
        if not left:
            break
    _check(store, server, fate)
