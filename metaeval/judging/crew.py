"""Workers as actors of Ray: it restarts one that dies, and has it asked the same again."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import ray
from ray.exceptions import RayError, RayTaskError

from metaeval.base import __version__
from metaeval.base.counts import counted
from metaeval.base.errors import KEPT, MetaevalError, StoppedError
from metaeval.base.parallel import within
from metaeval.base.progress import progress
from metaeval.judging.settings import Judging, JudgingOptions, judging_of
from metaeval.llm.calls.address import Where
from metaeval.llm.calls.caller import Tally
from metaeval.llm.calls.limits import Limits
from metaeval.llm.calls.request import Request
from metaeval.llm.calls.runner import RequestRun

Shard: TypeAlias = tuple[str, list[Request]]
"""Requests, and the one addressee of them all."""

_SHARDS = 4  # that a worker has at once
_DEATHS = 3  # of the workers that ask the same
_LOOK_AGAIN = 0.25  # seconds
_GRACE = 4.0  # seconds for calls under way when a worker cannot go on
_END = 10.0  # seconds for workers to close the store, and for Ray to say what it has

_log = logging.getLogger("metaeval")


class ShardOutcome(NamedTuple):
    """What came of asking some requests."""

    tally: Tally
    empty: str
    """Which part of the budget is used up, as a sentence; empty if none is."""
    stopped: str
    """Why their model takes no more calls; empty if it does."""
    warnings: Sequence[str]
    """All that the worker has logged so far."""


class Worker:
    """An ordinary process, with a store and connections of its own; arguments are those of `Crew`."""

    def __init__(self, options: JudgingOptions, at: Mapping[Where, Limits], version: str) -> None:
        self._options, self._at, self._version = options, at, version
        self._open = contextlib.ExitStack()
        self._opening = threading.Lock()
        self._settings: Judging | None = None
        self._warnings = _Warnings()
        _log.addHandler(self._warnings)

    def ask(self, requests: Sequence[Request]) -> ShardOutcome:
        """Have the store hold a reply to each request, or why there is none."""
        settings = self._opened()
        run = RequestRun(requests, settings.store, settings.loop)
        empty = stopped = ""
        try:
            for answer in run:
                error = answer.reply.error
                if error is not None and error.kind == "budget":
                    empty = error.message
        except StoppedError as error:
            stopped = str(error)
        return ShardOutcome(run.tally, empty, stopped, self._warnings.messages)

    def end(self) -> None:
        """Close the store."""
        self._open.close()

    def _opened(self) -> Judging:
        with self._opening:
            if self._version != __version__:
                raise MetaevalError(
                    f"{socket.gethostname()} has metaeval {__version__}, and the run has "
                    f"{self._version}; install the same version everywhere"
                )
            if self._settings is None:
                self._settings = self._open.enter_context(judging_of(self._options))
                self._settings.at.update(self._at)
            return self._settings


class _Warnings(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


class Crew:
    """The workers of a run.

    Parameters
    ----------
    options
        How judges are asked, with the store as it may be written down and the name of the study.
    at
        The limits of addresses that have their own.
    number
        How many; None for one per CPU.
    """

    def __init__(self, options: JudgingOptions, at: Mapping[Where, Limits], number: int | None) -> None:
        resources = ray.cluster_resources()
        here = int(resources.get("CPU", 1))
        # Next to nothing of a CPU, so that a head that has none is left alone, where others have some.
        actor: Any = ray.remote(
            num_cpus=min(0.001, resources.get("CPU", 0.0)),
            scheduling_strategy="SPREAD",
            max_concurrency=_SHARDS,
            max_restarts=-1,
            max_task_retries=_DEATHS - 1,
        )(Worker)
        self._workers = [actor.remote(options, at, __version__) for _ in range(number or max(here, 1))]
        self._free = deque(self._workers * _SHARDS)
        self._under_way: dict[Any, tuple[Any, Shard]] = {}
        """Reference of an outcome → its worker, and what that asks."""
        self._started = self._moved = time.monotonic()
        self._tally, self._waiting = Tally(), f"{counted(len(self._workers), 'worker')} to start"
        self._warnings: set[str] = set()
        self._stopped: dict[str, str] = {}
        self._empty = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        def end() -> None:
            if kind is None or issubclass(kind, MetaevalError):
                ray.wait(
                    [w.end.remote() for w in self._workers], num_returns=len(self._workers), timeout=_END
                )
            for worker in self._workers:
                ray.kill(worker)

        with contextlib.suppress(TimeoutError, RayError):  # where the cluster is gone, Ray waits for ever
            within(0.5 if kind is KeyboardInterrupt else 2 * _END, end)

    def ask(self, shards: Iterator[Shard], total: int) -> Mapping[str, str]:
        """Have the store hold a reply to all requests, or why there is none.

        Parameters
        ----------
        shards
            Requests, with whom they ask.
        total
            Their number, for the progress bar.

        Returns
        -------
        dict
            Who takes no more calls → why.

        Raises
        ------
        StoppedError, MetaevalError
            If the budget is used up, or the workers cannot go on.
        """
        self._moved = time.monotonic()
        with progress(f"asking by {counted(len(self._workers), 'worker')}", total) as advance:

            def settle() -> None:
                done = self._settle()
                advance(done, note=self._tally.note(time.monotonic() - self._started, self._waiting))

            for addressee, requests in shards:
                while not self._free:
                    settle()
                if not (self._empty or addressee in self._stopped):
                    worker = self._free.popleft()
                    self._under_way[worker.ask.remote(requests)] = worker, (addressee, requests)
            while self._under_way:
                settle()
        if self._empty:
            raise StoppedError(f"{self._empty} and remaining calls were not made")
        return self._stopped

    def _settle(self) -> int:
        """Wait a moment for what is under way, and return how many requests are done."""
        done = 0
        # What a worker returns is small. To fetch it first would wait for a machine that is gone.
        for reference in ray.wait([*self._under_way], timeout=_LOOK_AGAIN, fetch_local=False)[0]:
            worker, (addressee, requests) = self._under_way.pop(reference)
            try:
                outcome: ShardOutcome = ray.get(reference, timeout=_END)
            except RayTaskError as error:
                self._wait_for_calls()
                raise (error.cause if isinstance(error.cause, MetaevalError) else error) from None
            except RayError as error:
                self._wait_for_calls()
                what = (
                    f"{_DEATHS} workers died while they asked the same {counted(len(requests), 'question')}"
                )
                raise StoppedError(f"{what}: {str(error).strip().splitlines()[-1][:300]}{KEPT}") from None
            self._free.append(worker)
            self._moved, self._waiting = time.monotonic(), ""
            self._take(outcome, addressee)
            done += len(requests)
        if time.monotonic() - self._moved > _END:
            self._check_cluster()
        return done

    def _check_cluster(self) -> None:
        """Raise `StoppedError` if no machine is left; Ray itself would wait for one."""
        self._moved = time.monotonic()
        with contextlib.suppress(TimeoutError, RayError):
            if any(node["Alive"] for node in within(_END, ray.nodes)):
                return
        raise StoppedError(f"all workers died: no machine of the cluster answers{KEPT}")

    def _take(self, outcome: ShardOutcome, addressee: str) -> None:
        for name in ("failed", "from_store", "calls", "usd", "unpriced"):
            setattr(self._tally, name, getattr(self._tally, name) + getattr(outcome.tally, name))
        self._empty = self._empty or outcome.empty
        if outcome.stopped:
            self._stopped.setdefault(addressee, outcome.stopped)
        for warning in outcome.warnings:
            if warning not in self._warnings:
                self._warnings.add(warning)
                _log.warning("%s", warning)

    def _wait_for_calls(self) -> None:
        """Give calls under way a moment to end, since they are paid for."""
        if calls := [*self._under_way]:
            ray.wait(calls, num_returns=len(calls), timeout=_GRACE, fetch_local=False)
