"""What a study of slates finds out: its board, its own tables, sheets and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.progress import progress
from metaeval.base.spec import EvaluatorSpec
from metaeval.engine.results import RankedCell, Results
from metaeval.kinds.slates import files
from metaeval.kinds.slates.regret import DuelCells
from metaeval.kinds.slates.tables import difficulty_table, majority_table, regret_table
from metaeval.kinds.slates.verdicts import coherence_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from metaeval.engine.board import Board
    from metaeval.kinds.scored import Scored
    from metaeval.kinds.slates.study import SlatesStudy


def results(scored: Scored[SlatesStudy]) -> Results:
    """Measure regret, accuracy and coherence, and test by the cell that orders the leaderboard."""
    study = scored.study
    cells = DuelCells(scored)
    with progress("regret"):
        board = cells.board()
        tested = [at for at in cells.every if study.tests and cells.entering(at)]
        compared = [cells.compare(at, study.tests) for at in tested if study.tests]
        tests = next((found for found in compared if found.by == study.by), None)
    scored.own.update(_tables(scored, cells, board))
    return Results(
        board, study.by, tests, [RankedCell.of(board, t) for t in compared], files=dict(scored.own)
    )


def _tables(scored: Scored[SlatesStudy], cells: DuelCells, board: Board) -> dict[str, pd.DataFrame]:
    """Return the tables that only this kind has, without empty ones."""
    study, units = scored.study, cells.table
    found = {
        files.UNITS: units,
        files.REGRET: regret_table(cells, board, study.tests),
        files.DIFFICULTY: difficulty_table(cells, study.difficulty),
        files.COHERENCE: coherence_table(scored, units),
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
