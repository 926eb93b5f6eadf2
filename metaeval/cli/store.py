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
    """Look after the store, in which every reply of a model is kept."""


@store.command("info")
@_store
@talk
def info(place: str | None) -> None:
    """Say what is in the store, and whether the file is sound."""
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
    "--older-than", "older_than_days", type=click.FloatRange(min=0), help="Days: delete what is older."
)
@click.option("--model", help="Delete what this model answered: PROVIDER/MODEL.")
@click.option("--failures", is_flag=True, help="Delete only requests that brought no reply.")
@click.option("--damaged", is_flag=True, help="Delete only replies that are not what was kept.")
@click.option("--all", "everything", is_flag=True, help="Delete all replies.")
@talk
def prune(place: str | None, **options: Any) -> None:
    """Delete replies for which all that is asked holds. They must be paid for again."""
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
    """Write replies to FILE as JSON Lines, to carry them elsewhere."""
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
    """Add the replies in FILE, which `metaeval store export` wrote."""
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

    A copy that broke off goes on when the command is given again.
    """
    from metaeval.llm.store import tools as store_tools
    from metaeval.llm.store.replies import Store

    with Store(source, create=False) as opened, Store(target) as other:
        done = store_tools.copy(opened, other)
    tell(f"copied {counted(done.added, 'reply', 'replies')}; {done.present:,} were there")
    tell_json(done._asdict())
