"""Evaluators of several runs side by side, each tested against itself; and every two evaluators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from metaeval.base.simulation import MARK
from metaeval.engine.board import ESTIMATES
from metaeval.engine.sentences import tests_sentence
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.resampling.multiplicity import benjamini_hochberg, holm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.engine.board import Board, Cell
    from metaeval.engine.cells import Cells
    from metaeval.engine.paired_tests import Comparisons, Tests


def side_by_side(
    cells: Cells,
    board: Board,
    columns: Mapping[str, Mapping[str, str]],
    tests: Tests,
    *,
    changed: Mapping[str, Sequence[str]] | None = None,
    notes: Sequence[str] = (),
) -> Sheet:
    """Put the evaluators of several runs side by side, and test each against itself in another run.

    Parameters
    ----------
    cells
        Scores of all runs and one truth; each evaluator of each run has a name of its own.
    board
        Their estimates, in the cell that it shows first.
    columns
        Evaluator → run that has it → its name in ``cells``; all in the order to be shown.
    tests
        Options; p-values are corrected over the evaluators whose scores differ between their two runs.
    changed
        Evaluator → what differs between its runs.
    notes
        Further notes of the sheet.

    Returns
    -------
    Sheet
        ``runs``: a row per evaluator, with ``estimate``, ``ci_low``, ``ci_high`` and counts ``@ RUN`` for
        each run; ``difference``: the ``last`` run that has it less the ``first``; ``p``, ``p_corrected``.
    """
    cell = {d.name: d.first for d in board.dimensions}
    counts = {"n_units": "", **board.counts}
    runs = list(dict.fromkeys(run for of_run in columns.values() for run in of_run))
    numbers = board.of(cell).set_index("evaluator")
    fields = [*ESTIMATES, *(c for c in counts if c in numbers)]
    together = sum(len(of_run) > 1 for of_run in columns.values())
    tested = {e: _tested(cells, cell, [*of_run.values()], tests, together) for e, of_run in columns.items()}
    rows: list[dict[str, Any]] = []
    for evaluator, of_run in columns.items():
        in_runs = list(of_run)
        defined = bool(numbers.loc[[*of_run.values()], "estimate"].notna().all())
        row: dict[str, Any] = {
            "evaluator": evaluator,
            "label": f"{evaluator}{MARK}" if board.simulated.among(of_run.values()).evaluators else evaluator,
            "first": in_runs[0],
            "last": in_runs[-1],
            "difference": tested[evaluator].difference if defined else math.nan,
            "p": tested[evaluator].p,
            "changed": ", ".join((changed or {}).get(evaluator, ())),
        }
        for run, name in of_run.items():
            row |= {f"{field} @ {run}": numbers.loc[name, field] for field in fields}
        rows.append(row)
    of_runs = [f"{field} @ {run}" for run in runs for field in fields]
    names = ["evaluator", "label", *of_runs, "first", "last", "difference", "p", "p_corrected", "changed"]
    frame = pd.DataFrame(rows, columns=names)
    corrected = {"holm": holm, "bh": benjamini_hochberg}.get(tests.correction)
    frame["p_corrected"] = corrected(frame["p"].to_numpy()) if corrected else frame["p"]
    return Sheet(
        "runs",
        "Evaluators in each run",
        frame,
        _columns(frame, runs, tests, board),
        (*notes, *_said(board, cells, cell, [*tested.values()]), *_unpaired(columns, runs)),
        board.simulated,
    )


def pairs_sheet(tests: Comparisons, board: Board) -> Sheet:
    """Return the tests of every two evaluators: sheet ``tests``, with the columns of `Comparisons.frame`."""
    frame = tests.frame
    for side in ("first", "second"):
        frame[f"{side}_label"] = [board.simulated.label(name) for name in frame[side]]
    corrected = {"holm": "p_holm", "bh": "p_bh"}.get(tests.policy["correction"])
    columns = [
        Column("first_label", "evaluator"),
        Column("second_label", "against"),
        Column("difference", "difference", board.form),
        Column("p", "p", "p"),
    ]
    if corrected:
        columns.append(Column(corrected, "corrected p", "p"))
    if frame["p_williams"].notna().any():
        columns.append(Column("p_williams", "Williams' p", "p"))
    said = board.words(board.cell(tests.by))
    notes = [f"Differences of {said}; the better of the two stands first."]
    if len(frame):
        notes.append(tests_sentence(tests.policy))
    return Sheet("tests", "Paired tests", frame, tuple(columns), tuple(notes), board.simulated)


class _Tested(NamedTuple):
    """An evaluator of the last run against itself in the first; NaN and None if not tested."""

    difference: float = math.nan
    p: float = math.nan
    policy: Mapping[str, Any] | None = None


def _tested(cells: Cells, cell: Cell, names: Sequence[str], tests: Tests, together: int) -> _Tested:
    if len(names) < 2:
        return _Tested()
    last, first = names[-1], names[0]
    if cells.same(cell, last, first):
        # Not tested, so p-values are not corrected for it.
        return _Tested(difference=0.0)
    found = cells.compare(cell, tests, evaluators=[last, first], corrected_with=together)
    return _Tested(float(found.difference[0, 1]), float(found.p[0, 1]), found.policy)


def _columns(frame: pd.DataFrame, runs: Sequence[str], tests: Tests, board: Board) -> tuple[Column, ...]:
    columns = [Column("label", "evaluator")]
    columns += [
        Column(f"estimate @ {run}", run, board.form, f"ci_low @ {run}", f"ci_high @ {run}") for run in runs
    ]
    if frame["difference"].notna().any():
        columns.append(Column("difference", "difference", board.form))
    if frame["p"].notna().any():
        columns.append(Column("p", "p", "p"))
        if tests.correction != "none":
            columns.append(Column("p_corrected", "corrected p", "p"))
    if frame["changed"].any():
        columns.append(Column("changed", "what changed"))
    for count, title in board.counts.items():
        for run in runs:
            if frame[f"{count} @ {run}"].fillna(0).any():
                columns.append(Column(f"{count} @ {run}", f"{title}, {run}", "count"))
    return tuple(columns)


def _said(board: Board, cells: Cells, cell: Cell, tested: Sequence[_Tested]) -> list[str]:
    said = [f"Cells hold {board.words(cell)}."]
    if (entering := cells.entering(cell)) is not None:
        said.append(f"{entering:,} units: those that all evaluators of all runs scored.")
    if board.frame["ci_low"].notna().any():
        second = board.second_of(cell)
        said += filter(None, [board.intervals, second.intervals if second else ""])
    if any(not math.isnan(test.difference) for test in tested):
        units = "" if cells.common else ", on the units that it scored in both"
        said.append(
            f"The difference is the last run with the evaluator minus the first{units}; an evaluator with "
            "the same scores in both is not tested."
        )
    policies = [test.policy for test in tested if test.policy is not None]
    if policies:
        least = max(policy["least_p"] for policy in policies)
        n = sum(not math.isnan(test.p) for test in tested)
        said.append(tests_sentence({**policies[0], "least_p": least, "pairs": n}))
    return said


def _unpaired(columns: Mapping[str, Mapping[str, str]], runs: Sequence[str]) -> list[str]:
    """Say what to do where one judge replaced another: without a short name it is named by its spec."""
    alone = sum(len(of_run) == 1 for of_run in columns.values())
    if len(runs) < 2 or not alone:
        return []
    matched = f"Evaluators are matched by name; {alone:,} of {len(columns):,} are in one run only"
    way = "give them the same short name in the studies, or use metaeval compare --all-pairs"
    return [f"{matched}, and so not tested: {way}."]
