"""``metaeval view``: finished runs in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from metaeval.cli.group import is_on, talk, tell_json


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Of 127.0.0.1.  [default: any free one]"
)
@click.option("--no-browser", is_flag=True, help="Print the address, and open nothing.")
@talk
def view(runs: tuple[Path, ...], port: int, no_browser: bool) -> None:
    """Show the reports of finished runs in the folders RUN in a browser; several side by side, and compared.

    Only this computer can see them. End it with Ctrl-C.
    """
    from metaeval.runs.viewer import view_runs

    view_runs(runs, port=port, browser=not no_browser, ready=_tell_address)


def _tell_address(address: str) -> None:
    """Print the address, with ``--quiet`` too: it is the result."""
    if is_on("json"):
        tell_json({"address": address})
    else:
        click.echo(address)
