"""The runs in a folder, at a glance."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from metaeval.base.errors import RunFolderError
from metaeval.base.formulas import read_csv
from metaeval.engine.sheet import NOTHING, Column, Sheet
from metaeval.runs.folder import COSTS, RECORD, is_held, read_record
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
    """Return the runs in a folder and in those below it, the newest first."""
    import pandas as pd

    folder = Path(place)
    if not folder.is_dir():
        raise RunFolderError(f"there is no folder {folder}; name the one that holds your run folders")
    places = [folder, *(path.parent for deep in ("*", "*/*") for path in folder.glob(f"{deep}/{RECORD}"))]
    rows = [_row(run, folder) for run in places if (run / RECORD).is_file()]
    if not rows:
        raise RunFolderError(f"there is no run in {folder}; make one with: metaeval run STUDY.yaml")
    frame = pd.DataFrame(rows).sort_values(["date", "run"], ascending=[False, True], ignore_index=True)
    return Sheet("runs", f"Runs in {folder}", frame, _COLUMNS, (_MORE,))


def _row(run: Path, folder: Path) -> dict[str, Any]:
    name = run.name if run == folder else run.relative_to(folder).as_posix()
    unknown = {**dict.fromkeys(("study", "kind", "data"), NOTHING), "date": "", "evaluators": 0}
    row = {"run": str(run), **unknown}
    try:
        record = read_record(run)
    except RunFolderError as error:
        return row | {"state": f"cannot be read: {error}", "usd": math.nan, "name": name}
    date = record.finished or record.stopped or record.started
    return row | {
        "study": record.study.name or NOTHING,
        "kind": record.study.kind,
        "data": f"{record.data.name}{' (simulated)' if record.data.simulated else ''}",
        "date": date[:16].replace("T", " "),
        "state": _state(run, record),
        "evaluators": len(record.evaluators or record.study.content().get("evaluators", ())),
        "usd": _usd(run),
        "name": name,
    }


def _state(folder: Path, record: Record) -> str:
    if record.is_done:
        return "finished, with lost calls" if record.lost else "finished"
    return "running" if record.status == "running" and is_held(folder) else "broken off"


def _usd(folder: Path) -> float:
    """Return what the judges of a finished run cost; NaN if it had none, or is not finished."""
    file = folder / COSTS
    return float(read_csv(file, ["usd"])["usd"].sum(skipna=False)) if file.is_file() else math.nan
