"""Many processes on one store, and what becomes of their questions when they are killed.

``python -m tests.llm.store.many sqlite|postgresql [PROCESSES NUMBER KILLS SEED]`` takes minutes: ten
processes ask 20,000 questions; twenty workers, the driver and the database are killed meanwhile. It prints
what was seen; exit code 1: a reply was lost, or a question asked twice that was not in flight at a kill.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from metaeval.llm.calls.limits import Limits
from metaeval.llm.store.replies import Store
from tests.llm.asking import requests, running
from tests.llm.postgres import Postgres
from tests.llm.server import Server

DELAY = 0.1
IN_FLIGHT = 8
_SLACK = 2.0  # seconds from the answer until it is committed, on a machine that is busy


@dataclass
class Outcome:
    """What was seen."""

    answered: int
    calls: int
    twice: int
    """Questions that were asked more than once."""
    unexplained: list[str]
    """Those among them that were not in flight at a kill."""
    again: list[str]
    """Questions that were asked although their reply was stored."""
    kills: int


def work(place: str, url: str, part: int, of: int, number: int) -> None:
    """Ask all questions, those of one part first."""
    os.environ["OPENAI_API_KEY"] = f"worker-{os.getpid()}"
    wanted = list(requests(number, url))
    start = part * number // of
    with Store(place) as store:
        run = running(wanted[start:] + wanted[:start], store, limits=Limits(concurrency=IN_FLIGHT))
        assert sum(answer.reply.error is None for answer in run) == number


def drive(place: str, url: str, processes: int, number: int) -> None:
    """Start workers, and start each again until it has ended well."""
    command = [sys.executable, "-m", __spec__.name, "work", place, url]
    started = [[*command, str(part), str(processes), str(number)] for part in range(processes)]
    running = {part: subprocess.Popen(one) for part, one in enumerate(started)}
    while running:
        time.sleep(0.05)
        for part, process in [*running.items()]:
            if process.poll() == 0:
                del running[part]
            elif process.poll() is not None:
                running[part] = subprocess.Popen(started[part])


class Watching(Server):
    """A server that knows who asked what, and when, and takes so many questions and no more for now."""

    def __init__(self) -> None:
        super().__init__(delay=DELAY)
        self.asked: dict[str, list[tuple[float, int]]] = defaultdict(list)
        self.most = 0

    async def _handle(self, request: Any) -> Any:
        text = (await request.json())["messages"][0]["content"]
        while text not in self.asked and len(self.asked) >= self.most:
            await asyncio.sleep(0.02)
        self.asked[text].append((time.monotonic(), int(request.headers["Authorization"].split("-")[-1])))
        return await super()._handle(request)

    def living(self) -> list[int]:
        """Return who has asked and lives."""
        asked = {pid for times in [*self.asked.values()] for _, pid in [*times]}
        return [pid for pid in sorted(asked) if lives(pid)]


def lives(pid: int) -> bool:
    """Say whether a process is there, and has not ended."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


def stored(place: str, url: str, number: int) -> set[str]:
    """Return the questions whose replies are stored."""
    wanted = list(requests(number, url))
    with Store(place) as store:
        found = store.get_many(request.key for request in wanted)
    return {request.messages[0].content for request in wanted if request.key in found}


def ordeal(
    server: Watching,
    place: str,
    postgres: Postgres | None,
    *,
    processes: int,
    number: int,
    kills: int,
    seed: int = 17,
) -> Outcome:
    """Have questions asked, and kill workers, the driver once, and the database once if there is one."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    url = server.openai
    command = [sys.executable, "-m", __spec__.name, "drive", place, url, str(processes), str(number)]
    fates = [*["worker"] * kills, "driver", *(["database"] if postgres else [])]
    rng.shuffle(fates)
    died: dict[int, float] = {}
    down: list[tuple[float, float]] = []
    kept: dict[str, int] = {}  # question that is stored → how often it was asked until then
    driver = subprocess.Popen(command)
    for n, fate in enumerate(fates, 1):
        server.most = number * n // (len(fates) + 1)
        while len(server.asked) < server.most:
            assert driver.poll() is None
            time.sleep(0.02)
        for text in stored(place, url, number):
            kept.setdefault(text, len(server.asked[text]))
        if fate == "worker":
            victim = rng.choice(server.living())
            os.kill(victim, signal.SIGKILL)
            died[victim] = time.monotonic()
        elif fate == "driver":
            driver.kill()
            driver.wait()
            driver = subprocess.Popen(command)  # the workers of the first go on beside those of the second
        elif postgres is not None:
            start = time.monotonic()
            postgres.kill()
            postgres.start()
            down.append((start, time.monotonic()))
    server.most = number
    assert driver.wait() == 0
    twice = {text: times for text, times in server.asked.items() if len(times) > 1}
    latest = DELAY + _SLACK

    def explained(asked: tuple[float, int]) -> bool:
        when, pid = asked
        killed = pid in died and died[pid] - when < latest
        return killed or any(start - latest < when < end + latest for start, end in down)

    return Outcome(
        answered=len(stored(place, url, number)),
        calls=sum(map(len, server.asked.values())),
        twice=len(twice),
        unexplained=[
            f"{text}: {times}, killed {died}, database {down}"
            for text, times in twice.items()
            if not all(map(explained, times[:-1]))
        ],
        again=[text for text, times in kept.items() if len(server.asked[text]) != times],
        kills=len(died),
    )


def full(kind: str, processes: int = 10, number: int = 20_000, kills: int = 20, seed: int = 17) -> bool:
    """Do it on a new store, and say what was seen; true if all of it held."""
    from tests.llm.postgres import Postgres, programs

    with contextlib.ExitStack() as stack:
        postgres, place = None, Path(stack.enter_context(tempfile.TemporaryDirectory())) / "replies.sqlite"
        if kind == "postgresql":
            found = programs()
            assert found is not None, "there is no PostgreSQL: apt-get install postgresql"
            postgres = stack.enter_context(Postgres(found))
        at = postgres.new() if postgres else str(place)
        server = stack.enter_context(Watching())
        start = time.monotonic()
        seen = ordeal(server, at, postgres, processes=processes, number=number, kills=kills, seed=seed)
    took = round(time.monotonic() - start)
    sys.stdout.write(json.dumps({"store": kind, "seconds": took, **asdict(seen)}, indent=1) + "\n")
    return seen.answered == number and not seen.again and not seen.unexplained


if __name__ == "__main__":
    what, *given = sys.argv[1:]
    if what in {"work", "drive"}:
        place_, url_, *numbers = given
        {"work": work, "drive": drive}[what](place_, url_, *map(int, numbers))
    else:
        sys.exit(not full(what, *map(int, given)))
