"""``metaeval store``: the replies that were kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metaeval.base.counts import counted
from metaeval.cli.group import Group, talk, tell, tell_json
from metaeval.cli.options import PATH, PLACE

_store = click.option(
    "--store", "place", help="The store: a file, or postgresql://…  [default: METAEVAL_STORE]"
)


@click.group(cls=Group)
def store() -> None:
    """Manage the store, which keeps every reply of a model."""


@store.command("info")
@_store
@talk
def info(place: str | None) -> None:
    """Show what is in the store, and whether it is intact."""
    from metaeval.llm.store import tools as store_tools
    from metaeval.llm.store.replies import Store

    with Store(place, create=False) as opened:
        found, problems = store_tools.info(opened), store_tools.problems(opened)
    tell(store_tools.describe(found, problems))
    models = [m._asdict() for m in found.models]
    tell_json({**found._asdict(), "models": models, "problems": problems})
    if problems:
        raise click.exceptions.Exit(1)


@store.command("prune")
@_store
@click.option(
    "--older-than",
    "older_than_days",
    type=click.FloatRange(min=0),
    help="Delete replies older than this many days.",
)
@click.option("--model", help="Delete replies of this model: PROVIDER/MODEL.")
@click.option("--failures", is_flag=True, help="Delete only failed requests.")
@click.option("--damaged", is_flag=True, help="Delete only damaged replies.")
@click.option("--all", "everything", is_flag=True, help="Delete all replies.")
@talk
def prune(place: str | None, **options: Any) -> None:
    """Delete the replies that match all options. They must be paid for again."""
    from metaeval.llm.store import tools as store_tools
    from metaeval.llm.store.replies import Store

    with Store(place, create=False) as opened:
        deleted = store_tools.prune(opened, **options)
    tell(f"deleted {counted(deleted, 'reply', 'replies')}")
    tell_json({"deleted": deleted})


@store.command("export")
@click.argument("file", type=PATH)
@_store
@click.option("--run", "folder", type=PATH, help="Write only the replies that this finished run used.")
@talk
def export(file: Path, place: str | None, folder: Path | None) -> None:
    """Export replies to FILE as JSON Lines."""
    from metaeval.llm.store import tools as store_tools
    from metaeval.llm.store.replies import Store
    from metaeval.runs.replies import export_run

    if folder is not None:
        count = export_run(folder, file, store=place)
    else:
        with Store(place, create=False) as opened:
            count = store_tools.export_jsonl(opened, file)
    tell(f"wrote {counted(count, 'reply', 'replies')} to {file}")
    tell_json({"written": count, "file": str(file)})


@store.command("import")
@click.argument("file", type=PATH)
@_store
@talk
def import_(file: Path, place: str | None) -> None:
    """Import the replies in FILE, made by `metaeval store export`."""
    from metaeval.llm.store import tools as store_tools
    from metaeval.llm.store.replies import Store

    with Store(place) as opened:
        done = store_tools.import_jsonl(opened, file)
    tell(f"added {counted(done.added, 'reply', 'replies')}; {done.present:,} were there")
    tell_json(done._asdict())


@store.command("copy")
@click.argument("source", metavar="FROM", type=PLACE)
@click.argument("target", metavar="TO", type=PLACE)
@talk
def copy(source: str, target: str) -> None:
    """Copy the replies in the store FROM to the store TO, each a file or postgresql://….

    An interrupted copy continues when the command is repeated.
    """
    from metaeval.llm.store import tools as store_tools
    from metaeval.llm.store.replies import Store

    with Store(source, create=False) as opened, Store(target) as other:
        done = store_tools.copy(opened, other)
    tell(f"copied {counted(done.added, 'reply', 'replies')}; {done.present:,} were there")
    tell_json(done._asdict())
