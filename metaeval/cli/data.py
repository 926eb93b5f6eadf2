"""``metaeval data``: get, import and check data sets."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from metaeval.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOOLS = ("promptfoo", "inspect", "table")
_LISTED = 100  # problems of one kind come by the thousand
_FOLDER = click.Path(path_type=Path, file_okay=True, dir_okay=True)
_out = click.option("--out", type=_FOLDER, required=True, help="The data-set folder to write.")
_force = click.option("--force", is_flag=True, help="Replace a data set that is there.")


@click.group()
def data() -> None:
    """Get, import and check data sets."""


@data.group()
def fetch() -> None:
    """Download a public study, pinned by commit and SHA-256, and import it."""


@fetch.command("recexp")
@_out
@_force
def fetch_recexp(out: Path, force: bool) -> None:
    """Fetch the explanation study of RecSys 2024."""
    from metaeval.sources import summary
    from metaeval.sources.fetch import fetch_recexp as run

    click.echo(summary(run(out, force=force)))


@data.group("import")
def import_() -> None:
    """Make a data set of files you have."""


@import_.command("recexp")
@click.argument("source", type=_FOLDER)
@_out
@_force
def import_recexp(source: Path, out: Path, force: bool) -> None:
    """Import the explanation study of RecSys 2024 from the folder SOURCE of its released files."""
    from metaeval.sources import summary
    from metaeval.sources.recexp import import_recexp as run

    click.echo(summary(run(source, out, force=force)))


@import_.command("table")
@click.argument("file")
@click.option("--map", "map_file", type=_FOLDER, required=True, help="YAML file: which column is what.")
@_out
@_force
def import_table(file: str, map_file: Path, out: Path, force: bool) -> None:
    """Import FILE (CSV, TSV, JSONL, Parquet, or the name of a hub data set) by a column map."""
    from metaeval.sources import summary
    from metaeval.sources.table_import import import_table as run

    result = run(file, map_file, out, force=force)
    click.echo(f"{summary(result.data)}, {len(result.unmapped)} columns not in the map")


@data.command("add-scores")
@click.argument("folder")
@click.argument("file")
@click.option(
    "--from", "tool", required=True, type=click.Choice(_TOOLS), help="The tool that wrote FILE; else table."
)
@click.option("--map", "map_file", type=_FOLDER, help="YAML file: how the names in FILE are called here.")
@click.option("--evaluator", help="Name of the evaluator, or a template such as '{provider} {prompt}'.")
@click.option("--out", type=_FOLDER, help="Write a new data set there, and leave FOLDER as it is.")
@click.option("--replace", is_flag=True, help="Replace an evaluator that is there already.")
@_force
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def add_scores(
    *,
    folder: str,
    file: str,
    tool: str,
    map_file: Path | None,
    evaluator: str | None,
    out: Path | None,
    replace: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Add the scores in FILE, which another tool wrote, to the data set FOLDER: as Recorded('name')."""
    import json

    from metaeval.sources.recorded import import_scores

    with _every_problem():
        result = import_scores(
            folder,
            file,
            tool=tool,
            map_file=map_file,
            evaluator=evaluator,
            out=out,
            replace=replace,
            force=force,
        )
    if as_json:
        click.echo(json.dumps(result.to_dict(), ensure_ascii=False))
    else:
        for line in result.lines():
            click.echo(line)


@contextlib.contextmanager
def _every_problem() -> Iterator[None]:
    """Print each of several problems on a line of its own: no other command could list them."""
    try:
        yield
    except DataError as error:
        if len(error.problems) < 2:
            raise
        for problem in error.problems[:_LISTED]:
            click.echo(f"metaeval: {problem}", err=True)
        more = len(error.problems) - _LISTED
        if more > 0:
            click.echo(f"metaeval: … and {more:,} more", err=True)
        raise SystemExit(error.exit_code) from error


@data.command()
@click.argument("folder", type=_FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(folder: Path, as_json: bool) -> None:
    """Say what is wrong with the data set FOLDER, row by row; exit with 1 if anything is."""
    import json

    from metaeval.sources import inspect

    found = inspect(folder)
    if as_json:
        click.echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        for line in found.lines():
            click.echo(line)
    raise SystemExit(1 if found.problems else 0)
