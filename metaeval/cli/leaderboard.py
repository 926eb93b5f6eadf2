"""``metaeval leaderboard``: the table of a finished run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from metaeval.base.errors import MetaevalError
from metaeval.cli.group import talk, tell_lost, tell_uncalibrated
from metaeval.cli.options import PATH, several
from metaeval.cli.sheets import said_options, sheet_options, tell_tables


@click.command()
@click.argument("run_folders", metavar="RUN...", type=PATH, nargs=-1, required=True)
@several("--coefficient", "coefficient", help="Show only this one; may be given again.")
@click.option(
    "--by",
    "order",
    metavar="ASPECT,LEVEL,COEFFICIENT",
    help="Column that ranks the evaluators and is tested.",
)
@sheet_options
@talk
def leaderboard(
    run_folders: tuple[Path, ...],
    *,
    coefficient: tuple[str, ...],
    order: str | None,
    suffix: str,
    out: Path | None,
) -> None:
    """Print the leaderboard of the finished run in the folder RUN.

    Several runs stand side by side, one column per data set. They have no units in common, so nothing is
    ranked or tested.
    """
    from metaeval.reports import FORMATS
    from metaeval.study.results import read_board, read_boards
    from metaeval.study.steps import leaderboard_records

    if order and len(run_folders) > 1:
        raise MetaevalError("--by ranks and tests the evaluators of one run; leave it out, or give one RUN")
    first, *others = run_folders
    board = read_boards(run_folders, coefficient) if others else read_board(first, coefficient, order)

    board = replace(board, name="-".join([board.name, *said_options()]))

    def files(path: Path) -> dict[Path, str]:
        kind = path.suffix.lower().removeprefix(".")
        return {path: board.to_page() if kind == "html" else FORMATS[kind](board)}

    tell_tables(
        board.simulated, lambda: FORMATS[suffix](board), lambda: leaderboard_records(board), files, out
    )
    for folder in run_folders:
        tell_uncalibrated(folder)
    tell_lost(*run_folders)
