"""The scores of a run → all that its folder holds: correlated, tested, analysed, reported, written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from metaeval.base.formulas import to_csv
from metaeval.base.progress import progress
from metaeval.base.records import USER_RATER
from metaeval.engine.out_of_core.loading import Loaded
from metaeval.engine.out_of_core.recorded import write_scores
from metaeval.judging.cost import costs_of
from metaeval.kinds.scored import Scored
from metaeval.reports import FORMATS
from metaeval.reports.cost_table import cost_table
from metaeval.reports.report.page import report_page
from metaeval.reports.sheets import render, sheet_to_csv
from metaeval.reports.words import notice
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
    write_csv,
    write_parquet,
)
from metaeval.study.report import report_of
from metaeval.study.results import Run, board_of, correlations_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pandas as pd

    from metaeval.base.records import ScoreTable
    from metaeval.runs.record import Record
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

    Parameters
    ----------
    todo, folder
        The study, and where its outputs go.
    record
        What ``run.json`` says, but for what is found out here.
    scores, ratings
        What was scored, and the truth (key columns, ``aspect``, ``rating``).
    loaded
        Both, if the scores do not fit in memory.
    """
    kind, data = todo.kind, todo.data
    people = data.ratings[~data.ratings["rater"].isin([USER_RATER, *getattr(data, "models", ())])]
    raters = people if len(people) else None
    scored = Scored(todo.study, data.scale, data.cluster, scores, ratings, raters, data, loaded)
    found = kind.results(scored)
    with progress("details"):
        wanted = todo.study.details and loaded is None
        sheets = kind.details(scored) if wanted else ()
        views = {"generators": kind.generators(scored), "details": sheets} if wanted else {}
    record = record.having(
        policy=dict(found.policy),
        tests=dict(found.tests.policy) if found.tests else None,
        board=found.board.record(),
        board_file=kind.board_file,
        order=dict(found.order),
    )
    costs = costs_of(scores)
    board = board_of(found.board, record, by=found.order, tests=found.tests, costs=costs)
    # Seconds differ from run to run; these files are to depend on the scores alone.
    steady = replace(board, ranking=board.ranking and board.ranking.without("seconds_per_text"))
    with progress("report", 3) as advance:
        report = report_of(kind, data, scored, found, record, board=board, costs=costs, views=views)
        advance()
        payload = report.payload()
        advance()
        page = report_page(payload, static=board.to_html())
        advance()
    told = notice(record.lost_sentences) + render(sheets, "md") if sheets else ""
    table = found.board.frame if found.table is None else found.table
    files: dict[str, pd.DataFrame | str | Loaded] = {
        SCORES: scores.frame if loaded is None else loaded,
        TRUTH: ratings,
        **({VERDICTS: scores.verdicts} if scores.verdicts is not None else {}),
        **({RATERS: raters} if raters is not None else {}),
        kind.board_file: table,
        **found.files,
        **({RANKING: sheet_to_csv(board.ranking)} if board.ranking else {}),
        **({TESTS: to_csv(found.tests.frame)} if found.tests else {}),
        **({COSTS: costs, COST_TABLE: cost_table(costs)} if len(costs) else {}),
        **({DETAILS: told} if told else {}),
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
            write_scores(content, keys, file)
        elif isinstance(content, str):
            file.write_text(content, encoding="utf-8", newline="\n")
        elif file.suffix == ".parquet":
            write_parquet(content, file)
        else:
            write_csv(content, file)

    return write
