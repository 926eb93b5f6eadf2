"""Finished runs: leaderboards, comparisons, figures, pages, a site, a list; published tables made again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.cli.messages import (
    begin,
    talk,
    tell,
    tell_address,
    tell_json,
    tell_lost,
    tell_simulated,
    tell_uncalibrated,
)
from metaeval.cli.options import PATH, flag, option, served, several
from metaeval.cli.sheets import options_typed, prints_sheets, sheet_options, tell_sheets, tell_tables

if TYPE_CHECKING:
    from metaeval.kinds.study import Interval

_runs = click.argument("folders", metavar="RUN...", type=PATH, nargs=-1, required=True)


@click.command()
@_runs
@several("--coefficient coefficient", "Show only this one; may be given again.")
@option("--by order", "Column that ranks the evaluators and is tested.", metavar="ASPECT,LEVEL,COEFFICIENT")
@option("--interval", "Of members of families.  [default: the study's]", ["clusters", "total"])
@option("--width", "Of tables in LaTeX.", metavar="column|text|LENGTH", default="text")
@sheet_options
@talk
def leaderboard(
    folders: tuple[Path, ...],
    *,
    coefficient: tuple[str, ...],
    order: str | None,
    interval: Interval | None,
    width: str,
    suffix: str,
    out: Path | None,
) -> None:
    """Print the leaderboard of the finished run in the folder RUN.

    Several runs stand side by side, one column per data set. They have no units in common, so nothing is
    ranked or tested.
    A table in LaTeX is as wide as a column or the text of a paper in two columns, or a LENGTH such as 120mm.
    """
    from metaeval.reports.leaderboards import FORMATS
    from metaeval.study.results import read_board, read_boards
    from metaeval.study.steps import leaderboard_records

    if (order or interval) and len(folders) > 1:
        raise MetaevalError(
            f"{'--by' if order else '--interval'} is about the evaluators of one run; leave it out, or give "
            "one RUN"
        )
    first, *others = folders
    board = read_boards(folders, coefficient) if others else read_board(first, coefficient, order, interval)
    board = replace(board, name="-".join([board.name, *options_typed()]))

    def written(kind: str) -> str:
        return board.to_latex(width) if kind == "tex" else FORMATS[kind](board)

    def files(path: Path) -> dict[Path, str]:
        kind = path.suffix.lower().removeprefix(".")
        return {path: board.to_page() if kind == "html" else written(kind)}

    tell_tables(board.told, lambda: written(suffix), lambda: leaderboard_records(board), files, out)
    for folder in folders:
        tell_uncalibrated(folder)
    tell_lost(*folders)


@click.command()
@_runs
@option("--by", "Column to test.", metavar="ASPECT,LEVEL,COEFFICIENT")
@option("--correction", "Correction of p-values.  [default: the study's]", ["holm", "bh", "none"])
@option("--permutations", "Permutations per test.  [default: the study's]", click.IntRange(1))
@option("--seed", "Seed of the permutations.  [default: the study's]", click.IntRange(0))
@flag("--all-pairs", "Test every two evaluators of all runs, and rank them.")
@option(
    "--policy-of",
    "RUN whose policy, intervals and tests are used, if they differ.  [default: the first]",
    metavar="RUN",
)
@prints_sheets("runs.comparison:compare_runs", answered=True)
def compare() -> None:
    """Compare evaluators of the finished run in the folder RUN, or of several runs, by paired tests.

    One run: every pair of evaluators is tested. Several runs: what changed between them (data, prompts,
    models, policy, versions), and the results of each evaluator in every run, on their common units. Runs
    that cannot be compared are refused.
    """


@click.command()
@_runs
@several(
    "--format suffixes",
    "Format of the files; may be given again.  [default: svg; pdf with --width]",
    ["png", "svg", "pdf"],
)
@option(
    "--out", "Folder to write to.  [default: figures in RUN]", click.Path(path_type=Path, file_okay=False)
)
@several("--figure names", "Figure to draw; may be given again.  [default: all]", metavar="NAME")
@option("--aspect", "Aspect, in figures of one aspect.")
@option("--level", "Level, in figures of one level.")
@option("--coefficient", "Coefficient, in figures of one coefficient.")
@option("--scale", "Scale of a PNG.", click.FloatRange(0.1, 10), default=2)
@flag("--bare", "Without title and caption, for a paper.")
@option(
    "--width", "On paper, in type of 7 to 8 points; without title and caption.", metavar="column|text|LENGTH"
)
@talk
def figures(
    folders: tuple[Path, ...],
    *,
    aspect: str | None,
    level: str | None,
    coefficient: str | None,
    suffixes: tuple[str, ...],
    width: str | None,
    **options: Any,
) -> None:
    """Draw the figures of the finished run in the folder RUN, and write the data of each as CSV.

    Of several runs of slates, exposure or relevance, a figure has a panel per data set.

    ranking (a forest plot), distributions (of the scores), likeness (evaluator by evaluator), prompting
    (zero-shot, one-shot, personalized), ensembles (accuracy by number of judges), cost (and accuracy) and
    user_bias (by user), as far as the run has data for them. Needs metaeval[figures].
    A column of a paper is 84 mm wide, its text 178 mm; a LENGTH is such as 120mm.
    """
    from metaeval.runs.folder import read_record
    from metaeval.trust.analyses import write_figures

    begin()
    wanted = {"aspect": aspect, "level": level, "coefficient": coefficient}
    first = {column: value for column, value in wanted.items() if value is not None}
    kinds = suffixes or ("pdf" if width else "svg",)
    paths = write_figures(folders, kinds, first=first, width=width, **options)
    for path in paths:
        tell(str(path))
    for folder in folders:
        record = read_record(folder)
        tell_simulated(record.simulation.named(record.names))
    tell_json({"files": [str(path) for path in paths]})
    for folder in folders:
        tell_lost(folder)


@click.command()
@_runs
@served
@talk
def view(folders: tuple[Path, ...], port: int, no_browser: bool) -> None:
    """Show the finished runs in the folders RUN in a browser, as the site that `metaeval site` writes.

    Only this computer can see them. End with Ctrl-C.
    """
    from metaeval.runs.site import view_runs

    view_runs(folders, port=port, browser=not no_browser, ready=tell_address)


@click.command()
@_runs
@option("--out", "The folder of the site.", PATH, metavar="DIR", required=True)
@option("--title", "Of its first page.", default="Leaderboards")
@flag("--with-addresses", "Publish e-mail addresses.")
@option("--ledger", "Folder of `metaeval reproduce`: its cells are a page, too.", PATH, metavar="DIR")
@talk
def site(folders: tuple[Path, ...], *, out: Path, ledger: Path | None, **options: Any) -> None:
    """Write the finished runs in the folders RUN as a static site, for any web host.

    Its first page lists the studies, with their reports and tables, and all their evaluators. A site that is
    there is replaced.
    The reports show the ids of users, the texts, and the prompts and replies of judges.
    """
    begin()
    from metaeval.runs.site import studies_of, write_site
    from metaeval.study.ledger import cell_sheets

    before = studies_of(out)
    first = write_site(folders, out, ledger=cell_sheets(ledger) if ledger else (), **options)
    if before:
        gone = [name for name in before if name not in studies_of(out)]
        without = f", without {', '.join(gone)}" if gone else ""
        tell(f"It replaces the site of {counted(len(before), 'study')} that was there{without}.")
    tell(str(first))
    tell_json({"folder": str(out), "page": str(first)})


@click.command()
@click.argument("place", metavar="[FOLDER]", type=PATH, default=Path("results"))
@prints_sheets("runs.finished:runs_sheet")
def runs() -> None:
    """List the runs in FOLDER: data set, date, whether it is finished, evaluators, cost."""


@click.command()
@click.argument("names", metavar="NAME|FOLDER|all", nargs=-1, required=True)
@option("--from place", "Folder of the released files.  [default: shipped, or fetched]", PATH)
@option("--results", "Folder of what is made.", PATH, default=Path("results/published"))
@flag("--cells", "Show the cells that are equal, too.")
@option("--page", "Also write the ledger as a page of Markdown.", PATH, metavar="FILE.md")
@sheet_options
@talk
def reproduce(
    names: tuple[str, ...],
    *,
    place: Path | None,
    results: Path,
    cells: bool,
    page: Path | None,
    suffix: str,
    out: Path | None,
) -> None:
    """Make published tables again, and hold every cell against what the paper prints.

    A cell is equal to the digits printed, differs for a stated reason, or differs: then the exit code is 1.
    Beside it are the interval, and whether the paper's best is better than its second. NAME is a folder of
    studies/published, or one of your own; all stands for all whose files are here: some are shipped,
    `metaeval data fetch NAME` gets others.
    """
    from metaeval.base.files import write_text
    from metaeval.study.ledger import ledger_line, ledger_page, ledger_sheets
    from metaeval.study.published import OPEN, published_studies, reproduce

    begin()
    if names == ("list",):
        for name in published_studies():
            click.echo(name)
        return
    made, lacking = reproduce(names, place, results)
    if page is not None:
        write_text(page, ledger_page(made, lacking))
    lines = [ledger_line(made)]
    sheets = ledger_sheets(made, lacking, open_only=not cells)
    tell_sheets(sheets, suffix, out, lines=lines, answer={"lines": lines})
    if any(one.count(OPEN) for one in made):
        raise click.exceptions.Exit(1)
