"""What a study of slates finds out: its board, its own tables, sheets and figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from metaeval.analysis.verdicts.coherence import axioms_of
from metaeval.base.errors import one_of
from metaeval.base.progress import progress
from metaeval.base.spec import EvaluatorSpec
from metaeval.engine.results import RankedCell, Results
from metaeval.engine.sentences import interval_sentence
from metaeval.kinds.slates import files
from metaeval.kinds.slates.against import against_table
from metaeval.kinds.slates.agreement import agreement_table
from metaeval.kinds.slates.figures import FIGURES, slate_figures
from metaeval.kinds.slates.reading import duel_groups
from metaeval.kinds.slates.regret import DuelCells
from metaeval.kinds.slates.sheets import slate_sheets
from metaeval.kinds.slates.tables import difficulty_table, majority_table, regret_table
from metaeval.kinds.slates.verdicts import coherence_table, rated_verdicts, raters_of, verdict_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from metaeval.engine.board import Board
    from metaeval.engine.figures.figure import Figure
    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.scored import Scored
    from metaeval.kinds.slates.study import SlatesStudy


def results(scored: Scored[SlatesStudy]) -> Results:
    """Measure regret, accuracy and coherence, and test by every cell."""
    study, cells = scored.study, DuelCells(scored)
    with progress("regret"):
        board = cells.board()
        first = tuple(replace(d, first=study.by[d.name]) for d in board.dimensions)
        board = replace(board, dimensions=first)
        compared = [
            cells.compare(at, study.tests) for at in cells.every if study.tests and cells.entering(at)
        ]
        tests = next((found for found in compared if found.by == study.by), None)
        ranked = [RankedCell.of(board, found) for found in compared]
    scored.own.update(_tables(scored, cells, board))
    drawn, groups = figures(scored, board), duel_groups(cells)
    return Results(board, study.by, tests, ranked, figures=drawn, groups=groups, files=dict(scored.own))


def _tables(scored: Scored[SlatesStudy], cells: DuelCells, board: Board) -> dict[str, pd.DataFrame]:
    """Return the tables that only this kind has, without empty ones."""
    study, data = scored.study, scored.matched.aligned
    judges = axioms_of(verdict_rows(data, cells.table))
    rated = [*rated_verdicts(data, cells.table, raters_of(scored))]
    found = {
        files.UNITS: cells.table,
        files.REGRET: regret_table(cells, board, study.tests),
        files.DIFFICULTY: difficulty_table(cells, study.difficulty),
        files.COHERENCE: coherence_table(judges, rated, study.bootstrap),
        files.AGAINST: against_table(cells, judges, rated),
        files.AGREEMENT: agreement_table(cells),
        files.MAJORITY: majority_table(cells, _majorities(study.specs), study.tests),
    }
    return {name: table for name, table in found.items() if len(table)}


def _majorities(specs: Mapping[str, str]) -> dict[str, list[str]]:
    """Return majority → those of its members that are evaluators of the study themselves."""
    names = {spec: name for name, spec in specs.items()}
    read = {name: EvaluatorSpec.parse(spec) for name, spec in specs.items()}
    return {
        name: [names[str(part)] for part in spec.parts if str(part) in names]
        for name, spec in read.items()
        if spec.name == "Majority"
    }


def sheets(scored: Scored[SlatesStudy]) -> Iterator[Sheet]:
    """Yield the tables of the study's own as sheets."""
    options = scored.study.bootstrap
    intervals = interval_sentence(options.record(scored.matched.prepared)) if options else ""
    yield from slate_sheets(scored.own, options, intervals, scored.scores.simulation)


def figures(
    scored: Scored[SlatesStudy],
    board: Board,
    names: Sequence[str] = (),
    first: Mapping[str, str] | None = None,
) -> list[Figure]:
    """Draw regret by task and by difficulty, regret against coherence, and coherence."""
    for name in names:
        one_of(name, FIGURES, "there is no figure", "there are")
    drawn = slate_figures(scored.own, board, first or {})
    return [figure for figure in drawn if not names or figure.sheet.name in names]
