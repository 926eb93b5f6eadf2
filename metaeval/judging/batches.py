"""Have all judges of a run ask by batches."""

from __future__ import annotations

import contextlib
import hashlib
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from metaeval.base.errors import StoppedError
from metaeval.judging.settings import under
from metaeval.llm.calls.client import CallError, RetryableError
from metaeval.llm.calls.work import HandedOverError
from metaeval.llm.providers import address_of, batching_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from metaeval.base.records import DataOfKind
    from metaeval.judging.model_evaluator import ModelEvaluator
    from metaeval.judging.settings import Judging
    from metaeval.llm.batch.batches import Batches, Left
    from metaeval.llm.calls.request import Reply, Request


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
