"""Workers as actors of Ray: idle workers get shards, and the shards of a dead one go to others."""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import ray
from ray.exceptions import RayError, RayTaskError

from metaeval import __version__
from metaeval.base.counts import counted
from metaeval.base.errors import KEPT, MetaevalError, StoppedError
from metaeval.base.progress import progress
from metaeval.judging.workers.spool import addressee
from metaeval.judging.workers.worker import AskedShard, Worker, WorkerCounts
from metaeval.llm.calls.tally import Tally, summed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from metaeval.judging.settings import JudgingOptions
    from metaeval.judging.workers.spool import Addressee, Spool
    from metaeval.llm.calls.address import Where
    from metaeval.llm.calls.limits import Limits
    from metaeval.llm.calls.request import Request

_DEATHS = 3  # of workers, with the same shard or before they could begin
_SHARDS = 4  # that a worker has at most
_LOOK = 0.25  # seconds between two looks at the counts
_GRACE = 4.0  # seconds for calls under way when one worker cannot go on
_SAID = 300  # characters of what Ray says of a death
_END = 10.0  # seconds for workers to close the store

_log = logging.getLogger("metaeval")


@dataclass
class _Shard:
    requests: list[Request]
    deaths: int = 0

    @property
    def addressee(self) -> Addressee:
        """Whom all of them ask."""
        return addressee(self.requests[0])


@dataclass(eq=False)
class _Hand:
    """A worker, as the one who deals knows it."""

    actor: Any
    has: list[_Shard] = field(default_factory=list)
    begun: bool = False
    counts: WorkerCounts = field(default_factory=lambda: WorkerCounts(Tally(), "", ()))
    look: Any = None
    """The reference of counts that are to come."""

    @property
    def load(self) -> int:
        """How many requests it has."""
        return sum(len(shard.requests) for shard in self.has)

    def take(self, counts: WorkerCounts) -> None:
        """Take counts, unless newer ones came first."""
        if counts.tally.done >= self.counts.tally.done:
            self.counts = counts


class Pool:
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
        self._given = (options, at, __version__)
        self._wide = max([options.concurrency, *(limits.concurrency for limits in at.values())])
        resources = ray.cluster_resources()
        here = int(resources.get("GPU", 0)) // gpus if gpus else int(resources.get("CPU", 1))
        if gpus and not here:
            raise MetaevalError(
                f"a judge's model runs in the workers and needs {counted(gpus, 'GPU')}, which no worker has; "
                f"name a cluster with GPUs, or a model that a server answers"
            )
        self.number = number or max(here, 1)
        # Next to nothing of a CPU, so that a head that has none is left alone, where others have some.
        cpus = min(0.001, resources.get("CPU", 0.0))
        self._actor: Any = ray.remote(
            num_cpus=cpus, num_gpus=gpus, scheduling_strategy="SPREAD", max_concurrency=_SHARDS + 2
        )(Worker)
        self._hands: list[_Hand] = []
        self._under_way: dict[Any, tuple[_Hand, _Shard | None]] = {}
        self._again: deque[_Shard] = deque()
        self._died_early = 0  # workers that died before they could begin
        self._gone: list[Tally] = []  # of workers that died
        self._said: set[str] = set()
        self._stopped: dict[Addressee, str] = {}
        self._error: MetaevalError | None = None
        self._empty = ""

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        for _ in range(self.number):
            self._hire()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or issubclass(kind, MetaevalError):
            ended = [hand.actor.end.remote() for hand in self._hands if hand.begun]
            with contextlib.suppress(RayError):
                ray.wait(ended, num_returns=len(ended), timeout=_END) if ended else None
        for hand in self._hands:
            ray.kill(hand.actor)

    def ask(self, spool: Spool) -> Mapping[Addressee, str]:
        """Have workers ask all requests; what came of each is in the store.

        Returns
        -------
        dict
            Who was not asked to the end, as it answers or takes no more calls → what is wrong.

        Raises
        ------
        StoppedError, MetaevalError
            If the budget is used up, or the workers cannot go on.
        """
        total = spool.total
        shards = map(_Shard, spool.shards(max(1, min(self._wide, -(-total // (_SHARDS * self.number))))))
        looked, done, until = 0.0, 0, math.inf
        before = self._tally().done
        with progress(f"asking by {counted(self.number, 'worker')}", total) as advance:
            while self._deal(shards) and (now := time.monotonic()) < until:
                if now - looked >= _LOOK:
                    looked = now
                    self._look()
                self._settle()
                if self._error is not None:
                    until = min(until, now + _GRACE)
                tally = self._tally()
                new = min(tally.done - before, total) - done  # what a dead worker had is counted again
                advance(new, note=tally.note(now - self._started, self._waiting()))
                done += new
        if self._error is not None:
            raise self._error
        if self._empty:
            raise StoppedError(f"{self._empty} and remaining calls were not made")
        return self._stopped

    def _hire(self) -> None:
        hand = _Hand(self._actor.remote(*self._given))
        self._hands.append(hand)
        self._under_way[hand.actor.begin.remote()] = (hand, None)

    def _deal(self, shards: Iterator[_Shard]) -> bool:
        """Give shards to workers that have little to do; say whether there is anything to wait for."""
        while self._error is None and not self._empty:
            free = [hand for hand in self._hands if hand.begun and self._has_room(hand)]
            if not free and self._hands:
                return True
            shard = self._again.popleft() if self._again else next(shards, None)
            if shard is None:
                break
            if shard.addressee in self._stopped:
                continue
            hand = min(free, key=lambda hand: hand.load)
            hand.has.append(shard)
            self._under_way[hand.actor.ask.remote(shard.requests)] = (hand, shard)
        return any(shard for _, shard in self._under_way.values())

    def _has_room(self, hand: _Hand) -> bool:
        """Say whether a worker takes another shard: while one ends, it asks the next."""
        return len(hand.has) < 2 or (len(hand.has) < _SHARDS and hand.load < 2 * self._wide)

    def _settle(self) -> None:
        """Wait a moment for what is under way, and take note of what came of it."""
        for reference in ray.wait([*self._under_way], timeout=_LOOK)[0]:
            hand, shard = self._under_way.pop(reference)
            if shard is not None:
                hand.has.remove(shard)
            try:
                asked: AskedShard = ray.get(reference)
            except RayTaskError:
                raise
            except RayError as error:
                self._died(hand, shard, error)
                continue
            hand.begun = True
            self._died_early = 0
            hand.take(asked.counts)
            self._empty = self._empty or asked.empty
            if asked.error and asked.stopped and shard is not None:
                self._stopped.setdefault(shard.addressee, asked.error)
            elif asked.error and self._error is None:
                self._error = (StoppedError if asked.stopped else MetaevalError)(asked.error)
        for warning in {w: None for hand in self._hands for w in hand.counts.warnings}.keys() - self._said:
            self._said.add(warning)
            _log.warning("%s", warning)

    def _died(self, hand: _Hand, shard: _Shard | None, error: RayError) -> None:
        """Deal a shard out again, and put another worker in the place of one that died."""
        if hand in self._hands:
            self._hands.remove(hand)
            self._gone.append(hand.counts.tally)
            with contextlib.suppress(RayError):
                ray.kill(hand.actor)  # it may only be out of reach
            self._hire()
        said = str(error).strip().splitlines()[-1][:_SAID]
        if shard is None:
            self._died_early += 1
            if self._died_early >= _DEATHS:
                self._error = StoppedError(f"{self._died_early} workers died before they started: {said}")
            return
        shard.deaths += 1
        self._again.append(shard)
        if shard.deaths >= _DEATHS:
            self._error = StoppedError(
                f"{shard.deaths} workers died while they asked the same "
                f"{counted(len(shard.requests), 'question')}: {said}{KEPT}"
            )

    def _look(self) -> None:
        """Take the counts that have come, and ask for new ones."""
        for hand in [hand for hand in self._hands if hand.begun]:
            if hand.look is not None:
                if not ray.wait([hand.look], timeout=0)[0]:
                    continue
                with contextlib.suppress(RayError):  # it died: so does what is under way
                    hand.take(ray.get(hand.look))
            hand.look = hand.actor.counts.remote()

    def _tally(self) -> Tally:
        return summed([*self._gone, *(hand.counts.tally for hand in self._hands)])

    def _waiting(self) -> str:
        starting = sum(not hand.begun for hand in self._hands)
        says = [f"{counted(starting, 'worker')} to start"] if starting else []
        return next(filter(None, (*says, *(hand.counts.waiting for hand in self._hands))), "")
