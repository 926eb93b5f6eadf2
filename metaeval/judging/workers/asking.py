"""Have workers ask for all judges of a run."""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import StoppedError
from metaeval.judging.batches import hand_over
from metaeval.judging.models import limits_at
from metaeval.judging.workers.spool import Spool, addressee
from metaeval.llm.calls.request import CallFailure, Reply
from metaeval.llm.calls.work import HandedOverError
from metaeval.llm.providers import provider_named
from metaeval.llm.store.address import ServerAddress, is_address

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.base.records import DataOfKind
    from metaeval.judging.model_evaluator import ModelEvaluator
    from metaeval.judging.models import NamedModel
    from metaeval.judging.settings import Judging, JudgingOptions
    from metaeval.judging.workers.options import Workers
    from metaeval.judging.workers.pool import Pool
    from metaeval.judging.workers.spool import Addressee
    from metaeval.llm.calls.request import Request
    from metaeval.llm.store.replies import Store

_TO_COME = Reply(error=CallFailure("budget", "its reply will come from a worker", "worker"))


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
    handed = _Handed(settings.store)
    with contextlib.ExitStack() as stack:
        pool: Pool | None = None
        while True:
            with Spool() as spool:
                handed.begin(spool)
                hand_over(judges, data, aspects, settings, handed.take)
                if not spool.total:
                    return replace(settings, instead=handed.take) if handed.stopped else settings
                pool = pool or _begun(stack, judges, options, models, workers)
                handed.stopped = pool.ask(spool)


def _begun(
    stack: contextlib.ExitStack,
    judges: Sequence[ModelEvaluator],
    options: JudgingOptions,
    models: Mapping[str, NamedModel],
    workers: Workers,
) -> Pool:
    from metaeval.judging.workers.cluster import cluster
    from metaeval.judging.workers.pool import Pool  # with Ray

    stack.enter_context(cluster(workers.address, options))
    place = options.place.name
    # What is given to Ray may be seen by others: a password stays in the environment.
    shown = ServerAddress.shown(place) if is_address(place) else str(Path(place).absolute())
    shared = {"store": shown, "study_id": options.study_id or f"workers-{secrets.token_hex(8)}"}
    gpus = max((gpus_of(judge) for judge in judges), default=0)
    at = limits_at(models.values(), options.limits)
    return stack.enter_context(Pool(options.model_copy(update=shared), at, workers.workers, gpus))


def gpus_of(judge: ModelEvaluator) -> int:
    """Return how many GPUs a worker needs that runs a judge's model; 0 if a server does."""
    if not provider_named(judge.provider).gpus:
        return 0
    engine = judge.parameters.get("engine") or {}
    return int(engine.get("tensor_parallel_size", 1))


class _Handed:
    """Takes the requests of a run, each once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._before: set[bytes] = set()  # in earlier rounds
        self._now: set[bytes] = set()
        self.stopped: Mapping[Addressee, str] = {}
        """Who is asked no more → why."""

    def begin(self, spool: Spool) -> None:
        """Begin a round."""
        self._spool = spool
        self._before |= self._now
        self._now.clear()

    def take(self, request: Request) -> Reply:
        """Return the failure of a request that was asked already, or that its reply is to come.

        Raises
        ------
        StoppedError
            If its model is asked no more, or the failure is gone.
        """
        key = bytes.fromhex(request.key)
        why = self.stopped.get(addressee(request))
        if why is not None or key in self._before:
            found = self._store.get(request.key)
            if found is None and why is not None:
                raise HandedOverError(why)
            if found is None:
                raise StoppedError(f"a reply that a worker kept is no longer in the store {self._store.name}")
            return found
        if key not in self._now:
            self._now.add(key)
            self._spool.add(request)
        return _TO_COME
