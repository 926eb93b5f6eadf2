"""``metaeval init``: from a table to a study."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from metaeval.base.errors import DataError
from metaeval.cli.group import is_on, talk, tell, tell_json
from metaeval.cli.options import PATH, PLACE, several
from metaeval.kinds.explanations.data.tables.names import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from metaeval.kinds.explanations.data.tables.proposal import Answer


def _columns(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Return what columns are said to be, given as ``NAME=ROLE``."""
    from metaeval.kinds.explanations.data.tables.asking import read_roles

    try:
        return {column: role for text in given for column, role in read_roles(text).items()}
    except DataError as error:
        raise click.BadParameter(str(error), context, parameter) from error


@click.command()
@click.argument("table", type=PLACE)
@click.option("--out", type=PATH, help="The folder to write.  [default: as the table is called]")
@click.option("--yes", "-y", is_flag=True, help="Take what is proposed; ask nothing.")
@several(
    "--column", "said", callback=_columns, metavar="NAME=ROLE", help=f"What a column is: {', '.join(ROLES)}."
)
@click.option("--split", help="Split of a data set on the hub, or sheet of a workbook.")
@click.option("--force", is_flag=True, help="Replace the files of an earlier call.")
@talk
def init(
    table: str, out: Path | None, *, yes: bool, said: dict[str, str], split: str | None, force: bool
) -> None:
    """Make a study from TABLE, which holds people's ratings of explanations and scores of tools.

    TABLE is a CSV file (any separator and encoding), TSV, XLSX, JSON, JSONL or Parquet, a folder of the
    datasets library, or hf://OWNER/NAME. Writes a map (which column is what), the data set and a study file,
    each with comments, and says how to run it. Of a data set that is there already, it writes the study.
    """
    from metaeval.study.commands.start import STUDY, start

    def ask(question: str, default: str, read: Callable[[str], Answer]) -> Answer:
        def understood(answer: str) -> Answer:
            try:
                return read(answer)
            except DataError as error:
                raise click.UsageError(str(error)) from error  # click says it, and asks again

        if yes:
            tell(
                f"{question} {default}" if default else "If a column is something else: --column 'NAME=ROLE'"
            )
            return read(default)
        if not sys.stdin.isatty():
            raise click.UsageError(
                "there is no terminal to ask questions on; accept the proposals with --yes"
            )
        found: Answer = click.prompt(
            question, default=default, show_default=bool(default), value_proc=understood, err=is_on("json")
        )
        return found

    name = Path(table).resolve().stem
    folder = out or Path(f"{name}-study" if Path(table).is_dir() else name)
    made = start(table, folder, said=said, ask=ask, tell=tell, split=split, force=force)
    for note in made.notes:
        tell(f"Note: {note}")
    tell(f"Wrote {folder}: {made.told}")
    tell(f"Next: metaeval run {shlex.quote(str(folder / STUDY))}")
    tell_json({"folder": str(folder), "units": len(made.data), "notes": made.notes})
