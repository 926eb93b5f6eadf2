"""Judges that ask side by side, within the limits of each address and one budget; by batches; by workers."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import pickle
import secrets
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias

from metaeval.base.errors import StoppedError
from metaeval.base.records import DataOfKind, ScoreTable
from metaeval.judging.models import NamedModel, limits_at
from metaeval.judging.settings import Judging, JudgingOptions, current, with_settings
from metaeval.llm.calls.address import Where
from metaeval.llm.calls.client import CallError, RetryableError
from metaeval.llm.calls.limits import Limits
from metaeval.llm.calls.request import CallFailure, Reply, Request
from metaeval.llm.calls.work import HandedOverError
from metaeval.llm.providers import address_of, batching_of
from metaeval.llm.store.replies import Store
from metaeval.llm.store.rows import ServerAddress, is_address

if TYPE_CHECKING:
    from metaeval.judging.cluster import Workers
    from metaeval.judging.crew import Crew, Shard
    from metaeval.judging.model_evaluator import ModelEvaluator

Ended: TypeAlias = "Iterator[tuple[ModelEvaluator, Future[ScoreTable]]]"

_LOOK_AGAIN = 0.1  # seconds
_GRACE = 4.0  # seconds for calls under way when a judge fails; more than each run gives its own
_PENDING = Reply(error=CallFailure("budget", "its reply will come from a worker", "worker"))


@contextlib.contextmanager
def asking(
    judges: Sequence[ModelEvaluator],
    data: DataOfKind,
    aspects: Sequence[str],
    models: Mapping[str, NamedModel],
    names: Mapping[str, str],
) -> Iterator[Ended]:
    """Have judges score for the length of a block; yield them with their scores as they end.

    The progress of each has the name that ``names`` has for its spec.

    A block that is left early ends what is left of them. If an error ends it, calls under way may end, since
    they are paid for.
    """
    with current() as settings, ThreadPoolExecutor(len(judges), "metaeval judge") as pool:
        settings.at.update(limits_at(models.values(), settings.limits))
        settings.names.update(names)
        asked = {pool.submit(copy_context().run, j.score, data, aspects): j for j in judges}
        try:
            yield _as_they_end(asked)
        except Exception as error:
            settings.loop.stop(error)
            wait(asked, timeout=_GRACE)
            raise
        finally:
            while wait(asked, timeout=0).not_done:
                settings.loop.stop()
                with contextlib.suppress(KeyboardInterrupt):  # it ends already
                    wait(asked, timeout=_LOOK_AGAIN)


def _as_they_end(asked: Mapping[Future[ScoreTable], ModelEvaluator]) -> Ended:
    left = set(asked)
    while left:
        # Without a time limit, Ctrl-C would wait for it on some systems.
        done, left = wait(left, timeout=_LOOK_AGAIN, return_when=FIRST_COMPLETED)
        for future in done:
            yield asked[future], future


def places_of(judges: Sequence[ModelEvaluator]) -> set[tuple[str, str]]:
    """Return providers and addresses of judges; raise `MetaevalError` if one takes no batches."""
    for judge in judges:
        batching_of(judge.provider)
    return {(judge.provider, address_of(judge.provider, judge.base_url)) for judge in judges}


def ask_by_batches(
    judges: Sequence[ModelEvaluator],
    data: Sequence[DataOfKind],
    aspects: Sequence[str],
    settings: Judging,
    out: Path,
    *,
    wait: bool,
) -> Callable[[], None]:
    """Send what the store does not have, and collect what is ready, until the store has all replies.

    Parameters
    ----------
    data
        Several: what is open, and what is sealed.
    settings
        Of the run; its budget is that of all its batches, until the run is finished.
    out
        The run folder.
    wait
        Wait for batches, instead of stopping while one is under way.

    Returns
    -------
    function
        To be called when the run has what it needs of the replies.

    Raises
    ------
    StoppedError
        While replies are to come.
    """
    from metaeval.llm.batch.batches import Batches  # with the SDK

    places = places_of(judges)
    run = hashlib.sha256(str(out.resolve()).encode()).hexdigest()[:12]
    failures = 0
    shared = {n: getattr(settings, n) for n in ("limits", "budget", "prices", "terms")}
    with Batches(settings.store, run, places, **shared) as batches:
        while True:
            try:
                with batches.round() as sender:
                    hand_over(judges, data, aspects, settings, sender.take)
                if not sender.to_come:
                    return batches.finish
                if sender.stuck or not wait:
                    raise StoppedError(sender.outstanding())
                failures = 0
                batches.wait()
            except CallError as error:
                failures += 1
                if not (wait and isinstance(error, RetryableError)) or failures > settings.limits.retries:
                    raise StoppedError(
                        f"batches cannot be sent or collected ({error.code}): {error}"
                    ) from error
                time.sleep(batches.poll_seconds * failures)


def hand_over(
    judges: Sequence[ModelEvaluator],
    data: Sequence[DataOfKind],
    aspects: Sequence[str],
    settings: Judging,
    instead: Callable[[Request], Reply],
) -> None:
    """Have judges give each request that must be sent to a function, as far as the replies so far lead."""
    with with_settings(replace(settings, instead=instead)):
        for judge, part in itertools.product(judges, data):
            with contextlib.suppress(HandedOverError):
                judge.grid(part, aspects)


def ask_by_workers(
    judges: Sequence[ModelEvaluator],
    data: Sequence[DataOfKind],
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
    data
        Several: what is open, and what is sealed.
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
    before: set[str] = set()  # keys of the requests of earlier rounds
    stopped: Mapping[str, str] = {}  # who is asked no more → why
    crew: Crew | None = None
    with contextlib.ExitStack() as stack:
        while True:
            with Shards(-(-most // 2)) as shards:
                take = functools.partial(_take, settings.store, shards, before, stopped)
                hand_over(judges, data, aspects, settings, take)
                if not shards.keys:
                    return replace(settings, instead=take) if stopped else settings
                crew = crew or _hired(stack, options, at, workers)
                stopped = crew.ask(iter(shards), len(shards.keys))
                before |= shards.keys


def _take(
    store: Store, shards: Shards, before: Collection[str], stopped: Mapping[str, str], request: Request
) -> Reply:
    """Return the failure of a request that was asked before, or that its reply is to come.

    Raises
    ------
    StoppedError
        If its model is asked no more, or the failure is gone.
    """
    why = stopped.get(_addressee(request))
    if why is None and request.key not in before:
        shards.add(request)
        return _PENDING
    if failure := store.get(request.key):
        return failure
    if why is not None:
        raise HandedOverError(why)
    raise StoppedError(f"a reply that a worker kept is no longer in the store {store.name}")


def _hired(
    stack: contextlib.ExitStack,
    options: JudgingOptions,
    at: Mapping[Where, Limits],
    workers: Workers,
) -> Crew:
    from metaeval.judging.cluster import cluster
    from metaeval.judging.crew import Crew  # with Ray

    stack.enter_context(cluster(workers.address, options))
    place = options.place.name
    # What is given to Ray may be seen by others: a password stays in the environment.
    shown = ServerAddress.shown(place) if is_address(place) else str(Path(place).absolute())
    shared = {"store": shown, "study_id": options.study_id or f"workers-{secrets.token_hex(8)}"}
    return stack.enter_context(Crew(options.model_copy(update=shared), at, workers.workers))


def _addressee(request: Request) -> str:
    """Return whom a request asks: what stops one such request stops all of them, and no others."""
    return " ".join((request.provider, request.address, request.settings))


class Shards:
    """Requests, each once, in the order in which they come, in a file; so many at most make a shard."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this
        self._shard: list[Request] = []
        self.keys: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, request: Request) -> None:
        """Take a request, unless it is there."""
        if request.key in self.keys:
            return
        last = self._shard[-1:]
        if len(self._shard) == self._most or (last and _addressee(last[0]) != _addressee(request)):
            self._write()
        self._shard.append(request)
        self.keys.add(request.key)

    def __iter__(self) -> Iterator[Shard]:
        """Yield all shards."""
        self._write()
        self._file.seek(0)
        with contextlib.suppress(EOFError):
            while True:
                shard = pickle.load(self._file)  # noqa: S301 - written by this object
                yield _addressee(shard[0]), shard

    def _write(self) -> None:
        if self._shard:
            pickle.dump(self._shard, self._file, pickle.HIGHEST_PROTOCOL)
            self._shard = []
