"""The scores of a run → all that its folder holds: correlated, tested, analysed, reported, written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from metaeval.base.formulas import to_csv
from metaeval.base.progress import progress
from metaeval.base.records import USER_RATER
from metaeval.engine.correlation import correlated
from metaeval.engine.matched import Matched
from metaeval.judging.cost import costs_of
from metaeval.kinds.explanations.study import ExplanationStudy
from metaeval.reports import FORMATS
from metaeval.reports.cost_table import cost_table
from metaeval.reports.report.page import report_page
from metaeval.reports.sheets import sheet_to_csv, to_markdown
from metaeval.reports.words import notice
from metaeval.runs.folder import (
    CORRELATIONS,
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
    write_csv,
    write_parquet,
)
from metaeval.study.commands.details import details_of
from metaeval.study.figures import figures_of
from metaeval.study.report import report_of
from metaeval.study.results import Run, board_of, tests_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd

    from metaeval.base.records import ScoreTable
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
    if not isinstance(study, ExplanationStudy):
        raise NotImplementedError
    policy = study.policy
    with progress("correlating"):
        matched = Matched(scores, ratings, policy)
        result = correlated(matched.prepared, scores, study.bootstrap)
    with progress("testing"):
        tests = tests_of(matched.prepared, study.by, study.tests)
    record = record.having(policy=dict(result.policy), tests=dict(tests.policy) if tests else None)
    costs = costs_of(scores)
    board = board_of(result, record, tests=tests, costs=costs)
    # Seconds differ from run to run; these files are to depend on the scores alone.
    steady = replace(board, ranking=board.ranking and board.ranking.without("seconds_per_text"))
    raters = todo.data.ratings[todo.data.ratings["rater"] != USER_RATER]
    rated = raters if len(raters) else None
    with progress("details"):
        details = details_of(matched, rated, record) if study.details else []
    with progress("figures"):
        figures = figures_of(matched, rated, record, result.frame)
    with progress("report"):
        report = report_of(
            todo.data,
            matched,
            result,
            record,
            board=board,
            tests=tests,
            costs=costs,
            figures=figures,
            sheets=details,
        )
        page = report_page(report.payload(), static=board.to_html())
    writers = {
        SCORES: lambda file: write_parquet(scores.frame, file),
        TRUTH: lambda file: write_parquet(ratings, file),
        **({RATERS: lambda file: write_parquet(raters, file)} if rated is not None else {}),
        **({VERDICTS: _parquet_writer(scores.verdicts)} if scores.verdicts is not None else {}),
        CORRELATIONS: lambda file: write_csv(result.frame, file),
        **({RANKING: _writer(sheet_to_csv(board.ranking))} if board.ranking else {}),
        **({TESTS: _writer(to_csv(tests.frame))} if tests else {}),
        **(
            {COSTS: lambda file: write_csv(costs, file), COST_TABLE: _writer(cost_table(costs))}
            if len(costs)
            else {}
        ),
        **({DETAILS: _writer(notice(record.lost_sentences) + to_markdown(details))} if details else {}),
        **{f"leaderboard.{suffix}": _writer(FORMATS[suffix](steady)) for suffix in ("csv", "md", "tex")},
        REPORT: _writer(page),
    }
    with progress("writing"):
        return Run(todo.out, folder.finish(writers, record), scores, result, board)


def _writer(text: str) -> Callable[[Path], object]:
    return lambda file: file.write_text(text, encoding="utf-8", newline="\n")


def _parquet_writer(frame: pd.DataFrame) -> Callable[[Path], object]:
    return lambda file: write_parquet(frame, file)
