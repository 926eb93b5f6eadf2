"""The runner against a bare loop over the ``openai`` SDK; judges side by side; stored replies; memory."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai

import metaeval as me
from benchmarks.engine import clock
from benchmarks.judging import data as units
from metaeval.judging.settings import judging
from metaeval.kinds.explanations.judge.judge import Judge
from metaeval.llm.calls.caller import Caller
from metaeval.llm.calls.limits import Limits
from metaeval.llm.calls.request import Message, Reply, Request
from metaeval.llm.calls.runner import CallLoop, RequestRun
from metaeval.llm.store.replies import Store
from metaeval.llm.store.rows import put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

DELAY = 0.05
STORED = 100_000
JUDGED = 300
UNITS = 2_536  # of recexp
_WORDS_OF_RECEXP = 3
_PROMPT = "Put yourself in the place of a user of a recommendation platform. " * 30  # some 2,000 characters


@contextlib.contextmanager
def server(delay: float = DELAY) -> Iterator[str]:
    """Run the server in a process of its own; yield its address."""
    command = [sys.executable, "-m", "benchmarks.llm_server", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - for the type checker
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.terminate()


def requests(number: int, base_url: str, word: str = "text") -> Iterator[Request]:
    """Yield requests that differ in their last words."""
    first = Request("openai", "m", (), {"temperature": 0, "max_tokens": 64}, base_url)
    for i in range(number):
        yield first.asking([Message("user", f"{_PROMPT}\n{word} {i}")])


async def bare(prompts: Sequence[str], base_url: str, in_flight: int, *, aiohttp: bool) -> float:
    """Return the calls per second of a loop that does nothing but call, with one of the SDK's transports."""
    transport = openai.DefaultAioHttpClient() if aiohttp else openai.DefaultAsyncHttpxClient()
    client = openai.AsyncOpenAI(api_key="none", base_url=base_url, max_retries=0, http_client=transport)
    left = iter(prompts)

    async def work() -> None:
        for prompt in left:
            await client.chat.completions.create(
                model="m",
                messages=[{"role": "user", "content": prompt}],
                temperature=0,
                max_tokens=64,
            )

    await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "warm up"}])
    start = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(in_flight)))
    seconds = time.perf_counter() - start
    await client.close()
    return len(prompts) / seconds


def ours(number: int, base_url: str, in_flight: int, folder: Path, word: str) -> float:
    """Return the calls per second of a run with a store."""
    loop = CallLoop(Caller(limits=Limits(concurrency=in_flight)))
    with Store(folder / f"{word}.sqlite") as store:
        list(RequestRun(requests(1, base_url, "warm up"), store))
        start = time.perf_counter()
        done = sum(1 for _ in RequestRun(requests(number, base_url, word), store, loop))
        seconds = time.perf_counter() - start
    return done / seconds


def throughput(in_flight: int, number: int, target: float, rounds: int) -> dict[str, Any]:
    """Compare calls per second, best of several rounds in turn, so that a busy moment hits all alike."""
    prompts = [f"{_PROMPT}\ntext {i}" for i in range(number)]
    with tempfile.TemporaryDirectory() as folder:
        runs = (functools.partial(ours, number, folder=Path(folder), word=f"round{i}") for i in range(rounds))
        return _against_sdk("calls per second", prompts, in_flight, target, runs)


def whole_run(in_flight: int, target: float, rounds: int) -> dict[str, Any]:
    """Compare a whole run of a judge, from the data to its scores, on as many prompts as recexp has."""
    data = units(UNITS, _WORDS_OF_RECEXP)
    judge = Judge("openai/m", base_url="http://127.0.0.1:9/v1")
    prompts = [q.request.messages[0].content for q in judge.questions(data, list(data.aspects))]

    def run(base_url: str, in_flight: int, store: Path) -> float:
        with judging(store, limits=Limits(concurrency=in_flight)):
            start = time.perf_counter()
            table = me.score(data, [f"Judge('openai/m', base_url={base_url!r}, max_tokens=64)"])
            seconds = time.perf_counter() - start
        assert (table.frame["status"] == "ok").all()  # noqa: S101 - else it has measured something else
        return len(data) / seconds

    with tempfile.TemporaryDirectory() as folder:
        runs = (functools.partial(run, store=Path(folder) / f"{i}.sqlite") for i in range(rounds))
        return _against_sdk("calls per second of a whole run of a judge", prompts, in_flight, target, runs)


def _against_sdk(
    what: str, prompts: Sequence[str], in_flight: int, target: float, runs: Iterable[Callable[..., float]]
) -> dict[str, Any]:
    rates: dict[str, list[float]] = {"default": [], "aiohttp": [], "metaeval": []}
    with server() as url:
        for run in runs:
            half = prompts[: len(prompts) // 2]
            rates["default"].append(asyncio.run(bare(half, url, in_flight, aiohttp=False)))
            rates["aiohttp"].append(asyncio.run(bare(prompts, url, in_flight, aiohttp=True)))
            rates["metaeval"].append(run(base_url=url, in_flight=in_flight))
    best = {name: max(values) for name, values in rates.items()}
    ratio = best["metaeval"] / max(best["default"], best["aiohttp"])
    return {
        "benchmark": f"{what}, {len(prompts):,} calls, {in_flight} in flight, server of "
        f"{DELAY * 1000:.0f} ms, against a bare loop over the openai SDK",
        "bare_sdk_default": round(best["default"]),
        "bare_sdk_aiohttp": round(best["aiohttp"]),
        "metaeval": round(best["metaeval"]),
        "ratio": round(ratio, 2),
        "target": target,
        "held": ratio >= target,
    }


def judged(urls: Sequence[str], store: Path) -> float:
    """Return the seconds that judges take who ask at some addresses, each about the same units."""
    data = me.load("data/sample")
    texts = [f"{text} {i}" for i, text in enumerate(data.explanations["explanation"])]
    first = data.explanations.assign(explanation=texts).head(JUDGED)
    keys = first[list(data.keys)]
    data = dataclasses.replace(data, explanations=first, ratings=data.ratings.merge(keys))
    specs = [f"Judge('openai/m', reply='json', base_url={url!r})" for url in urls]
    with judging(store):
        start = time.perf_counter()
        table = me.score(data, specs, aspects=["persuasiveness", "accuracy"])
        seconds = time.perf_counter() - start
    assert (table.frame["status"] == "ok").all()  # noqa: S101 - else it has measured something else
    return seconds


def side_by_side(rounds: int = 3) -> dict[str, Any]:
    """Compare judges at two addresses with a judge at one, best of several rounds."""
    with server(0.2) as one, server(0.2) as two, tempfile.TemporaryDirectory() as folder:
        stores = (Path(folder) / f"{i}.sqlite" for i in itertools.count())
        in_turn = [[judged(urls, next(stores)) for urls in ([one], [one, two])] for _ in range(rounds)]
        alone, both = map(min, zip(*in_turn, strict=True))
    return {
        "benchmark": f"two addresses of 200 ms, {JUDGED} calls each, against one of them",
        "one_seconds": round(alone, 2),
        "both_seconds": round(both, 2),
        "ratio": round(both / alone, 2),
        "target": 1.15,
        "held": both / alone <= 1.15,
    }


def fill(store: Store, number: int, base_url: str) -> None:
    """Put replies into a store without asking anybody."""
    reply = Reply(text='{"persuasiveness": 3}', finish_reason="stop", prompt_tokens=400, raw="x" * 500)
    every = requests(number, base_url)
    store.write(lambda connection: sum(put(connection, r.key, r.fields, reply, 0.0) for r in every))


def reading() -> Iterator[dict[str, Any]]:
    """Read stored replies: from the store by key, and as a whole run that finds all there."""
    url = "http://127.0.0.1:9/v1"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        with Store(path) as store:
            fill(store, STORED, url)
            keys = [r.key for r in requests(STORED, url)]
            seconds, found = clock(lambda: store.get_many(keys), 3)
            yield _reading("replies per second, read from the store", STORED / seconds, len(found))
        code = f"from benchmarks.llm import _child; _child({str(path)!r}, {url!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        rate, count, peak = json.loads(done.stdout)
        yield _reading("replies per second, a run that finds all of them stored", rate, count)
        yield {
            "benchmark": f"memory of a process with a run of {STORED:,} requests",
            "peak_mb": peak,
            "ratio": round(peak / 1000, 2),
            "target": 1,
            "held": peak < 1000,
        }


def _child(path: str, url: str) -> None:
    """Do a run in a process of its own; print replies per second, their number and peak memory in MB."""
    with Store(path) as store:
        start = time.perf_counter()
        count = sum(1 for _ in RequestRun(requests(STORED, url), store))
        rate = STORED / (time.perf_counter() - start)
    print(json.dumps([rate, count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10]))


def _reading(name: str, rate: float, count: int) -> dict[str, Any]:
    return {
        "benchmark": f"{name}, of {STORED:,}",
        "a_second": round(rate),
        "ratio": round(rate / 20_000, 2),
        "target": 1,
        "held": rate >= 20_000 and count == STORED,
    }


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    os.environ.setdefault("OPENAI_API_KEY", "none")
    yield throughput(64, 2_000 if quick else 6_000, 0.95, rounds=3)
    yield throughput(256, 6_000 if quick else 20_000, 2.0, rounds=2)
    for in_flight in (64, 256):
        yield whole_run(in_flight, 0.9, rounds=2 if quick else 3)
    yield side_by_side()
    yield from reading()
