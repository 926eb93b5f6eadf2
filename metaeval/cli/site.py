"""``metaeval site``: finished runs as a static site."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.cli.group import begin, talk, tell, tell_json
from metaeval.cli.options import PATH


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=PATH)
@click.option("--out", metavar="DIR", type=PATH, required=True, help="Folder of the site.")
@click.option("--title", default="Leaderboards", show_default=True, help="Title of the first page.")
@talk
def site(runs: tuple[Path, ...], *, out: Path, title: str) -> None:
    """Write the finished runs in the folders RUN as a static site, for any web host.

    The first page lists the studies and their evaluators. Each study has a page with tables, the report,
    files to download, how it was made, and how to cite it. An existing site is replaced.
    """
    begin()
    from metaeval.study.commands.site import write_site

    first = write_site(runs, out, title=title)
    tell(str(first))
    tell_json({"folder": str(out), "page": str(first)})
