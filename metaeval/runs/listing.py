"""The runs in a folder, at a glance."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import RunFolderError
from metaeval.base.formulas import read_csv
from metaeval.engine.sheet import NOTHING, Column, Sheet
from metaeval.runs.folder import COSTS, RECORD, is_held, read_record

if TYPE_CHECKING:
    import os

    from metaeval.runs.record import Record

_COLUMNS = (
    Column("name", "run"),
    Column("data", "data set"),
    Column("date", "date (UTC)"),
    Column("state", "state"),
    Column("evaluators", "evaluators", "count"),
    Column("usd", "cost", "usd"),
)
_MORE = "CSV and JSON name the study, its kind and the whole path of a run, too."


def runs_sheet(place: str | os.PathLike[str]) -> Sheet:
    """Return the runs in a folder and in those below it, the newest first.

    Raises
    ------
    RunFolderError
        If there is no such folder, or no run in it.
    """
    import pandas as pd

    folder = Path(place)
    if not folder.is_dir():
        raise RunFolderError(f"there is no folder {folder}; name the one that holds your run folders")
    found = [folder / RECORD, *(path for deep in ("*", "*/*") for path in folder.glob(f"{deep}/{RECORD}"))]
    rows = [_row(path.parent) | {"name": _name(path.parent, folder)} for path in found if path.is_file()]
    if not rows:
        raise RunFolderError(f"there is no run in {folder}; make one with: metaeval run STUDY.yaml")
    frame = pd.DataFrame(rows).sort_values(["date", "run"], ascending=[False, True], ignore_index=True)
    return Sheet("runs", f"Runs in {folder}", frame, _COLUMNS, (_MORE,))


def _name(run: Path, folder: Path) -> str:
    """Return where a run lies below a folder; its own name if it is the folder."""
    return run.name if run == folder else run.relative_to(folder).as_posix()


def _row(folder: Path) -> dict[str, Any]:
    row = {
        "run": str(folder),
        "study": NOTHING,
        "kind": NOTHING,
        "data": NOTHING,
        "date": "",
        "evaluators": 0,
    }
    try:
        record = read_record(folder)
    except RunFolderError as error:
        return row | {"state": f"cannot be read: {error}", "usd": math.nan}
    date = record.finished or record.stopped or record.started
    return row | {
        "study": record.study.name or NOTHING,
        "kind": record.study.kind,
        "data": f"{record.data.name}{' (simulated)' if record.data.simulated else ''}",
        "date": date[:16].replace("T", " "),
        "state": _state(folder, record),
        "evaluators": len(record.evaluators or record.study.content().get("evaluators", ())),
        "usd": _usd(folder),
    }


def _state(folder: Path, record: Record) -> str:
    if record.is_done:
        return "finished, with lost calls" if record.lost else "finished"
    return "running" if record.status == "running" and is_held(folder) else "broken off"


def _usd(folder: Path) -> float:
    """Return what the judges of a finished run cost; NaN if it had none, or is not finished."""
    file = folder / COSTS
    return float(read_csv(file, ["usd"])["usd"].sum(skipna=False)) if file.is_file() else math.nan
