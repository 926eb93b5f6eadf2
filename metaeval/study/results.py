"""What a run found out: its leaderboard and its tests, made from its scores or read from its folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.parallel import DUCKDB
from metaeval.base.records import ScoreTable
from metaeval.engine.board import Board, Cell
from metaeval.engine.correlation import Correlation, Correlations
from metaeval.engine.order.paired_tests import Comparisons, Tests
from metaeval.judging.cost import costs_of
from metaeval.kinds.study import Interval
from metaeval.reports.leaderboards import Leaderboard, leaderboard
from metaeval.runs.answer import RunAnswer, answer_of, read_answer
from metaeval.runs.finished import open_run
from metaeval.runs.folder import REPORT, read_record
from metaeval.runs.joint import board_of_runs
from metaeval.runs.record import Record

LEFT_OUT = (
    "The scores were too large to read into memory: single units, groups, details and figures are left out, "
    "and only the column that ranks the evaluators is tested."
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Run:
    """A finished run: what it made, and the folder that holds it."""

    folder: Path
    facts: Record
    """What ``run.json`` says."""
    scores: ScoreTable
    """Without a row if they do not fit in memory."""
    correlations: Correlations
    leaderboard: Leaderboard
    already: bool = False
    """Whether it was finished before, and was read back from its folder."""

    @property
    def record(self) -> dict[str, Any]:
        """The content of ``run.json``."""
        return self.facts.content()

    def __repr__(self) -> str:
        evaluators = counted(len(self.facts.evaluators), "evaluator")
        units = counted(self.facts.data.units, "unit")
        return f"<Run {str(self.folder)!r}: {self.facts.title!r}, {evaluators} on {units}>"

    def _repr_html_(self) -> str:
        """Show a notebook what was run, the leaderboard, and where the report lies."""
        report = self.folder.resolve() / REPORT
        here = Path.cwd()
        # A notebook's page may link to what lies below it, a browser elsewhere only to a whole address.
        below = report.is_relative_to(here)
        link = quote(report.relative_to(here).as_posix()) if below else report.as_uri()
        where = f'<a href="{escape(link)}">{escape(REPORT)}</a> in <code>{escape(str(self.folder))}</code>'
        return f"{self.leaderboard._repr_html_()}<p>The whole report: {where}</p>"


def board_of(
    result: Board,
    record: Record,
    answer: RunAnswer,
    coefficients: Sequence[str] | None = None,
    *,
    name: str = "",
    by: Cell | None = None,
    tests: Comparisons | None = None,
    costs: pd.DataFrame | None = None,
) -> Leaderboard:
    """Return the leaderboard of a run, with what ``run.json`` says; LaTeX labels begin with ``name``."""
    board = leaderboard(
        record.named(result),
        coefficients=coefficients,
        title=record.study.title or "",
        dataset=record.data.name,
        truth=record.truth.short,
        simulated=record.data.simulated,
        name=name or record.study.name,
        signatures=record.signatures,
        by=by or record.order,
        tests=tests,
        costs=costs,
        lost=record.lost_sentences,
        answer=answer.record,
    )
    ranked = board.ranking and replace(board.ranking, notes=(*board.ranking.notes, *record.notes))
    left_out = [LEFT_OUT] if record.policy.get("engine") == DUCKDB else []
    return replace(board, ranking=ranked, policy=(*board.policy, *left_out))


def read_back(folder: str | os.PathLike[str]) -> Run:
    """Return a finished run as `metaeval.run` returned it."""
    opened = open_run(folder, scores=False)
    record = opened.record
    correlations = correlations_of(opened.table, record)
    return Run(opened.folder, record, opened.scores, correlations, read_board(folder), already=True)


def correlations_of(table: pd.DataFrame, record: Record) -> Correlations:
    """Return the estimates of a run as correlations; of another kind of study there are none."""
    fields = [*Correlation._fields]
    there = {*fields} - {*Correlation._field_defaults} <= {*table.columns}
    frame = table.reindex(columns=fields) if there else pd.DataFrame(columns=fields)
    simulated = record.simulation
    return Correlations(frame, record.policy, record.kinds, simulated.data, frozenset(simulated.evaluators))


def read_board(
    folder: str | os.PathLike[str],
    coefficients: Sequence[str] | None = None,
    order_by: str | None = None,
    interval: Interval | None = None,
) -> Leaderboard:
    """Return the leaderboard of a finished run, with these coefficients, ordered by this column.

    Members of families have this ``interval``; the study's, if left out.
    """
    opened = open_run(folder, scores=False)
    board, record = opened.board, opened.record
    study = record.study.content()
    wanted = interval or study.get("interval", "clusters")
    if interval == "total" and not study.get("family"):
        raise MetaevalError(f"the run in {folder} has no family, whose members have total intervals")
    for name in coefficients or ():
        if board.tables is None:
            raise MetaevalError(f"the run has no coefficients to choose from, such as {name!r}")
        one_of(name, board.tables.choices, f"the run has no {board.tables.title}")
    ordered, options = board.cell(record.order), record.study.tests
    by = board.cell(order_by, ordered)
    if wanted == "total":
        board = open_run(folder).scored.with_totals(board, by)
    if by == ordered:
        tests, answer = opened.tests(), read_answer(opened.folder, record)
    else:
        tests = open_run(folder).scored.cells.compare(by, Tests(**options)) if options else None
        answer = answer_of(board, by, record, tests=tests).model_copy(update={"judges": {}})
    name, costs = Path(folder).resolve().name, costs_of(opened.scores)
    return board_of(board, record, answer, coefficients or None, name=name, by=by, tests=tests, costs=costs)


def read_boards(
    folders: Sequence[str | os.PathLike[str]], coefficients: Sequence[str] | None = None
) -> Leaderboard:
    """Return the leaderboards of several finished runs as one: a column per data set, without a ranking."""
    board, records = board_of_runs(folders), [read_record(Path(folder)) for folder in folders]
    known = [name for d in board.dimensions if d.name == "coefficient" for name in d.choices]
    for name in coefficients or ():
        one_of(name, known, "the runs have no coefficient")
    shown = board.only("coefficient", coefficients) if coefficients else board
    truth = " or ".join(dict.fromkeys(record.truth.short for record in records))
    lost = [sentence for record in records for sentence in record.lost_sentences]
    return replace(leaderboard(shown, truth=truth, lost=lost, name="runs"), ranking=None)
