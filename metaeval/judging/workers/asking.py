"""Have workers ask for all judges of a run."""

from __future__ import annotations

import contextlib
import pickle
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias

from metaeval.base.errors import StoppedError
from metaeval.base.records import DataOfKind
from metaeval.judging.asking import hand_over
from metaeval.judging.models import NamedModel, limits_at
from metaeval.judging.settings import Judging, JudgingOptions
from metaeval.llm.calls.address import Where
from metaeval.llm.calls.limits import Limits
from metaeval.llm.calls.request import CallFailure, Reply, Request
from metaeval.llm.calls.work import HandedOverError
from metaeval.llm.providers import provider_named
from metaeval.llm.store.database import ServerAddress, is_address
from metaeval.llm.store.replies import Store

if TYPE_CHECKING:
    from metaeval.judging.model_evaluator import ModelEvaluator
    from metaeval.judging.workers.cluster import Workers
    from metaeval.judging.workers.crew import Crew

    Shard: TypeAlias = tuple[str, list[Request]]

_PENDING = Reply(error=CallFailure("budget", "its reply will come from a worker", "worker"))


def ask_by_workers(
    judges: Sequence[ModelEvaluator],
    data: DataOfKind,
    aspects: Sequence[str],
    settings: Judging,
    *,
    options: JudgingOptions,
    models: Mapping[str, NamedModel],
    workers: Workers,
) -> Judging:
    """Have workers ask what the store does not have, until it has all replies, or why there is none.

    Some requests depend on replies, such as another attempt where one cannot be used: these are handed over
    in another round.

    Parameters
    ----------
    settings
        Of the run; only its store is used.
    options, models
        What the study says of its judges.

    Returns
    -------
    Judging
        The settings to score with. A judge whose model answers no more stops, as it does where one process
        asks, and the others go on.
    """
    at = limits_at(models.values(), options.limits)
    most = max([options.concurrency, *(limits.concurrency for limits in at.values())])
    rounds = _Rounds(settings.store)
    with contextlib.ExitStack() as stack:
        crew: Crew | None = None
        while True:
            with Shards(-(-most // 2)) as shards:
                rounds.begin(shards)
                hand_over(judges, data, aspects, settings, rounds.take)
                if not shards.total:
                    return replace(settings, instead=rounds.take) if rounds.stopped else settings
                crew = crew or _hired(stack, judges, options, at, workers)
                rounds.stopped = crew.ask(iter(shards), shards.total)


def _hired(
    stack: contextlib.ExitStack,
    judges: Sequence[ModelEvaluator],
    options: JudgingOptions,
    at: Mapping[Where, Limits],
    workers: Workers,
) -> Crew:
    from metaeval.judging.workers.cluster import cluster
    from metaeval.judging.workers.crew import Crew  # with Ray

    stack.enter_context(cluster(workers.address, options))
    place = options.place.name
    # What is given to Ray may be seen by others: a password stays in the environment.
    shown = ServerAddress.shown(place) if is_address(place) else str(Path(place).absolute())
    shared = {"store": shown, "study_id": options.study_id or f"workers-{secrets.token_hex(8)}"}
    gpus = max((gpus_of(judge) for judge in judges), default=0)
    return stack.enter_context(Crew(options.model_copy(update=shared), at, workers.workers, gpus))


def gpus_of(judge: ModelEvaluator) -> int:
    """Return how many GPUs a worker needs that runs a judge's model; 0 if a server does."""
    if not provider_named(judge.provider).gpus:
        return 0
    engine = judge.parameters.get("engine") or {}
    return int(engine.get("tensor_parallel_size", 1))


def _addressee(request: Request) -> str:
    """Return whom a request asks: what stops one such request stops all of them, and no others."""
    return " ".join((request.provider, request.address, request.settings))


class Shards:
    """Requests in the order in which they come, in a file; each shard is to one addressee.

    Parameters
    ----------
    least
        Requests of a shard, unless its addressee has no more; one has up to twice as many, so that those that
        begin with the same messages stay together.
    """

    def __init__(self, least: int) -> None:
        self._least = least
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this
        self._shard: list[Request] = []
        self.total = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, request: Request) -> None:
        """Take a request."""
        if self._shard and self._is_full(self._shard[-1], request):
            self._write()
        self._shard.append(request)
        self.total += 1

    def __iter__(self) -> Iterator[Shard]:
        """Yield all shards."""
        if self._shard:
            self._write()
        self._file.seek(0)
        with contextlib.suppress(EOFError):
            while True:
                shard = pickle.load(self._file)  # noqa: S301 - written by this object
                yield _addressee(shard[0]), shard

    def _is_full(self, last: Request, new: Request) -> bool:
        most = self._least if last.messages[:-1] != new.messages[:-1] else 2 * self._least
        return len(self._shard) >= most or _addressee(last) != _addressee(new)

    def _write(self) -> None:
        pickle.dump(self._shard, self._file, pickle.HIGHEST_PROTOCOL)
        self._shard = []


class _Rounds:
    """Takes the requests of a run, each once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._before: set[str] = set()  # in earlier rounds
        self._now: set[str] = set()
        self.stopped: Mapping[str, str] = {}
        """Who is asked no more → why."""

    def begin(self, shards: Shards) -> None:
        """Begin a round."""
        self._shards = shards
        self._before |= self._now
        self._now.clear()

    def take(self, request: Request) -> Reply:
        """Return the failure of a request that was asked already, or that its reply is to come.

        Raises
        ------
        StoppedError
            If its model is asked no more, or the failure is gone.
        """
        why = self.stopped.get(_addressee(request))
        if why is not None or request.key in self._before:
            failure = self._store.get(request.key)
            if failure is None and why is not None:
                raise HandedOverError(why)
            if failure is None:
                raise StoppedError(f"a reply that a worker kept is no longer in the store {self._store.name}")
            return failure
        if request.key not in self._now:
            self._now.add(request.key)
            self._shards.add(request)
        return _PENDING
