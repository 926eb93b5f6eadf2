"""What a study of exposure finds out: its board, its own tables, sheets and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from metaeval.base.errors import one_of
from metaeval.base.progress import progress
from metaeval.engine.results import RankedCell, Results
from metaeval.engine.sentences import interval_sentence
from metaeval.kinds.exposure import files
from metaeval.kinds.exposure.ablations import ablation_table
from metaeval.kinds.exposure.calibration.figures import FIGURES as CURVES
from metaeval.kinds.exposure.calibration.figures import calibration_figures
from metaeval.kinds.exposure.calibration.results import calibration_tables
from metaeval.kinds.exposure.calibration.sheets import calibration_sheets
from metaeval.kinds.exposure.evidence import evidence_table, invented_table
from metaeval.kinds.exposure.figures import FIGURES, exposure_figures
from metaeval.kinds.exposure.off_policy.report import policy_sheets, policy_tables
from metaeval.kinds.exposure.pair_auc import ALL, PairCells, pair_auc_table
from metaeval.kinds.exposure.propensity.report import log_found, log_sheets
from metaeval.kinds.exposure.reading import pair_groups
from metaeval.kinds.exposure.sheets import exposure_sheets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.engine.board import Board
    from metaeval.engine.figures.figure import Figure
    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.exposure.study import ExposureStudy
    from metaeval.kinds.scored import Scored


def results(scored: Scored[ExposureStudy]) -> Results:
    """Measure PairAUC and RJS, and test by every cell of all bins together."""
    study, cells = scored.study, PairCells(scored)
    with progress("pairs"):
        board = cells.board()
        tested = [at for at in cells.every if at["bin"] == ALL or at == study.by]
        compared = [cells.compare(at, study.tests) for at in tested if study.tests and cells.entering(at)]
        tests = next((found for found in compared if found.by == study.by), None)
        ranked = [RankedCell.of(board, found) for found in compared]
    scored.own.update(_tables(scored, cells, board) | _of_the_log(scored))
    drawn = figures(scored, board)
    return Results(
        board, study.by, tests, ranked, figures=drawn, groups=pair_groups(cells), files=dict(scored.own)
    )


def _tables(scored: Scored[ExposureStudy], cells: PairCells, board: Board) -> dict[str, pd.DataFrame]:
    """Return the tables that only this kind has, without empty ones."""
    study = scored.study
    ablations = [ablation_table(one, cells, study.specs, study.tests) for one in study.ablations]
    found = {
        files.UNITS: cells.table,
        files.PAIR_AUC: pair_auc_table(cells, board),
        files.ABLATIONS: pd.concat(ablations, ignore_index=True) if ablations else pd.DataFrame(),
        files.EVIDENCE: evidence_table(cells),
        files.INVENTED: invented_table(cells),
    }
    return {name: table for name, table in found.items() if len(table)}


def _of_the_log(scored: Scored[ExposureStudy]) -> dict[str, pd.DataFrame]:
    """Return overlap, means, values of policies and recommenders, and maps from judges' scores to these."""
    study = scored.study
    given, found = log_found(scored.data, study.propensity, study.bootstrap)
    with progress("policies"):
        found |= policy_tables(scored.data, study)
    with progress("recommenders"):
        return found | calibration_tables(scored, given)


def sheets(scored: Scored[ExposureStudy]) -> Iterator[Sheet]:
    """Yield the tables of the study's own as sheets."""
    options = scored.study.bootstrap
    intervals = interval_sentence(options.record(scored.matched.prepared)) if options else ""
    study, simulated = scored.study, scored.scores.simulation
    yield from exposure_sheets(scored.own, intervals, simulated)
    yield from log_sheets(scored.own, study.propensity, study.bootstrap, simulated.among(()))
    yield from policy_sheets(scored.own, study, simulated.among(()))
    yield from calibration_sheets(scored.own, study, simulated)


def figures(
    scored: Scored[ExposureStudy],
    board: Board,
    names: Sequence[str] = (),
    first: Mapping[str, str] | None = None,
) -> list[Figure]:
    """Draw agreement weighted and unweighted and by bin, and the curves of the calibration link."""
    for name in names:
        one_of(name, (*FIGURES, *CURVES), "there is no figure", "there are")
    drawn = [*exposure_figures(scored.own, board, first or {})]
    drawn += calibration_figures(scored.own, board.simulated, first or {})
    return [figure for figure in drawn if not names or figure.sheet.name in names]
