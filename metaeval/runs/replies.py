"""The replies behind a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import RunFolderError
from metaeval.judging.replies import calls_in, with_attempts
from metaeval.llm.store.replies import Store
from metaeval.runs.folder import SCORES, VERDICTS, read_output, read_record

if TYPE_CHECKING:
    import os

    from metaeval.runs.record import Record


def calls_of_run(folder: Path, record: Record) -> list[str]:
    """Return the keys of the calls behind the scores and verdicts of a finished run."""
    import pandas as pd
    import pyarrow.parquet as pq

    names = [SCORES, *([VERDICTS] if VERDICTS in record.outputs else [])]
    files = [read_output(folder, name, record) for name in names]
    having = [file for file in files if "call" in pq.read_schema(file).names]
    return calls_in(pd.read_parquet(file, columns=["call"]) for file in having)


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
    with Store(store or record.study.judging.get("store"), create=False) as opened:
        return export_jsonl(opened, path, with_attempts(opened, calls))
