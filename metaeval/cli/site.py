"""``metaeval site``: finished runs as a static site."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.cli.group import begin, talk, tell, tell_json
from metaeval.cli.options import PATH


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=PATH)
@click.option("--out", metavar="DIR", type=PATH, required=True, help="The folder of the site.")
@click.option("--title", default="Leaderboards", show_default=True, help="Of its first page.")
@talk
def site(runs: tuple[Path, ...], *, out: Path, title: str) -> None:
    """Write the finished runs in the folders RUN as a static site, for any web host.

    Its first page lists the studies and all their evaluators. Each study has a page with its tables, its
    report, files to download, how it was made, and how to cite it. A site that is there is replaced.
    """
    begin()
    from metaeval.study.commands.site import write_site

    first = write_site(runs, out, title=title)
    tell(str(first))
    tell_json({"folder": str(out), "page": str(first)})
