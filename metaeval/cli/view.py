"""``metaeval view``: finished runs in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.cli.group import talk, tell_address
from metaeval.cli.options import served


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@served
@talk
def view(runs: tuple[Path, ...], port: int, no_browser: bool) -> None:
    """Show the reports of the finished runs in the folders RUN in a browser, several side by side.

    Only this computer can see them. End with Ctrl-C.
    """
    from metaeval.runs.viewer import view_runs

    view_runs(runs, port=port, browser=not no_browser, ready=tell_address)
