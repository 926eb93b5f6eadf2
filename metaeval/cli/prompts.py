"""``metaeval prompts``: the prompts of judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from metaeval.cli.group import Group, is_on, talk, tell_json
from metaeval.cli.options import PATH, several
from metaeval.cli.sheets import sheet_options, tell_sheets


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

    found = [load_prompt(name) for name in bundled_prompts()]
    rows = [(p.name, str(p.version), ", ".join(p.reply), p.description) for p in found]
    names = ("name", "version", "reply", "description")
    frame = pd.DataFrame(rows, columns=list(names))
    sheet = Sheet("prompts", "Prompts", frame, tuple(Column(name, name) for name in names))
    record = [{**p.signature, "reply": p.reply, "description": p.description} for p in found]
    tell_sheets([sheet], suffix, out, record)


@prompts.command()
@click.argument("name")
@click.option("--unit", metavar="USER,ITEM,GENERATOR", help="Unit of the data set that fills the prompt.")
@click.option("--data", type=PATH, help="Data-set folder with the unit.")
@several("--aspect", "aspects", help="Aspect to ask for.  [default: all]")
@click.option("--example", metavar="USER,ITEM,GENERATOR", help="Show this unit as a rated example.")
@click.option("--profile", is_flag=True, help="Show the user's profile.")
@click.option(
    "--reply", type=click.Choice(["auto", "json", "text"]), default="auto", help="Form of the reply."
)
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
    from metaeval.kinds.explanations.prompt_tools import preview

    click.echo(preview(name, load(data), unit, **options))


@prompts.command()
@click.argument("files", nargs=-1, type=PATH, metavar="[NAME|FILE]...")
@talk
def check(files: tuple[Path, ...]) -> None:
    """Check prompts (those of the package, if none is named); exit with 1 if anything is wrong."""
    from metaeval.kinds.prompts import check_judge_prompt
    from metaeval.llm.prompts.template import bundled_prompts

    shipped = bundled_prompts()
    named = [str(file) for file in files] or list(shipped)
    found = {name: check_judge_prompt(shipped.get(name, Path(name))) for name in named}
    tell_json({file: [p.message for p in problems] for file, problems in found.items()})
    if not is_on("json"):
        for file, problems in found.items():
            for problem in problems:
                click.echo(f"{file}: {problem.message}")
            if not problems and not is_on("quiet"):
                click.echo(f"{file}: no problems")
    raise SystemExit(1 if any(found.values()) else 0)
