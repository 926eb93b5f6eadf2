"""Published tables, made again."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.cli.group import begin, talk
from metaeval.cli.options import PATH, flag, option
from metaeval.cli.sheets import sheet_options, tell_sheets


@click.command()
@click.argument("names", metavar="NAME|all", nargs=-1, required=True)
@option("--from place", "Folder of the released files.  [default: what `data fetch` brought]", PATH)
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
    studies/published; all stands for all.
    """
    from metaeval.base.files import write_text
    from metaeval.study.published import OPEN, ledger_page, ledger_sheets, published_studies, reproduce

    begin()
    if names == ("list",):
        for name in published_studies():
            click.echo(name)
        return
    made = reproduce(names, place, results)
    if page is not None:
        write_text(page, ledger_page(made))
    tell_sheets(ledger_sheets(made, open_only=not cells), suffix, out)
    if any(one.count(OPEN) for one in made):
        raise click.exceptions.Exit(1)
