"""``metaeval site``: finished runs as a static site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metaeval.base.counts import counted
from metaeval.cli.group import begin, talk, tell, tell_json
from metaeval.cli.options import PATH


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=PATH)
@click.option("--out", metavar="DIR", type=PATH, required=True, help="The folder of the site.")
@click.option("--title", default="Leaderboards", show_default=True, help="Of its first page.")
@click.option("--pseudonyms", is_flag=True, help="Write u1, u2, … for the ids of users.")
@click.option("--with-addresses", is_flag=True, help="Publish e-mail addresses.")
@talk
def site(runs: tuple[Path, ...], *, out: Path, **options: Any) -> None:
    """Write the finished runs in the folders RUN as a static site, for any web host.

    Its first page lists the studies and all their evaluators. Each study has a page with its tables, its
    report, files to download, how it was made, and how to cite it. A site that is there is replaced.
    The reports show the ids of users, the texts, and the prompts and replies of judges.
    """
    begin()
    from metaeval.study.site.writing import studies_of, write_site

    before = studies_of(out)
    first = write_site(runs, out, **options)
    if before:
        gone = [name for name in before if name not in studies_of(out)]
        without = f", without {', '.join(gone)}" if gone else ""
        tell(f"It replaces the site of {counted(len(before), 'study')} that was there{without}.")
    tell(str(first))
    tell_json({"folder": str(out), "page": str(first)})
