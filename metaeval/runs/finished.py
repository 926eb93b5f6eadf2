"""Finished runs: the list of them; one opened again, with its scores and its truth, and its replies."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from metaeval.base.errors import MetaevalError, RunFolderError
from metaeval.base.formulas import read_csv
from metaeval.base.parallel import DUCKDB
from metaeval.base.records import Kind, ScoreTable
from metaeval.engine.alignment.prepared import Matched, Prepared
from metaeval.engine.board import Board
from metaeval.engine.files import Parquet, chosen
from metaeval.engine.order.paired_tests import Comparisons
from metaeval.engine.order.ranking import ranking
from metaeval.engine.sheet import NOTHING, Column, Sheet
from metaeval.judging.cost import calls_in, costs_of, with_attempts
from metaeval.kinds.index import kind_named
from metaeval.kinds.kind import Scored
from metaeval.kinds.reading import make_study
from metaeval.kinds.table import KindTable
from metaeval.llm.store.replies import Store
from metaeval.runs.folder import (
    COSTS,
    RATERS,
    RECORD,
    REPEATS,
    SCORES,
    SEALED,
    TESTS,
    TRUTH,
    VERDICTS,
    is_held,
    read_output,
    read_record,
)
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


@dataclass(frozen=True, eq=False)
class OpenRun:
    """The scores of a finished run, and the truth that they were compared with."""

    folder: Path
    record: Record
    scores: ScoreTable
    truth: pd.DataFrame
    """Key columns, ``aspect`` and ``rating``; NaN for a question without an answer."""
    raters: pd.DataFrame | None
    """Annotators' ratings: key columns, ``rater``, ``aspect`` and ``rating``; None if there are none."""
    repeats: pd.DataFrame | None = None
    """As of `metaeval.kinds.kind.Scored`."""
    within: str = ""
    """The folder in the run folder that they come from: that of what is sealed, or none."""

    @property
    def verdicts(self) -> pd.DataFrame | None:
        """Those of pairwise evaluators (`metaeval.evaluators.verdicts`); None if there are none."""
        return self.scores.verdicts

    @property
    def judges(self) -> list[str]:
        """The evaluators that ask a model, pointwise or pairwise."""
        return [name for name in self.scores.evaluators if self.scores.kinds.get(name) == Kind.JUDGE]

    @property
    def cluster(self) -> str:
        """The key column whose values are resampled whole."""
        return self.record.data.cluster

    @property
    def nouns(self) -> Mapping[str, str]:
        """Key column → what a reader calls one of its values."""
        return self.record.data.nouns

    def prepared(
        self,
        *,
        levels: Sequence[str] | None = None,
        coefficients: Sequence[str] | None = None,
        evaluators: Sequence[str] | None = None,
    ) -> Prepared:
        """Return aligned arrays under the run's policy; its levels, coefficients, evaluators if left out."""
        # The policy is made again: it refuses an unknown level or coefficient.
        policy = self.record.study.policy(levels, coefficients)
        return self.matched.chosen(
            levels=policy.levels, coefficients=policy.coefficients, evaluators=evaluators
        )

    @cached_property
    def matched(self) -> Matched:
        """The scores and the truth under the run's policy."""
        return Matched(self.scores, self.truth, self.record.study.policy())

    @cached_property
    def scored(self) -> Scored[Any]:
        """The same with the study as it was run."""
        facts = self.record
        study = make_study(facts.study.content())
        kind = kind_named(study.kind)
        return kind.scored(
            *(kind, study, facts.data.scale, self.cluster, self.scores, self.truth, self.raters),
            kept=self._kept,
            repeats=self.repeats,
        )

    def _kept(self, table: KindTable) -> pd.DataFrame:
        """Read a table of the kind; without a row, if the run has not written it."""
        name = f"{self.within}{table.file}"
        if name not in self.record.outputs:
            return pd.DataFrame()
        file = read_output(self.folder, name, self.record)
        return pd.read_parquet(file) if file.suffix == ".parquet" else read_csv(file, texts=table.texts)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The estimates, as the run wrote them."""
        file = read_output(self.folder, self.record.board_file, self.record)
        frame = read_csv(file, texts=["evaluator", *(d["name"] for d in self.record.board["dimensions"])])
        counts = frame.columns[frame.columns.str.startswith("n_")]
        return frame.astype(dict.fromkeys(counts, "int64"))

    @cached_property
    def board(self) -> Board:
        """What the run found."""
        return Board.of_record(self.table, self.record.board, self.record.kinds, self.record.simulation)

    @cached_property
    def ranking(self) -> Sheet:
        """The evaluators, the best first by the column that orders the leaderboard."""
        return ranking(
            self.record.named(self.board),
            by=self.record.order,
            tests=self.tests(),
            costs=costs_of(self.scores),
        )

    def tests(self) -> Comparisons | None:
        """Return the tests of the run, by the column that orders its leaderboard; None if it made none."""
        if self.record.tests is None:
            return None
        frame = read_csv(read_output(self.folder, TESTS, self.record), Comparisons.NUMBERS)
        return Comparisons.of_frame(frame, self.record.tests)


def open_run(folder: str | os.PathLike[str], *, rated: bool = False, scores: bool = True) -> OpenRun:
    """Open a finished run.

    Parameters
    ----------
    rated
        Whether scores and truth must be ratings.
    scores
        Whether scores are needed; without, those that do not fit in memory are left out.
    """
    path = Path(folder)
    record = read_record(path)
    if rated:
        refuse_unrated(path, record.study.kind)

    def frame(name: str) -> pd.DataFrame:
        return pd.read_parquet(read_output(path, name, record))

    if in_file := _past_memory(path, record):
        if scores:
            raise MetaevalError(
                f"the {in_file.rows:,} scores of {folder} do not fit in memory, and this command needs all "
                "of them; `metaeval leaderboard` and the report work, and `metaeval correlate DATA "
                f"{path / SCORES}`"
            )
        columns = pd.DataFrame(columns=list(in_file.head()))
    else:
        columns = frame(SCORES)
    verdicts = frame(VERDICTS) if VERDICTS in record.outputs else None
    table = ScoreTable(columns, record.signatures, record.kinds, record.data.simulated, verdicts)
    raters = frame(RATERS) if RATERS in record.outputs else None
    repeats = frame(REPEATS) if REPEATS in record.outputs else None
    return OpenRun(path, record, table, frame(TRUTH), raters, repeats)


def open_sealed(run: OpenRun) -> OpenRun:
    """Open what is sealed of a finished run, in place of the rest; only the sealed test may."""
    within = f"{SEALED}/"

    def frame(name: str) -> pd.DataFrame:
        return pd.read_parquet(read_output(run.folder, f"{within}{name}", run.record))

    verdicts = frame(VERDICTS) if f"{within}{VERDICTS}" in run.record.outputs else None
    scores = replace(run.scores, frame=frame(SCORES), verdicts=verdicts)
    return replace(run, scores=scores, truth=frame(TRUTH), raters=None, repeats=None, within=within)


def _past_memory(path: Path, record: Record) -> Parquet | None:
    """Return the scores of a run that left them in a file, if they are still too many."""
    if record.policy.get("engine") != DUCKDB:
        return None
    scores = Parquet.of(read_output(path, SCORES, record), "the scores")
    return scores if chosen("auto", scores) == DUCKDB else None


def is_rated(kind: str) -> bool:
    """Say whether scores of a kind are ratings; those of a kind that is not known here are."""
    try:
        return bool(kind_named(kind).rated)
    except MetaevalError:
        return True


def refuse_unrated(folder: Path, kind: str) -> None:
    """Raise `MetaevalError` if scores of a kind are no ratings."""
    if not is_rated(kind):
        raise MetaevalError(
            f"this takes ratings, and {folder} is of kind {kind!r}, whose scores are verdicts on two: "
            "`metaeval details` shows the measures of a run of it"
        )


def calls_of_run(folder: Path, record: Record) -> list[str]:
    """Return the keys of the calls behind the scores and verdicts of a finished run."""
    import pyarrow.parquet as pq

    names = (f"{within}{name}" for within in ("", f"{SEALED}/") for name in (SCORES, VERDICTS))
    files = [read_output(folder, name, record) for name in names if name in record.outputs]
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
    """
    from metaeval.llm.store.tools import export_jsonl

    record = read_record(Path(folder))
    calls = calls_of_run(Path(folder), record)
    if not calls:
        raise RunFolderError(f"no judge was in the run in {folder}, so it used no replies")
    with Store(store or record.study.judging.get("store"), create=False) as opened:
        return export_jsonl(opened, path, with_attempts(opened, calls))


def runs_sheet(place: str | os.PathLike[str]) -> Sheet:
    """Return the runs in a folder and in those below it, the newest first."""
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
        "usd": _usd(run, record),
        "name": name,
    }


def _state(folder: Path, record: Record) -> str:
    if record.is_done:
        return "finished, with lost calls" if record.lost else "finished"
    return "running" if record.status == "running" and is_held(folder) else "broken off"


def _usd(folder: Path, record: Record) -> float:
    """Return what the judges of a finished run cost; NaN if it had none, or is not finished."""
    apart = record.sealed.usd if record.sealed else 0.0
    file = folder / COSTS
    if not file.is_file():
        return math.nan
    return float(read_csv(file, ["usd"])["usd"].sum(skipna=False)) + (math.nan if apart is None else apart)
