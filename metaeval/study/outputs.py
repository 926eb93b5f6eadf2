"""The scores of a run → all that its folder holds: correlated, tested, analysed, reported, written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from metaeval.base.formulas import to_csv
from metaeval.base.progress import progress
from metaeval.base.records import Correlation, Correlations
from metaeval.judging.cost import costs_of
from metaeval.kinds.explanations.study import ExplanationStudy
from metaeval.reports import FORMATS
from metaeval.reports.cost_table import cost_table
from metaeval.reports.figures import figure_of
from metaeval.reports.report.page import report_page
from metaeval.reports.sheets import render, sheet_to_csv
from metaeval.reports.words import notice
from metaeval.runs.folder import (
    BOARD,
    CORRELATIONS,
    COST_TABLE,
    COSTS,
    DETAILS,
    RANKING,
    REPORT,
    SCORES,
    TESTS,
    TRUTH,
    VERDICTS,
    RunFolder,
    write_csv,
    write_parquet,
)
from metaeval.study.explanations import explanation_results
from metaeval.study.report import report_of
from metaeval.study.results import Run, board_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from metaeval.base.records import ScoreTable
    from metaeval.engine.results import Results
    from metaeval.runs.record import Record
    from metaeval.study.plan import Plan


def write_outputs(
    todo: Plan, folder: RunFolder, record: Record, scores: ScoreTable, ratings: pd.DataFrame
) -> Run:
    """Make everything that a run finds out of its scores, and write it.

    Parameters
    ----------
    todo, folder
        The study, and where its outputs go.
    record
        What ``run.json`` says, but for what is found out here.
    scores, ratings
        What was scored, and the truth (key columns, ``aspect``, ``rating``).
    """
    study = todo.study
    found = (
        explanation_results(study, todo.data, scores, ratings, record)
        if isinstance(study, ExplanationStudy)
        else todo.kind.results(study, todo.data, scores, ratings)
    )
    tests = found.tests
    record = record.having(
        policy=dict(found.policy),
        tests=dict(tests.policy) if tests else None,
        **({"board": found.board.record(), "order": dict(found.order)} if found.kept else {}),
    )
    costs = costs_of(scores)
    board = board_of(found.board, record, by=found.order, tests=tests, costs=costs)
    # Seconds differ from run to run; these files are to depend on the scores alone.
    steady = replace(board, ranking=board.ranking and board.ranking.without("seconds_per_text"))
    with progress("report"):
        figures = [figure_of(sheet, found.order) for sheet in found.figures]
        report = report_of(
            todo.kind, todo.data, scores, ratings, found, record, board=board, costs=costs, figures=figures
        )
        page = report_page(report.payload(), static=board.to_html())
    told = notice(record.lost_sentences) + render(found.sheets, "md") if found.sheets else ""
    files: dict[str, pd.DataFrame | str] = {
        SCORES: scores.frame,
        TRUTH: ratings,
        **({VERDICTS: scores.verdicts} if scores.verdicts is not None else {}),
        **found.files,
        **({BOARD: found.board.frame} if found.kept else {}),
        **({RANKING: sheet_to_csv(board.ranking)} if board.ranking else {}),
        **({TESTS: to_csv(tests.frame)} if tests else {}),
        **({COSTS: costs, COST_TABLE: cost_table(costs)} if len(costs) else {}),
        **({DETAILS: told} if told else {}),
        **{f"leaderboard.{suffix}": FORMATS[suffix](steady) for suffix in ("csv", "md", "tex")},
        REPORT: page,
    }
    with progress("writing"):
        done = folder.finish({name: _writer(content) for name, content in files.items()}, record)
        return Run(todo.out, done, scores, _correlations(found, done), board)


def _correlations(found: Results, record: Record) -> Correlations:
    """Return what the board holds as correlations; of another kind of study there are none."""
    frame, simulated = found.files.get(CORRELATIONS), record.simulation
    if not isinstance(frame, pd.DataFrame):
        frame = pd.DataFrame(columns=Correlation._fields)
    return Correlations(frame, record.policy, record.kinds, simulated.data, frozenset(simulated.evaluators))


def _writer(content: pd.DataFrame | str) -> Callable[[Path], object]:
    def write(file: Path) -> None:
        if isinstance(content, str):
            file.write_text(content, encoding="utf-8", newline="\n")
        elif file.suffix == ".parquet":
            write_parquet(content, file)
        else:
            write_csv(content, file)

    return write
