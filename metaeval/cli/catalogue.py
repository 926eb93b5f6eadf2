"""What there is: evaluators, providers of models, prompts of judges, patterns of replies, kept replies."""

from __future__ import annotations

import os
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import click

from metaeval.base.counts import counted
from metaeval.cli.group import Group
from metaeval.cli.messages import is_on, talk, tell, tell_json
from metaeval.cli.options import PATH, PLACE, flag, option, several
from metaeval.cli.sheets import Sheets, prints_sheets, sheet_options, tell_sheets

if TYPE_CHECKING:
    from metaeval.llm.store.replies import Store


@click.command()
@option("--kind", "Kind of study.  [default: of every kind]", metavar="KIND")
@option("--data", "Say which evaluators can score this data set.", PATH, metavar="DIR")
@prints_sheets("study.overview:evaluators_sheet")
def evaluators() -> None:
    """List the evaluators: their specs, what they do, and what they need."""


@click.command()
@sheet_options
@talk
def providers(suffix: str, out: Path | None) -> None:
    """List the providers of models: name, address, the key's variable, and whether it is set."""
    import pandas as pd

    from metaeval.base.errors import MetaevalError
    from metaeval.engine.sheet import Column, Sheet
    from metaeval.llm.providers import PROVIDERS, Provider, address_of, provider_named

    facts, rows = [], []
    for name in PROVIDERS.names:
        provider, address, problem = Provider("", ""), "", ""
        try:
            provider = provider_named(name)
            address = address_of(name)
        except MetaevalError as error:
            problem = str(error)
        variable = provider.key_variable
        is_set = bool(os.environ.get(variable, "").strip())
        state = "set" if is_set else "not set" if provider.needs_key else "not set, not needed"
        key = f"{variable} ({state})" if variable else "no key"
        rows.append({"name": name, "address": address or "(no address)", "key": key, "problem": problem})
        variables = {"address_variable": provider.address_variable, "key_variable": variable}
        keys = {"needs_key": provider.needs_key, "key_is_set": is_set}
        facts.append({"name": name, "address": address, **variables, **keys, "problem": problem})
    columns = tuple(Column(name, name) for name in ("name", "address", "key"))
    notes = tuple(f"{row['problem']}." for row in rows if row["problem"])
    tell_sheets([Sheet("providers", "Providers", pd.DataFrame(rows), columns, notes)], suffix, out, facts)


@click.command()
@option("--out", "File to write.  [default: print it]", PATH, metavar="FILE.json")
@talk
def schema(out: Path | None) -> None:
    """Print the JSON Schema of study files, with which editors complete and check their keys."""
    import json

    from metaeval.base.files import write_text
    from metaeval.kinds.reading import study_schema

    text = json.dumps(study_schema(), indent=2, ensure_ascii=False) + "\n"
    if out is None:
        click.echo(text, nl=False)
    else:
        write_text(out, text)
        tell(f"First line of a study: # yaml-language-server: $schema={out}")


@click.group(cls=Group)
def prompts() -> None:
    """Show and check the prompts of judges."""


@prompts.command("list")
@sheet_options
@talk
def list_(suffix: str, out: Path | None) -> None:
    """List the prompts that ship with the package."""
    import pandas as pd

    from metaeval.engine.sheet import Column, Sheet
    from metaeval.llm.prompts.template import bundled_prompts, load_prompt

    bundled = [load_prompt(name) for name in bundled_prompts()]
    rows = [(p.name, str(p.version), ", ".join(p.reply), p.description) for p in bundled]
    names = ("name", "version", "reply", "description")
    frame = pd.DataFrame(rows, columns=list(names))
    sheet = Sheet("prompts", "Prompts", frame, tuple(Column(name, name) for name in names))
    record = [{**p.signature, "reply": p.reply, "description": p.description} for p in bundled]
    tell_sheets([sheet], suffix, out, record)


@prompts.command()
@click.argument("name")
@option("--unit", "Unit of the data set that fills the prompt.", metavar="USER,ITEM,GENERATOR")
@option("--data", "Data-set folder with the unit.", PATH)
@several("--aspect aspects", "Aspect to ask for.  [default: all]")
@option("--example", "Show this unit as a rated example.", metavar="USER,ITEM,GENERATOR")
@flag("--profile", "Show the user's profile.")
@option("--reply", "Form of the reply.", ["auto", "json", "text"], default="auto", show_default=False)
def show(name: str, *, unit: str | None, data: Path | None, **options: Any) -> None:
    """Show the prompt NAME, or the prompt file at that path; with --unit, filled for a unit."""
    from metaeval.llm.prompts.template import load_prompt

    if unit is None:
        if data or any(value not in ((), None, "", False, "auto") for value in options.values()):
            raise click.UsageError("name the unit that fills the prompt, with --unit USER,ITEM,GENERATOR")
        click.echo(load_prompt(name).source)
        return
    if data is None:
        raise click.UsageError("--unit needs a data set; give its folder with --data")
    from metaeval.kinds.explanations.data.loading import load
    from metaeval.kinds.explanations.judge.judge import preview

    click.echo(preview(name, load(data), unit, **options))


@prompts.command()
@click.argument("files", nargs=-1, type=PATH, metavar="[NAME|FILE]...")
@talk
def check(files: tuple[Path, ...]) -> None:
    """Check prompts (those of the package, if none is named); exit with 1 if anything is wrong."""
    from metaeval.kinds.registry import check_judge_prompt
    from metaeval.llm.prompts.template import bundled_prompts

    shipped = bundled_prompts()
    named = [str(file) for file in files] or list(shipped)
    problems_of = {name: check_judge_prompt(shipped.get(name, Path(name))) for name in named}
    tell_json({file: [p.message for p in problems] for file, problems in problems_of.items()})
    if not is_on("json"):
        for file, problems in problems_of.items():
            for problem in problems:
                click.echo(f"{file}: {problem.message}")
            if not problems and not is_on("quiet"):
                click.echo(f"{file}: no problems")
    raise click.exceptions.Exit(1 if any(problems_of.values()) else 0)


@click.group(cls=Group)
def replies() -> None:
    """Show how replies of models are read."""


@replies.command()
@prints_sheets()
def patterns() -> Sheets:
    """List the named patterns: what they read, and what it means."""
    import pandas as pd

    from metaeval.engine.sheet import Column, Sheet
    from metaeval.llm.replies.patterns import PATTERNS

    rows = [
        {"name": name, "about": p.about, "pattern": p.pattern, "take": p.take}
        | {"values": ", ".join(f"{word.upper()} {value}" for word, value in p.values.items())}  # noqa: PD011 - of a pattern
        for name, p in PATTERNS.items()
    ]
    columns = [Column(name, name.capitalize()) for name in rows[0]]
    note = "Take: all matches must be equal (only), or the last one counts. A score without values is itself."
    return [Sheet("patterns", "Patterns of replies", pd.DataFrame(rows), tuple(columns), (note,))]


_store = option("--store place", "The store: a file, or postgresql://…  [default: METAEVAL_STORE]")


def _opened(place: str | None, *, create: bool = False) -> Store:
    from metaeval.llm.store.replies import Store

    return Store(place, create=create)


@click.group(cls=Group)
def store() -> None:
    """Manage the store, which keeps every reply of a model."""


@store.command("info")
@_store
@talk
def info(place: str | None) -> None:
    """Show what is in the store, and whether it is intact."""
    from metaeval.llm.store import tools

    with _opened(place) as opened:
        content, problems = tools.info(opened), tools.problems(opened)
    tell(tools.describe(content, problems))
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
    from metaeval.llm.store import tools

    with _opened(place) as opened:
        deleted = tools.prune(opened, **options)
    tell(f"deleted {counted(deleted, 'reply', 'replies')}")
    tell_json({"deleted": deleted})


@store.command("export")
@click.argument("file", type=PATH)
@_store
@option("--run folder", "Write only the replies that this finished run used.", PATH)
@talk
def export(file: Path, place: str | None, folder: Path | None) -> None:
    """Export replies to FILE as JSON Lines."""
    from metaeval.llm.store import tools
    from metaeval.runs.finished import export_run

    if folder is not None:
        count = export_run(folder, file, store=place)
    else:
        with _opened(place) as opened:
            count = tools.export_jsonl(opened, file)
    tell(f"wrote {counted(count, 'reply', 'replies')} to {file}")
    tell_json({"written": count, "file": str(file)})


@store.command("import")
@click.argument("file", type=PATH)
@_store
@talk
def import_(file: Path, place: str | None) -> None:
    """Import the replies in FILE, made by `metaeval store export`."""
    from metaeval.llm.store import tools

    with _opened(place, create=True) as opened:
        done = tools.import_jsonl(opened, file)
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
    from metaeval.llm.store import tools

    with _opened(source) as opened, _opened(target, create=True) as other:
        done = tools.copy(opened, other)
    tell(f"copied {counted(done.added, 'reply', 'replies')}; {done.present:,} were there")
    tell_json(done._asdict())


@click.command()
@option(
    "--install", "Folder of an agent's skills, such as .claude/skills, to copy it into.", PATH, metavar="DIR"
)
@talk
def skill(install: Path | None) -> None:
    """Print the skill that tells an agent how to use metaeval, or install it.

    The skill says which command does which job, and what an agent must ask a person: who gave a number, and
    whether money may be spent.
    """
    import shutil

    from metaeval.base.files import bundled

    source = bundled("skills/metaeval")
    if install is None:
        click.echo((source / "SKILL.md").read_text(encoding="utf-8"), nl=False)
        return
    shutil.copytree(
        source, install / source.name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    tell(f"{install / source.name}")


@click.command()
@click.argument("folder", metavar="RUN", type=PATH)
@option("--out", "File to write.  [default: print it]", PATH, metavar="FILE.bib")
@talk
def cite(folder: Path, out: Path | None) -> None:
    """Print the BibTeX of what the run in the folder RUN used: data set, evaluators, measures, tests."""
    from metaeval.base.files import write_text
    from metaeval.runs.citation import citations

    text = citations(folder)
    if out is None:
        click.echo(text, nl=False)
    else:
        write_text(out, text)


@click.command()
@option("--max-usd", "What all its runs together may pay models.", click.FloatRange(min=0), default=0)
@click.pass_context
def mcp(context: click.Context, max_usd: float) -> None:
    """Serve commands to an agent by MCP, on stdin and stdout, for the files below this folder.

    The tools are init, run, runs, leaderboard, compare, audit, choose, details and unit; resources are the
    files of run folders. Nothing outside of the folder is read or written, no code of a study is run, and
    without --max-usd no model is paid. Needs metaeval[mcp].
    """
    server, group = resolve_name("metaeval.integrations.mcp_server"), context.find_root().command
    assert isinstance(group, click.Group)  # noqa: S101 - of all commands
    tools = {name: command for name in server.TOOLS if (command := group.get_command(context, name))}
    made = server.server_of(server.Tools.here(tools, max_usd))
    if not is_on("quiet"):
        allowed = f"models may be paid {max_usd:g} USD in all" if max_usd else "no model may be paid"
        click.echo(f"Serving {Path.cwd()} by MCP; {allowed}. End with Ctrl-C.", err=True)
    server.serve(made)
