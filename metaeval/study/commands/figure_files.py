"""The figures of a run as files: drawn in each format that is wanted, with the data of each beside them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.files import replacing, write_text
from metaeval.kinds.kind import kind_named
from metaeval.reports.drawing import check_drawing, draw
from metaeval.reports.sheets import sheet_to_csv
from metaeval.runs.finished import open_run

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from metaeval.engine.figures.figure import Figure
    from metaeval.runs.finished import OpenRun


def figures_of_run(
    run: OpenRun, *, names: Sequence[str] = (), first: Mapping[str, str] | None = None
) -> Sequence[Figure]:
    """Return the figures of a finished run; the arguments are those of `StudyKind.figures`.

    Raises
    ------
    MetaevalError
        If a name is not that of a figure, or the run has no such dimension or value.
    """
    dimensions = {d.name: list(d.choices) for d in run.board.dimensions}
    for column, value in (first or {}).items():
        one_of(value, dimensions.get(column, []), f"the run has no {column}", "it has")
    return kind_named(run.record.study.kind).figures(run.scored, run.board, names, first)


def write_figures(
    folder: str | os.PathLike[str],
    suffixes: Sequence[str] = ("svg",),
    out: str | os.PathLike[str] | None = None,
    *,
    names: Sequence[str] = (),
    first: Mapping[str, str] | None = None,
    scale: float = 2.0,
    bare: bool = False,
) -> list[Path]:
    """Write the figures of a finished run, and the data of each as CSV; return the paths.

    Parameters
    ----------
    folder
        The run.
    suffixes
        Any of ``png``, ``svg`` and ``pdf``.
    out
        Where to; the folder ``figures`` in the run's, if left out.
    names, first
        As in `figures_of_run`.
    scale
        Pixels of a PNG for each of the chart's.
    bare
        Without title and caption.

    Raises
    ------
    MetaevalError
        If the run is none, or has no such figure, aspect, level or coefficient, or the optional library
        that draws is not there.
    """
    check_drawing()
    run = open_run(folder)
    target = run.folder / "figures" if out is None else Path(out)
    figures = figures_of_run(run, names=names, first=first)
    if not names and not figures:
        raise MetaevalError(f"the run in {run.folder} has no data for a figure")
    made = [figure.sheet.name for figure in figures]
    for name in names:
        if name not in made:
            have = f"it has: {', '.join(f.sheet.name for f in figures_of_run(run))}"
            raise MetaevalError(f"the run in {run.folder} has no data for a figure {name!r} ({have})")
    written = []
    for figure in figures:
        for suffix in dict.fromkeys(suffixes):
            path = target / f"{figure.sheet.name}.{suffix}"
            content = draw(figure, suffix, scale=scale, bare=bare)
            with replacing(path) as temporary:
                temporary.write_bytes(content)
            written.append(path)
        path = target / f"{figure.sheet.name}.csv"
        write_text(path, sheet_to_csv(figure.sheet))
        written.append(path)
    return written
