"""inspect: people's ratings, which stand in the metadata of samples, as a scorer of a task.

The log then holds both, people and scorers, and ``metaeval calibrate LOG.eval`` says how far they agree.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from metaeval.base.errors import MetaevalError, needed

P = ParamSpec("P")
T = TypeVar("T")


def with_people(**columns: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator of a task, to stand below inspect's own: people's ratings become a scorer ``human``.

    Parameters
    ----------
    columns
        Aspect → the field of a sample's metadata that holds people's rating of it. Scorers are held against
        the aspect of their name, or against all.

    Raises
    ------
    MetaevalError
        While the task runs: if a sample has none of these fields. A field without a value is no rating.

    Examples
    --------
    >>> from inspect_ai import Task, task
    >>> @task
    ... @with_people(clear="rated_clear")
    ... def my_task() -> Task: ...
    """
    if not columns:
        raise MetaevalError("name people's ratings: with_people(clear='the field of the metadata')")

    def decorate(task: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(task)
        def with_scorer(*args: P.args, **kwargs: P.kwargs) -> T:
            made: Any = task(*args, **kwargs)
            made.scorer = [*(made.scorer or ()), _human(columns)]
            of_task: T = made
            return of_task

        return with_scorer

    return decorate


def _human(columns: Mapping[str, str]) -> Any:  # noqa: ANN401 - a scorer of inspect
    scoring = needed("inspect_ai.scorer", "with_people", "inspect")

    @scoring.scorer(metrics={aspect: [scoring.mean()] for aspect in columns}, name="human")  # type: ignore[untyped-decorator]
    def human() -> Any:  # noqa: ANN401
        async def score(state: Any, target: Any) -> Any:  # noqa: ANN401 - as inspect calls it
            if not any(field in state.metadata for field in columns.values()):
                raise MetaevalError(f"the sample {state.sample_id} has no {' or '.join(columns.values())}")
            said = {aspect: state.metadata.get(field) for aspect, field in columns.items()}
            return scoring.Score(value=said) if any(v is not None for v in said.values()) else None

        return score

    return human()
