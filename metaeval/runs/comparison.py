"""Finished runs → sheets: what changed between them, and paired tests of their evaluators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.errors import MetaevalError, nearest
from metaeval.base.records import AVERAGE
from metaeval.engine.board import read_cell
from metaeval.engine.paired_tests import Tests
from metaeval.engine.ranking import ranking
from metaeval.runs.changes import evaluator_changes, run_changes
from metaeval.runs.joint import join_runs
from metaeval.runs.sheets import pairs_sheet, side_by_side

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from metaeval.engine.board import Cell
    from metaeval.engine.paired_tests import Comparisons
    from metaeval.engine.sheet import Sheet
    from metaeval.runs.joint import JoinedRuns


def compare_runs(
    folders: Sequence[str | os.PathLike[str]],
    *,
    by: str | Cell | None = None,
    correction: str | None = None,
    permutations: int | None = None,
    seed: int | None = None,
    all_pairs: bool = False,
    policy_of: str | os.PathLike[str] | None = None,
) -> list[Sheet]:
    """Compare the evaluators of one finished run, or several runs, by paired tests.

    Runs are compared on the units that all of them have, under one policy; each run's scores are those that
    it wrote.

    Parameters
    ----------
    folders
        Of the runs, the oldest first; they are named by their folders.
    by
        The cell that is tested, as a mapping or as ``aspect,level,coefficient``.
    correction, permutations, seed
        Of the tests, as for `metaeval.compare`.
    all_pairs
        Whether every two evaluators of all runs are tested, too.
    policy_of
        The run that rules, by folder or name: its policy, intervals and tests hold for all, and whatever is
        left out here is as in its study. If None, it is the first run, and all policies must be the same.

    Returns
    -------
    list of Sheet
        Of one run ``tests``, of every two evaluators. Of several runs ``changes`` (see `run_changes`) and
        ``runs`` (see `side_by_side`); with ``all_pairs`` also ``ranking``, with rank clusters, and ``tests``.

    Raises
    ------
    RunFolderError
        If a folder holds no finished run.
    MetaevalError
        If the runs cannot be compared, or an option is wrong.
    """
    joined = join_runs(folders, policy_of=policy_of)
    given = {"correction": correction, "permutations": permutations, "seed": seed}
    asked = {k: v for k, v in given.items() if v is not None}
    tests = Tests.model_validate({**(joined.study.tests or {}), **asked})
    cell = _cell(joined, by)
    sheets: list[Sheet] = []
    several = len(joined.runs) > 1
    cells = joined.cells
    board = cells.board(cell, intervals=several or all_pairs)
    if several:
        records = joined.records
        changed = {
            name: list(dict.fromkeys(key.partition(".")[0] for key in evaluator_changes(records, name)))
            for name in joined.columns
        }
        sheets.append(run_changes(records, joined.notes))
        sheets.append(side_by_side(cells, board, joined.columns, tests, changed=changed, notes=joined.notes))
    if not several or all_pairs:
        found = _kept_tests(joined, cell, tests) or cells.compare(cell, tests)
        sheets += [ranking(board, tests=found)] if all_pairs else []
        sheets.append(pairs_sheet(found, board))
    return sheets


def _kept_tests(joined: JoinedRuns, cell: Cell, tests: Tests) -> Comparisons | None:
    """Return the tests that a single run wrote, if they are those that are asked for."""
    if len(joined.runs) > 1:
        return None
    (run,) = joined.runs.values()
    options = run.record.study.tests
    same = options is not None and Tests(**options) == tests
    return run.tests() if same and cell == run.record.order else None


def _cell(joined: JoinedRuns, wanted: str | Cell | None) -> Cell:
    """Read a cell; a dimension that is left out is as in the study, if all runs have it."""
    known = [*joined.aspects, AVERAGE]
    standard = dict(joined.runs[joined.ruling].record.order)
    if standard.get("aspect", known[0]) not in known:
        standard["aspect"] = known[0] if len(joined.aspects) == 1 else AVERAGE
    cell = read_cell(wanted, standard)
    aspect = cell.get("aspect", known[0])
    if aspect not in known:
        raise MetaevalError(
            f"no aspect {aspect!r} is in all runs{nearest(aspect, known)} (in all: {', '.join(known)})"
        )
    return cell
