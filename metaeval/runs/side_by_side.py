"""The boards of several finished runs as one board, with a column per data set."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.engine.board import Board, BoardDimension
from metaeval.runs.finished import open_run
from metaeval.runs.joint import run_names

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from metaeval.runs.finished import OpenRun

DATASET = "dataset"


def board_of_runs(folders: Sequence[str | os.PathLike[str]]) -> Board:
    """Return what several runs found, with the data set as a further dimension.

    A run is called by its data set, or by its folder where two are of one data set. There are no tests:
    the runs have no units in common.

    Raises
    ------
    RunFolderError
        If one is no finished run.
    MetaevalError
        If they measured something else.
    """
    runs = {name: open_run(path, scores=False) for name, path in run_names(folders).items()}
    called = _called(runs)
    (first, one), *others = ((name, run.board) for name, run in runs.items())
    for name, board in others:
        if [d.name for d in board.dimensions] != [d.name for d in one.dimensions]:
            told = (", ".join(d.name for d in b.dimensions) for b in (one, board))
            raise MetaevalError(
                f"{first} and {name} cannot stand side by side: their numbers are by {' and by '.join(told)}"
            )
    boards = [run.board for run in runs.values()]
    dimensions = [
        replace(d, choices=reduce(or_, (dict(b.dimensions[i].choices) for b in boards)))
        for i, d in enumerate(one.dimensions)
    ]
    data_sets = BoardDimension(DATASET, {name: name for name in called}, "data set")
    return replace(
        one,
        frame=pd.concat([b.frame.assign(**{DATASET: n}) for n, b in zip(called, boards, strict=True)]),
        dimensions=(data_sets, *dimensions),
        columns=(DATASET, *one.columns[-1:]),
        intervals="",
        notes=tuple(note for note in one.notes if all(note in b.notes for b in boards)),
        kinds=reduce(or_, (dict(b.kinds) for b in reversed(boards))),
        simulated=reduce(or_, (b.simulated for b in boards)),
    )


def _called(runs: dict[str, OpenRun]) -> list[str]:
    names = [run.record.data.name for run in runs.values()]
    return names if len(set(names)) == len(names) else list(runs)
