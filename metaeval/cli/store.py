"""``metaeval store``: the replies that were kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metaeval.base.counts import counted
from metaeval.cli.group import Group, talk, tell, tell_json
from metaeval.cli.options import PATH, PLACE, flag, option

_store = option("--store place", "The store: a file, or postgresql://…  [default: METAEVAL_STORE]")


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
        content, problems = store_tools.info(opened), store_tools.problems(opened)
    tell(store_tools.describe(content, problems))
    models = [m._asdict() for m in content.models]
    tell_json({**content._asdict(), "models": models, "problems": problems})
    if problems:
        raise click.exceptions.Exit(1)


@store.command("prune")
@_store
@option("--older-than older_than_days", "Delete replies older than this many days.", click.FloatRange(min=0))
@option("--model", "Delete replies of this model: PROVIDER/MODEL.")
@flag("--failures", "Delete only failed requests.")
@flag("--damaged", "Delete only damaged replies.")
@flag("--all everything", "Delete all replies.")
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
@option("--run folder", "Write only the replies that this finished run used.", PATH)
@talk
def export(file: Path, place: str | None, folder: Path | None) -> None:
    """Export replies to FILE as JSON Lines."""
    from metaeval.llm.store import tools as store_tools
    from metaeval.llm.store.replies import Store
    from metaeval.runs.finished import export_run

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
