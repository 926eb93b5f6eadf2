"""``metaeval data``: get, import and check data sets."""

from __future__ import annotations

from pathlib import Path

import click

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
