"""``metaeval leaderboard``: the table of a finished run."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.cli.group import talk, tell_lost, tell_uncalibrated
from metaeval.cli.options import run_argument, several
from metaeval.cli.sheets import sheet_options, tell_tables


@click.command()
@run_argument
@several("--coefficient", "coefficient", help="Show this one only; may be given again.")
@click.option(
    "--by", "order", metavar="ASPECT,LEVEL,COEFFICIENT", help="The column that orders and is tested."
)
@sheet_options
@talk
def leaderboard(
    run_folder: Path, *, coefficient: tuple[str, ...], order: str | None, suffix: str, out: Path | None
) -> None:
    """Print the leaderboard of the finished run in the folder RUN."""
    from metaeval.reports import FORMATS
    from metaeval.study.results import read_board
    from metaeval.study.steps import leaderboard_records

    board = read_board(run_folder, coefficient, order)

    def files(path: Path) -> dict[Path, str]:
        kind = path.suffix.lower().removeprefix(".")
        return {path: board.to_page() if kind == "html" else FORMATS[kind](board)}

    tell_tables(
        board.simulated, lambda: FORMATS[suffix](board), lambda: leaderboard_records(board), files, out
    )
    tell_uncalibrated(run_folder)
    tell_lost(run_folder)
