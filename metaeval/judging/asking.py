"""Judges that ask side by side, within the limits of each address and one budget; or by batches."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from metaeval.base.errors import StoppedError
from metaeval.base.records import DataOfKind, ScoreTable
from metaeval.judging.models import NamedModel, limits_at
from metaeval.judging.settings import Judging, current, under
from metaeval.llm.calls.client import CallError, RetryableError
from metaeval.llm.calls.request import Reply, Request
from metaeval.llm.calls.work import HandedOverError
from metaeval.llm.providers import address_of, batching_of

if TYPE_CHECKING:
    from metaeval.judging.model_evaluator import ModelEvaluator
    from metaeval.llm.batch.batches import Batches, Left

Ended: TypeAlias = "Iterator[tuple[ModelEvaluator, Future[ScoreTable]]]"

_LOOK_AGAIN = 0.1  # seconds
_GRACE = 4.0  # seconds for calls under way when a judge fails; more than each run gives its own


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
    data: DataOfKind,
    aspects: Sequence[str],
    settings: Judging,
    out: Path,
    *,
    wait: bool,
) -> Callable[[], None]:
    """Send what the store does not have, and collect what is ready, until the store has all replies.

    Parameters
    ----------
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
                left = _round(batches, judges, data, aspects, settings)
                if not left.to_come:
                    return batches.finish
                if left.stuck or not wait:
                    raise StoppedError(str(left))
                failures = 0
                batches.wait()
            except CallError as error:
                failures += 1
                if not (wait and isinstance(error, RetryableError)) or failures > settings.limits.retries:
                    raise StoppedError(
                        f"batches cannot be sent or collected ({error.code}): {error}"
                    ) from error
                time.sleep(batches.poll_seconds * failures)


def _round(
    batches: Batches,
    judges: Sequence[ModelEvaluator],
    data: DataOfKind,
    aspects: Sequence[str],
    settings: Judging,
) -> Left:
    with batches.round() as sender:
        hand_over(judges, data, aspects, settings, sender.take)
    return batches.left(sender)


def hand_over(
    judges: Sequence[ModelEvaluator],
    data: DataOfKind,
    aspects: Sequence[str],
    settings: Judging,
    instead: Callable[[Request], Reply],
) -> None:
    """Have judges give each request that must be sent to a function, as far as the replies so far lead."""
    with under(replace(settings, instead=instead, tallies=[])):
        for judge in judges:
            with contextlib.suppress(HandedOverError):
                judge.grid(data, aspects)
