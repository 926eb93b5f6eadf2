"""A study → its run folder: score, correlate, rank, report; what was scored is kept if it breaks off."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval import __version__, evaluators
from metaeval.correlate import correlate
from metaeval.errors import RunFolderError, StoppedError
from metaeval.progress import progress
from metaeval.reports import FORMATS, Leaderboard, leaderboard, page
from metaeval.study.folder import (
    CORRELATIONS,
    RECORD,
    REPORT,
    SCORES,
    RunFolder,
    read_output,
    read_record,
    write_csv,
    write_parquet,
)
from metaeval.study.plan import Plan, plan
from metaeval.types import KEYS, Correlations, Kind, ScoreTable

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from metaeval.study.file import Study

_LIBRARIES = ("numpy", "pandas", "pyarrow", "rouge-score", "sacrebleu", "scipy")


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A finished run: what it made, and the folder that holds it."""

    folder: Path
    record: Mapping[str, Any]
    """The content of ``run.json``."""
    scores: ScoreTable
    correlations: Correlations
    leaderboard: Leaderboard


def run(
    study: Study | Mapping[str, Any] | str | os.PathLike[str], out: str | os.PathLike[str] | None = None
) -> Run:
    """Run a study: score, correlate, rank and report, into a run folder.

    A run that broke off goes on where it stopped when it is run again: scores of an evaluator whose
    signature and data are the same are not made anew.

    Parameters
    ----------
    study
        The path of a study file, or its content.
    out
        The run folder; ``results/`` and the study's name, if left out.

    Raises
    ------
    StudyError, SpecError, DataError, RunFolderError
        If the study, its data or the folder cannot be used.
    StoppedError
        If it was interrupted.
    """
    todo = plan(study, out)
    with RunFolder.claim(todo.out) as folder:
        record: dict[str, Any] = {
            "metaeval": __version__,
            "status": "running",
            "study": todo.as_record(),
            "data": {
                "name": todo.data.name,
                "fingerprint": todo.data.fingerprint,
                "simulated": todo.data.simulated,
                "licence": todo.data.licence,
                "source": todo.data.source,
                "units": len(todo.data),
            },
            "python": ".".join(map(str, sys.version_info[:3])),
            "libraries": {name: metadata.version(name) for name in _LIBRARIES},
            "started": _now(),
        }
        finished_before = (todo.out / RECORD).exists() and read_record(todo.out).get("status") == "done"
        done: list[str] = []
        try:
            truth = _truth(todo)
            if not finished_before:
                folder.write_record(record)
            return _finish(todo, folder, record, _score(todo, folder, done), truth)
        except (KeyboardInterrupt, StoppedError) as error:
            if not finished_before:
                folder.write_record({**record, "status": "stopped", "stopped": _now()})
            why = str(error) or "interrupted"
            kept = f"{len(done)} of {len(todo.evaluators)} evaluators are kept in {todo.out}"
            raise StoppedError(f"{why}: the scores of {kept}; run the same command again to go on") from error


def _finish(
    todo: Plan, folder: RunFolder, record: dict[str, Any], scores: ScoreTable, truth: ScoreTable
) -> Run:
    study = todo.study
    result = correlate(
        scores,
        truth_ratings(truth),
        levels=list(todo.levels),
        coefficients=list(study.coefficients),
        missing=study.missing.model_dump(),
        undefined_groups=study.undefined_groups,
        units=study.units,
        bootstrap=study.bootstrap.model_dump() if study.bootstrap else None,
        seed=study.bootstrap.seed if study.bootstrap else 0,
    )
    (truth_signature,) = truth.signatures.values()
    counts = counts_of(scores)
    record = {
        **record,
        "status": "done",
        "finished": _now(),
        "truth": {"spec": str(todo.truth), "signature": dict(truth_signature)},
        "evaluators": {
            name: {
                "spec": str(spec),
                "kind": str(scores.kinds[name]),
                "signature": dict(scores.signatures[name]),
                "scores": counts[name],
            }
            for name, spec in todo.evaluators.items()
        },
        "policy": dict(result.policy),
    }
    board = board_of(result, record)
    writers = {
        SCORES: lambda file: write_parquet(scores.frame, file),
        CORRELATIONS: lambda file: write_csv(result.frame, file),
        **{f"leaderboard.{suffix}": _writer(FORMATS[suffix](board)) for suffix in ("csv", "md", "tex")},
        REPORT: _writer(page(board)),
    }
    return Run(todo.out, folder.finish(writers, record), scores, result, board)


def board_of(
    result: Correlations, record: Mapping[str, Any], coefficients: Sequence[str] | None = None
) -> Leaderboard:
    """Return the leaderboard of a run, with what its ``run.json`` says of where the numbers come from."""
    return leaderboard(
        result,
        coefficients=coefficients,
        title=record["study"]["title"] or "",
        dataset=record["data"]["name"],
        truth=record["truth"]["spec"],
        simulated=record["data"]["simulated"],
        signatures={name: e["signature"] for name, e in record["evaluators"].items()},
    )


def read_run(folder: str | os.PathLike[str]) -> tuple[Correlations, dict[str, Any]]:
    """Read the correlations of a finished run, and its ``run.json``.

    Raises
    ------
    RunFolderError
        If it is no run folder, the run is not finished, or its files are not those that it wrote.
    """
    import pandas as pd

    path = Path(folder)
    record = read_record(path)
    file = read_output(path, CORRELATIONS)
    frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    for column in ("estimate", "ci_low", "ci_high"):
        # Python reads a number back to the last bit.
        frame[column] = [float(text) if text else math.nan for text in frame[column]]
    for column in ("n_units", "n_groups", "n_undefined", "n_missing"):
        frame[column] = frame[column].astype("int64")
    kinds = {name: Kind(e["kind"]) for name, e in record["evaluators"].items()}
    return Correlations(frame, record["policy"], kinds, record["data"]["simulated"]), record


def counts_of(table: ScoreTable) -> dict[str, dict[str, int]]:
    """Return how many scores of each status every evaluator gave."""
    counts: dict[str, dict[str, int]] = {name: {} for name in table.evaluators}
    sizes = table.frame.groupby(["evaluator", "status"], sort=False, observed=True).size()
    for name, status, count in sizes.reset_index(name="n").itertuples(index=False, name=None):
        counts[str(name)][str(status)] = int(count)
    return counts


def truth_ratings(truth: ScoreTable) -> pd.DataFrame:
    """Return the scores of one evaluator as ratings of the truth; a question without an answer is NaN."""
    frame = truth.frame.drop(columns=["evaluator", "status"]).rename(columns={"score": "rating"})
    return frame[[c for c in (*KEYS, "aspect", "rating") if c in frame.columns]]


def _score(todo: Plan, folder: RunFolder, done: list[str]) -> ScoreTable:
    """Score with one evaluator after the other, keeping each one's scores in the run folder."""
    import pandas as pd

    fingerprint = todo.data.fingerprint
    tables: list[ScoreTable] = []
    with progress("scoring", len(todo.evaluators)) as advance:
        for name, spec in todo.evaluators.items():
            signature = evaluators.build(str(spec)).signature(todo.data)
            key = _key(fingerprint, name, str(spec), todo.aspects, signature)
            table = folder.part(key)
            if table is None:
                folder.keep_part(key, evaluators.score(todo.data, {name: str(spec)}, aspects=todo.aspects))
                table = folder.part(key)
            if table is None:
                raise RunFolderError(
                    f"the scores of {name} in {todo.out} vanished while they were written; run again"
                )
            tables.append(table)
            done.append(name)
            advance()
    return ScoreTable(
        pd.concat([t.frame for t in tables], ignore_index=True),
        {name: s for t in tables for name, s in t.signatures.items()},
        {name: k for t in tables for name, k in t.kinds.items()},
        todo.data.simulated,
    )


def _truth(todo: Plan) -> ScoreTable:
    return evaluators.score(todo.data, {"truth": str(todo.truth)}, aspects=todo.aspects)


def _key(*parts: object) -> str:
    text = json.dumps([__version__, *parts], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _writer(text: str) -> Callable[[Path], object]:
    return lambda file: file.write_text(text, encoding="utf-8", newline="\n")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
