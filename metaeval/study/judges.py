"""The judges of a study: what they are allowed, and the replies that they used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import RunFolderError
from metaeval.judging.settings import Judging, judging
from metaeval.llm.calls.price import Prices
from metaeval.llm.store.replies import Store
from metaeval.runs.folder import read_record
from metaeval.study.replies import calls_of_run, with_attempts

if TYPE_CHECKING:
    import os
    from contextlib import AbstractContextManager

    from metaeval.kinds.study import Study

_BATCH = 2_000


def judging_of(study: Study, *, offline: bool = False) -> AbstractContextManager[Judging]:
    """Return the block inside which the judges of a study score."""
    options = study.judging
    return judging(
        options.store,
        limits=options.limits,
        budget=options.budget,
        prices=Prices(options.prices),
        offline=offline,
    )


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
