"""Judges that score side by side, within the limits of each address and one budget."""

from __future__ import annotations

import contextlib
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeAlias

from metaeval.judging.models import limits_at
from metaeval.judging.settings import current

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.base.records import DataOfKind, ScoreTable
    from metaeval.judging.model_evaluator import ModelEvaluator
    from metaeval.judging.models import NamedModel

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
