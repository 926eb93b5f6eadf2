"""What the tests of clients, runner and store share; run as a script, it does a run in a process of its own.

``python -m tests.llm.asking STORE ADDRESS NUMBER`` asks and prints how many answers there were.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from metaeval.llm.calls.caller import Caller
from metaeval.llm.calls.limits import Limits
from metaeval.llm.calls.request import Message, Request
from metaeval.llm.calls.runner import CallLoop, RequestRun
from metaeval.llm.store.replies import Store
from tests.llm.server import Server

KEY = "sk-never-to-be-seen-4711"
FAST = Limits(concurrency=8, reply_seconds=10.0, retries=3)


def address(provider: str, server: Server) -> str:
    return server.dashscope if provider == "dashscope" else server.openai


def requests(number: int, base_url: str, provider: str = "openai", **more: Any) -> Iterator[Request]:
    first = Request(provider, "m", (), {"temperature": 0, "max_tokens": 20}, base_url=base_url, **more)
    for i in range(number):
        yield first.asking([Message("user", f"How is text {i}?")])


async def no_sleep(_seconds: float) -> None:
    """Wait not at all."""


class FakeTime:
    """Time that passes while somebody sleeps, and at no other time."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


def running(
    wanted: Iterable[Request], store: Store, *, loop: CallLoop | None = None, **options: Any
) -> RequestRun:
    """Return a run; options of its caller make a loop of its own, unless there is one."""
    names = inspect.signature(Caller).parameters
    of_caller = {name: options.pop(name) for name in list(options) if name in names}
    return RequestRun(wanted, store, loop or CallLoop(Caller(**of_caller)), **options)


def run(
    server: Server, store: Store, number: int = 5, provider: str = "openai", **options: Any
) -> RequestRun:
    options = {"limits": FAST, "draw": lambda: 0.05, **options}
    return running(requests(number, address(provider, server), provider), store, **options)


if __name__ == "__main__":
    with Store(sys.argv[1]) as opened:
        wanted = requests(int(sys.argv[3]), sys.argv[2])
        sys.stdout.write(f"{len(list(running(wanted, opened, limits=Limits(concurrency=8))))}\n")
