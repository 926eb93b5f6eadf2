"""``metaeval figures``: the figures of a run as files to publish."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.cli.group import begin, talk, tell, tell_json, tell_lost, tell_simulated
from metaeval.cli.options import run_argument, several


@click.command()
@run_argument
@several(
    "--format",
    "suffixes",
    type=click.Choice(["png", "svg", "pdf"]),
    default=["svg"],
    show_default=True,
    help="Format of the files; may be given again.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write to.  [default: figures in RUN]",
)
@several("--figure", "names", metavar="NAME", help="Figure to draw; may be given again.  [default: all]")
@click.option("--aspect", help="Aspect, in figures of one aspect.")
@click.option("--level", help="Level, in figures of one level.")
@click.option("--coefficient", help="Coefficient, in figures of one coefficient.")
@click.option(
    "--scale",
    type=click.FloatRange(0.1, 10),
    default=2,
    show_default=True,
    help="Scale of a PNG.",
)
@click.option("--bare", is_flag=True, help="Without title and caption, for a paper.")
@talk
def figures(
    run_folder: Path,
    *,
    suffixes: tuple[str, ...],
    out: Path | None,
    names: tuple[str, ...],
    scale: float,
    bare: bool,
    **wanted: str | None,
) -> None:
    """Draw the figures of the finished run in the folder RUN, and write the data of each as CSV.

    ranking (a forest plot), distributions (of the scores), likeness (evaluator by evaluator), prompting
    (zero-shot, one-shot, personalized), ensembles (accuracy by number of judges), cost (and accuracy) and
    user_bias (by user), as far as the run has data for them. Needs metaeval[figures].
    """
    from metaeval.runs.folder import read_record
    from metaeval.study.commands.figure_files import write_figures

    begin()
    first = {column: value for column, value in wanted.items() if value is not None}
    paths = write_figures(run_folder, suffixes, out, names=names, first=first, scale=scale, bare=bare)
    for path in paths:
        tell(str(path))
    tell_simulated(read_record(run_folder).simulation)
    tell_json({"files": [str(path) for path in paths]})
    tell_lost(run_folder)
