"""The judges of a study: what they are allowed, and the replies that they used."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import RunFolderError
from metaeval.judging.settings import Judging, judging
from metaeval.llm.calls.limits import Budget, Limits
from metaeval.llm.calls.price import Prices
from metaeval.llm.store.replies import Store
from metaeval.runs.folder import read_record
from metaeval.study.replies import calls_of_run, with_attempts

if TYPE_CHECKING:
    import os
    from contextlib import AbstractContextManager

    from metaeval.study.file import JudgingOptions, Study

_BATCH = 2_000


def judging_of(study: Study, *, offline: bool = False) -> AbstractContextManager[Judging]:
    """Return the block inside which the judges of a study score."""
    options = study.judging
    return judging(
        options.store,
        limits=_limits(options),
        budget=Budget(options.max_usd, options.max_calls),
        prices=prices_of(options),
        offline=offline,
    )


def _limits(options: JudgingOptions) -> Limits:
    given = options.model_dump(include={f.name for f in fields(Limits)}, exclude_none=True)
    if options.concurrency is not None:
        given["in_flight"] = options.concurrency
    return Limits(**given)


def prices_of(options: JudgingOptions) -> Prices:
    """Return the prices that a study gives, before those that are known."""
    return Prices({model: price.model_dump(exclude_none=True) for model, price in options.prices.items()})


def export_run(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    store: str | os.PathLike[str] | None = None,
) -> int:
    """Write the replies that a finished run used as JSON Lines, earlier attempts too; return how many.

    They are taken from ``store``, or from that of the run's study if it is left out.

    Raises
    ------
    MetaevalError
        If it is no finished run, no judge was in it, or its store is not there.
    """
    from metaeval.llm.store.tools import export_jsonl

    record = read_record(Path(folder))
    calls = calls_of_run(Path(folder), record)
    if not calls:
        raise RunFolderError(f"no judge was in the run in {folder}, so it used no replies")
    path_of_store = store or record.study.judging.get("store")
    with Store(path_of_store, create=False) as opened:
        return export_jsonl(opened, path, with_attempts(opened, calls))
