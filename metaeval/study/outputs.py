"""The scores of a run → all that its folder holds: correlated, tested, analysed, reported, written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from metaeval.base.formulas import to_csv
from metaeval.base.progress import progress
from metaeval.base.records import USER_RATER, ScoreTable
from metaeval.engine.out_of_core.cube import Loaded
from metaeval.judging.cost import costs_of
from metaeval.reports import FORMATS
from metaeval.reports.escapes import notice
from metaeval.reports.report.page import report_page
from metaeval.reports.sheets import cost_table, render, sheet_to_csv
from metaeval.runs.folder import (
    COST_TABLE,
    COSTS,
    DETAILS,
    RANKING,
    RATERS,
    REPORT,
    SCORES,
    TESTS,
    TRUTH,
    VERDICTS,
    RunFolder,
)
from metaeval.runs.record import Record
from metaeval.study.report import report_of
from metaeval.study.results import Run, board_of, correlations_of
from metaeval.study.unread import bounded

if TYPE_CHECKING:
    from metaeval.study.plan import Plan


def write_outputs(
    todo: Plan,
    folder: RunFolder,
    record: Record,
    scores: ScoreTable,
    ratings: pd.DataFrame,
    *,
    loaded: Loaded | None = None,
) -> Run:
    """Make everything that a run finds out of its scores, and write it.

    ``record`` is what ``run.json`` says, but for what is found out here; ``ratings`` the truth (key columns,
    ``aspect``, ``rating``); ``loaded`` both scores and truth, if they do not fit in memory.
    """
    kind, data = todo.kind, todo.data
    people = data.ratings[~data.ratings["rater"].isin([USER_RATER, *getattr(data, "models", ())])]
    raters = people if len(people) else None
    scored = kind.scored(kind, todo.study, data.scale, data.cluster, scores, ratings, raters, data, loaded)
    results = kind.results(scored)
    # Scores that do not fit in memory have no tables of a kind's own.
    tables = [table for table in kind.tables if table.kept and loaded is None]
    with progress("details"):
        wanted = todo.study.details and loaded is None
        sheets = kind.details(scored) if wanted else ()
        views = {"generators": kind.generators(scored), "details": sheets} if wanted else {}
    if record.unread:
        record = record.having(unread=[bounded(replies, kind, scored, results) for replies in record.unread])
    record = record.having(
        policy=dict(results.policy),
        tests=dict(results.tests.policy) if results.tests else None,
        board=results.board.record(),
        board_file=kind.board_file,
        order=dict(results.order),
    )
    costs = costs_of(scores)
    board = board_of(results.board, record, by=results.order, tests=results.tests, costs=costs)
    # Seconds differ from run to run; these files are to depend on the scores alone.
    steady = replace(board, ranking=board.ranking and board.ranking.without("seconds_per_text"))
    with progress("report"):
        report = report_of(kind, data, scored, results, record, board=board, costs=costs, views=views)
        page = report_page(report.payload(), static=board.to_html())
    details = notice(record.lost_sentences) + render(sheets, "md") if sheets else ""
    table = results.board.frame if results.table is None else results.table
    files: dict[str, pd.DataFrame | str | Loaded] = {
        SCORES: scores.frame if loaded is None else loaded,
        TRUTH: ratings,
        **({VERDICTS: scores.verdicts} if scores.verdicts is not None else {}),
        **({RATERS: raters} if raters is not None else {}),
        kind.board_file: table,
        **{table.file: frame for table in tables if len(frame := scored.table(table))},
        **results.files,
        **({RANKING: sheet_to_csv(board.ranking)} if board.ranking else {}),
        **({TESTS: to_csv(results.tests.frame)} if results.tests else {}),
        **({COSTS: costs, COST_TABLE: cost_table(costs)} if len(costs) else {}),
        **({DETAILS: details} if details else {}),
        **{f"leaderboard.{suffix}": FORMATS[suffix](steady) for suffix in ("csv", "md", "tex")},
        REPORT: page,
    }
    with progress("writing"):
        writers = {name: _writer(content, data.keys) for name, content in files.items()}
        done = folder.finish(writers, record)
        return Run(todo.out, done, scores, correlations_of(table, done), board)


def _writer(content: pd.DataFrame | str | Loaded, keys: Sequence[str]) -> Callable[[Path], object]:
    def write(file: Path) -> None:
        if isinstance(content, Loaded):
            content.write_scores(keys, file)
        elif isinstance(content, str):
            file.write_text(content, encoding="utf-8", newline="\n")
        elif file.suffix == ".parquet":
            content.to_parquet(file, index=False)
        else:
            to_csv(content, file)

    return write
