"""Workers as actors of Ray: it restarts one that dies, which then asks the same again."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import ray
from ray.exceptions import ActorDiedError, RayError, RayTaskError

import metaeval
from metaeval.base.counts import counted
from metaeval.base.errors import KEPT, MetaevalError, StoppedError
from metaeval.base.parallel import within
from metaeval.base.progress import progress
from metaeval.judging.settings import Judging, JudgingOptions, judging_of
from metaeval.llm.calls.address import Where
from metaeval.llm.calls.limits import Limits
from metaeval.llm.calls.request import Request
from metaeval.llm.calls.runner import RequestRun
from metaeval.llm.calls.tally import Tally, summed

if TYPE_CHECKING:
    from metaeval.judging.workers.asking import Shard

SHARDS = 4  # that a worker has at once
_DEATHS = 3  # of the workers that ask the same
_BEAT = 0.25  # seconds between two signs of life
_GRACE = 4.0  # seconds for calls under way when a worker cannot go on
_END = 10.0  # seconds for workers to close the store, and for Ray to give what it has
_SILENT = 45.0  # seconds without a sign of life, after which a worker is restarted
_ALL_SILENT = {False: 75.0, True: 600.0}  # of all of them, by whether they wait for GPUs

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
        self._runs: set[RequestRun] = set()
        self._warnings = _Warnings()
        logging.getLogger("metaeval").addHandler(self._warnings)

    def beat(self) -> str:
        """Return after a moment, with what is waited for, in a few words."""
        time.sleep(_BEAT)
        return next(filter(None, (run.waiting() for run in self._runs.copy())), "")

    def ask(self, requests: Sequence[Request]) -> ShardOutcome:
        """Have the store hold a reply to each request, or why there is none."""
        settings = self._opened()
        run = RequestRun(requests, settings.store, settings.loop)
        self._runs.add(run)
        empty = stopped = ""
        try:
            for answer in run:
                error = answer.reply.error
                if error is not None and error.kind == "budget":
                    empty = error.message
        except StoppedError as error:
            stopped = str(error)
        finally:
            self._runs.remove(run)
        return ShardOutcome(run.tally, empty, stopped, self._warnings.messages)

    def end(self) -> None:
        """Close the store."""
        self._open.close()

    def _opened(self) -> Judging:
        with self._opening:
            if self._version != metaeval.__version__:
                raise MetaevalError(
                    f"{socket.gethostname()} has metaeval {metaeval.__version__}, and the run has "
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
        How many; None for one per CPU, or as many as have GPUs.
    gpus
        How many GPUs a worker needs.
    """

    def __init__(
        self, options: JudgingOptions, at: Mapping[Where, Limits], number: int | None, gpus: int
    ) -> None:
        resources = ray.cluster_resources()
        here = int(resources.get("GPU", 0)) // gpus if gpus else int(resources.get("CPU", 1))
        if gpus and not here:
            raise MetaevalError(
                f"a judge's model runs in the workers and needs {counted(gpus, 'GPU')}, which no worker has; "
                f"name a cluster with GPUs, or a model that a server answers"
            )
        # Next to nothing of a CPU, so that a head that has none is left alone, where others have some.
        actor: Any = ray.remote(
            num_cpus=min(0.001, resources.get("CPU", 0.0)),
            num_gpus=gpus,
            scheduling_strategy="SPREAD",
            max_concurrency=SHARDS + 2,
            max_restarts=-1,
        )(Worker)
        given = (options, at, metaeval.__version__)
        self._workers = [actor.remote(*given) for _ in range(number or max(here, 1))]
        self._patience = _ALL_SILENT[gpus > 0]
        self._under_way: dict[Any, tuple[int, Shard | None]] = {}
        """Reference of what is to come → its worker, and what that asks; None for a sign of life."""
        self._free: deque[int] = deque()
        self._again: list[Shard] = []
        self._deaths = Counter[str]()
        self._heard: dict[int, float] = {}
        self._started = self._heard_any = time.monotonic()
        self._tally, self._waiting = Tally(), f"{counted(len(self._workers), 'worker')} to start"
        self._warnings: set[str] = set()
        self._stopped: dict[str, str] = {}
        self._empty = ""
        for worker in range(len(self._workers)):
            self._listen(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        def end() -> None:
            if kind is None or issubclass(kind, MetaevalError):
                ended = [self._workers[worker].end.remote() for worker in self._heard]
                with contextlib.suppress(RayError):
                    ray.wait(ended, num_returns=len(ended), timeout=_END) if ended else None
            for actor in self._workers:
                ray.kill(actor)

        with contextlib.suppress(TimeoutError):  # where the cluster is gone, Ray itself waits for ever
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
        self._heard_any = time.monotonic()
        with progress(f"asking by {counted(len(self._workers), 'worker')}", total) as advance:
            shard: Shard | None = None
            while True:
                shard = shard or (self._again.pop() if self._again else next(shards, None))
                if shard is None and not any(shard for _, shard in self._under_way.values()):
                    break
                if shard and (self._empty or shard[0] in self._stopped):
                    shard = None
                elif shard and self._free:
                    worker = self._free.popleft()
                    self._under_way[self._workers[worker].ask.remote(shard[1])] = worker, shard
                    shard = None
                else:
                    done = self._settle()
                    advance(done, note=self._tally.note(time.monotonic() - self._started, self._waiting))
        if self._empty:
            raise StoppedError(f"{self._empty} and remaining calls were not made")
        return self._stopped

    def _settle(self) -> int:
        """Wait a moment for what is under way, and return how many requests are done."""
        done = 0
        # What a worker returns is small. To fetch it first would wait for a machine that is gone.
        for reference in ray.wait([*self._under_way], timeout=_BEAT, fetch_local=False)[0]:
            worker, shard = self._under_way.pop(reference)
            try:
                outcome = ray.get(reference, timeout=_END)
            except RayTaskError as error:
                self._wait_for_calls()
                raise (error.cause if isinstance(error.cause, MetaevalError) else error) from None
            except RayError as error:
                self._died(worker, shard, error)
                continue
            self._heard_any = time.monotonic()
            if shard is not None:
                self._free.extend([worker] if worker in self._heard else [])
                done += len(shard[1])
                self._take(outcome, shard[0])
                continue
            if worker not in self._heard:  # it has begun, or another one in its place
                self._free.extend([worker] * SHARDS)
            self._heard[worker], self._waiting = self._heard_any, outcome
            self._listen(worker)
        now = time.monotonic()
        if now - self._heard_any > self._patience:
            raise StoppedError(f"no worker has answered for {self._patience:g} s{KEPT}")
        for worker, heard in self._heard.items():
            if now - heard > _SILENT:
                ray.kill(self._workers[worker], no_restart=False)
                self._heard[worker] = now  # to begin again
        return done

    def _died(self, worker: int, shard: Shard | None, error: RayError) -> None:
        """Have the same asked a few times more, by the worker that Ray starts in the place of a dead one."""
        self._heard.pop(worker, None)
        self._free = deque(other for other in self._free if other != worker)
        said = str(error).strip().splitlines()[-1][:300]
        if shard is not None:
            self._deaths[shard[1][0].key] += 1
            if self._deaths[shard[1][0].key] == _DEATHS:
                what = f"asked the same {counted(len(shard[1]), 'question')}"
                self._wait_for_calls()
                raise StoppedError(f"{_DEATHS} workers died while they {what}: {said}{KEPT}")
            self._again.append(shard)
        elif not isinstance(error, ActorDiedError):
            time.sleep(_BEAT)
            self._listen(worker)
        elif all(shard for _, shard in self._under_way.values()):
            raise StoppedError(f"all workers died: {said}{KEPT}")

    def _take(self, outcome: ShardOutcome, model: str) -> None:
        self._tally = summed([self._tally, outcome.tally])
        self._empty = self._empty or outcome.empty
        if outcome.stopped:
            self._stopped.setdefault(model, outcome.stopped)
        for warning in outcome.warnings:
            if warning not in self._warnings:
                self._warnings.add(warning)
                _log.warning("%s", warning)

    def _listen(self, worker: int) -> None:
        self._under_way[self._workers[worker].beat.remote()] = worker, None

    def _wait_for_calls(self) -> None:
        """Give calls under way a moment to end, since they are paid for."""
        if calls := [reference for reference, (_, shard) in self._under_way.items() if shard]:
            ray.wait(calls, num_returns=len(calls), timeout=_GRACE, fetch_local=False)
