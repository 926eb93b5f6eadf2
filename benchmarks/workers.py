"""Four workers against one, each with 64 places at a server of 200 ms; beside them what the server can do."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp

from benchmarks.llm import requests, server
from metaeval.judging.asking import Shards
from metaeval.judging.settings import JudgingOptions
from metaeval.llm.providers.openai import OpenAIClient

if TYPE_CHECKING:
    from collections.abc import Iterator

DELAY, PLACES, WORKERS = 0.2, 64, 4


def asked(workers: int, number: int, base_url: str, store: Path) -> float:
    """Return the calls per second of some workers, without the time that they take to start."""
    from metaeval.judging.crew import Crew

    options = JudgingOptions(store=str(store), study_id=f"of {workers}", concurrency=PLACES)
    with Crew(options, {}, workers) as crew:
        for count, word in ((workers * PLACES, "warm up"), (number, "text")):
            with Shards(PLACES // 2) as shards:
                for request in requests(count, base_url, f"{word} of {workers}"):
                    shards.add(request)
                start = time.perf_counter()
                crew.ask(iter(shards), len(shards.keys))
                seconds = time.perf_counter() - start
    return number / seconds


async def bare(in_flight: int, number: int, base_url: str) -> float:
    """Return the calls per second of a loop that does nothing but send and receive."""
    bodies = [{"model": "m", **OpenAIClient.body(r)} for r in requests(number, base_url)]
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def work() -> None:
            while bodies:
                async with session.post(f"{base_url}/chat/completions", json=bodies.pop()) as response:
                    await response.read()

        start = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(in_flight)))
        return number / (time.perf_counter() - start)


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the one result."""
    from metaeval.judging.cluster import cluster

    os.environ.setdefault("OPENAI_API_KEY", "none")
    seconds = 5 if quick else 20
    with tempfile.TemporaryDirectory() as folder, server(DELAY) as url:
        one_at_best = int(PLACES / DELAY)
        limit = asyncio.run(bare(WORKERS * PLACES, WORKERS * one_at_best * seconds, url))
        with cluster(None, JudgingOptions()):
            one, four = (
                asked(n, n * one_at_best * seconds, url, Path(folder, f"{n}.sqlite")) for n in (1, WORKERS)
            )
    yield {
        "benchmark": f"calls per second, {WORKERS} workers against one, {PLACES} places each, server of "
        f"{DELAY * 1000:.0f} ms",
        "one": round(one),
        "several": round(four),
        "at_best": WORKERS * one_at_best,
        "bare_aiohttp": round(limit),
        "ratio": round(four / one, 2),
        "target": 3.5,
        "held": four / one >= 3.5,
    }
