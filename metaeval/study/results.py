"""What a run found out: its leaderboard and its tests, made from its scores or read from its folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.engines import DUCKDB
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.records import Correlation, Correlations
from metaeval.base.spec import EvaluatorSpec
from metaeval.engine.paired_tests import Tests
from metaeval.judging.cost import costs_of
from metaeval.reports import Leaderboard, leaderboard
from metaeval.runs.finished import open_run, read_table
from metaeval.runs.folder import REPORT, read_record
from metaeval.runs.joint import cells_of
from metaeval.study.recorded_files import LEFT_OUT
from metaeval.study.specs import parts_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from metaeval.base.records import ScoreTable
    from metaeval.engine.board import Board, Cell
    from metaeval.engine.paired_tests import Comparisons
    from metaeval.runs.record import Record


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
        facts = self.facts
        of = counted(len(facts.evaluators), "evaluator"), counted(facts.data.units, "unit")
        return f"<Run {str(self.folder)!r}: {facts.title!r}, {' on '.join(of)}>"

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
    coefficients: Sequence[str] | None = None,
    *,
    name: str = "",
    by: Cell | None = None,
    tests: Comparisons | None = None,
    costs: pd.DataFrame | None = None,
) -> Leaderboard:
    """Return the leaderboard of a run, with what its ``run.json`` says of where the numbers come from.

    LaTeX labels begin with ``name``, or that of the study.
    """
    board = leaderboard(
        result,
        coefficients=coefficients,
        title=record.study.title or "",
        dataset=record.data.name,
        truth=record.truth.spec,
        simulated=record.data.simulated,
        name=name or record.study.name,
        signatures=record.signatures,
        by=by or record.order,
        tests=tests,
        costs=costs,
        lost=record.lost_sentences,
    )
    left_out = [LEFT_OUT] if record.policy.get("engine") == DUCKDB else []
    return replace(board, policy=(*board.policy, *_parts_of_truth(record), *left_out))


def _parts_of_truth(record: Record) -> list[str]:
    """Return a sentence on the evaluators that share people or scores with the truth, if there are any."""
    truth = parts_of(EvaluatorSpec.parse(record.truth.spec))
    specs = {name: EvaluatorSpec.parse(spec) for name, spec in record.specs.items()}
    shared = [name for name, spec in specs.items() if parts_of(spec) & truth]
    if not shared:
        return []
    return [f"These evaluators are part of the truth, which raises their correlation: {', '.join(shared)}."]


def read_back(folder: str | os.PathLike[str]) -> Run:
    """Return a finished run as `metaeval.run` returned it.

    Raises
    ------
    RunFolderError
        If it is no run folder, the run is not finished, or its files are not those that it wrote.
    """
    opened = open_run(folder, scores=False)
    record = opened.record
    board = board_of(opened.board, record, tests=opened.tests(), costs=costs_of(opened.scores))
    found = correlations_of(opened.table, record)
    return Run(opened.folder, record, opened.scores, found, board, already=True)


def correlations_of(table: pd.DataFrame, record: Record) -> Correlations:
    """Return the estimates of a run as correlations; of another kind of study there are none."""
    fields = [*Correlation._fields]
    there = {*fields} - {*Correlation._field_defaults} <= {*table.columns}
    frame = table.reindex(columns=fields) if there else pd.DataFrame(columns=fields)
    simulated = record.simulation
    return Correlations(frame, record.policy, record.kinds, simulated.data, frozenset(simulated.evaluators))


def read_board(
    folder: str | os.PathLike[str], coefficients: Sequence[str] | None = None, order_by: str | None = None
) -> Leaderboard:
    """Return the leaderboard of a finished run, with these coefficients, ordered by this column.

    Raises
    ------
    MetaevalError
        If it is no finished run, or it has no such coefficient or column to order by.
    """
    opened = open_run(folder, scores=False)
    board, record = opened.board, opened.record
    tables = board.tables
    for name in coefficients or ():
        if tables is None:
            raise MetaevalError(f"the run has no coefficients to choose from, such as {name!r}")
        one_of(name, list(tables.choices), f"the run has no {tables.title}")
    ordered = board.cell(record.order)
    by = board.cell(order_by, ordered)
    options = record.study.tests
    if by == ordered:
        tests = opened.tests()
    else:
        tests = cells_of(open_run(folder)).compare(by, Tests(**options)) if options else None
    costs = costs_of(opened.scores)
    name = Path(folder).resolve().name
    return board_of(board, record, coefficients or None, name=name, by=by, tests=tests, costs=costs)


def read_boards(
    folders: Sequence[str | os.PathLike[str]], coefficients: Sequence[str] | None = None
) -> Leaderboard:
    """Return the leaderboards of several finished runs as one: a column per data set, without a ranking.

    Raises
    ------
    MetaevalError
        If one is no finished run, they measured something else, or there is no such coefficient.
    """
    from metaeval.runs.side_by_side import board_of_runs

    board, records = board_of_runs(folders), [read_record(Path(folder)) for folder in folders]
    known = next((d for d in board.dimensions if d.name == "coefficient"), None)
    for name in coefficients or ():
        one_of(name, list(known.choices if known else ()), "the runs have no coefficient")
    shown = board.only("coefficient", coefficients) if coefficients else board
    truths = dict.fromkeys(record.truth.spec for record in records)
    lost = [sentence for record in records for sentence in record.lost_sentences]
    found = leaderboard(shown, truth=" or ".join(truths), lost=lost, name="runs")
    return replace(found, ranking=None)


def read_run(folder: str | os.PathLike[str]) -> tuple[Correlations, Record]:
    """Read the correlations of a finished run, and what its ``run.json`` says.

    Raises
    ------
    RunFolderError
        If it is no run folder, the run is not finished, or its files are not those that it wrote.
    """
    path = Path(folder)
    record = read_record(path)
    return correlations_of(read_table(path, record), record), record
