"""Commands that print sheets: ``--format``, ``--out``, and how sheets are printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import reduce, wraps
from operator import or_
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeAlias

import click
from click.core import ParameterSource

from metaeval.base.errors import nearest
from metaeval.base.simulation import REAL, Simulation
from metaeval.cli.messages import (
    begin,
    end_unread,
    is_on,
    json_text,
    talk,
    tell,
    tell_json,
    tell_lost,
    tell_simulated,
    tell_uncalibrated,
    warn,
)
from metaeval.cli.options import PATH, flag, option

if TYPE_CHECKING:
    from metaeval.engine.sheet import Sheet

Sheets: TypeAlias = "Sequence[Sheet]"
_UNSEEN = {"suffix", "out", "width", "data", "seed", "resamples"}
"""Options that do not tell one table of a paper from another."""
_SUFFIXES = ("txt", "md", "csv", "tex", "html", "json")
_LATEX = "latex"  # may be typed for tex


def format_option(default: str = "txt") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return ``--format`` (``suffix``), of which ``json`` is ``--json``; and ``--wide``."""
    about = "Output format; txt is as wide as the terminal."
    suffix = option("--format suffix", about, (*_SUFFIXES, _LATEX), default=default, callback=_format)
    everything = "All tables, rows and columns, also on a terminal that has no room for them."
    wide = flag("--wide --all", everything, callback=_fit, expose_value=False)
    return lambda command: suffix(wide(command))


def _fit(context: click.Context, parameter: click.Parameter, wide: bool) -> None:
    from metaeval.reports.cells import coloured, fitted

    terminal = sys.stdout.isatty()
    fitted.set(terminal and not wide)
    coloured.set(terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")


def _format(context: click.Context, parameter: click.Parameter, suffix: str) -> str:
    if suffix == "json":
        context.ensure_object(dict)["json"] = True
    return "tex" if suffix == _LATEX else suffix


def sheet_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command ``--format`` (``suffix``) and ``--out`` (``out``, a path or None)."""
    out = option(
        "--out", f"File to write; its suffix (.{', .'.join(_SUFFIXES)}) is the format.", PATH, read=_writable
    )
    return format_option()(out(command))


def prints_sheets(
    source: str = "", *, uncalibrated: bool = False, answered: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a command print the sheets of its function, then which calls of the run were lost.

    ``source`` is a function ``module:name`` that takes all options; the decorated one, if left out. It may
    return a `Printed`, too. With
    ``uncalibrated`` it also says which judges have changed since they were calibrated. It ends with exit code
    3 if the first sheet has a judge of whose verdicts too many were not read. An ``answered`` one that itself
    says nothing first begins with what its runs say, another with what it found of judges.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(*, suffix: str, out: Path | None, **options: Any) -> None:
            begin()
            make: Callable[..., Any] = resolve_name(f"metaeval.{source}") if source else function
            made = make(**options)
            found = getattr(made, "sheets", made)
            sheets: Sheets = found if isinstance(found, list | tuple) else [found]
            answer = getattr(made, "answer", None)
            first = [*getattr(made, "first", ())]
            told = first or (answer.trust(made.found) if answer else [])
            lines, answers = told, answer.record if answer else {"lines": first} if first else None
            if answered:
                of_run, answers = _answers(_given())
                lines = told or of_run
            if answers and told:
                answers = {**answers, "sentences": [*told, *answers.get("sentences", ())]}
            tell_sheets(sheets, suffix, out, lines=lines, answer=answers)
            if uncalibrated:
                tell_uncalibrated(*_given())
            tell_lost(*_given())
            if "unread_swapped" in sheets[0].frame:
                from metaeval.runs.record import LOST

                for note in sheets[0].notes if out else ():
                    if LOST in note:
                        warn(note)  # the file has rows alone
                end_unread(sheets[0].frame.set_index("evaluator")["unread"].to_dict())
            if code := getattr(made, "code", None):
                click.get_current_context().exit(code)

        return sheet_options(talk(command))

    return decorate


def _answers(folders: Sequence[Path]) -> tuple[list[str], Mapping[str, object]]:
    """Return what runs say first, and as JSON: of several, by their folders."""
    from metaeval.runs.answer import read_answer

    answers = {str(folder): read_answer(folder) for folder in folders}
    if len(answers) == 1:
        ((_, answer),) = answers.items()
        return answer.lines[:1], answer.record
    records = {folder: answer.record for folder, answer in answers.items()}
    return [f"{folder}: {answer.lines[0]}" for folder, answer in answers.items()], records


def _writable(path: Path) -> Path:
    """Check that sheets can be written to a path, before the work is done."""
    suffix, known = path.suffix.lower(), [f".{s}" for s in _SUFFIXES]
    if suffix not in known:
        hint = nearest(suffix, known) if suffix else ""
        raise ValueError(f"{path} cannot be written: its suffix may be {', '.join(known)}{hint}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file")
    return path


def tell_sheets(
    sheets: Sheets,
    suffix: str = "txt",
    out: Path | None = None,
    record: object = None,
    *,
    lines: Sequence[str] = (),
    answer: Mapping[str, object] | None = None,
) -> None:
    """Print sheets in a format, or write them to a file; as JSON the record, or else the rows by name.

    Text begins with ``lines``, and JSON with an ``answer``.
    """
    from metaeval.base.frames import json_rows
    from metaeval.reports.sheets import files, render

    infinite, of = [float("inf"), float("-inf")], _label_words()
    tell_tables(
        reduce(or_, (sheet.told for sheet in sheets), REAL),
        lambda: render(sheets, suffix, of, lines),
        lambda: (
            record
            or ({"answer": answer} if answer else {})
            | {s.name: json_rows(s.frame.replace(infinite, float("nan"))) for s in sheets}
        ),
        lambda path: files(sheets, path, of, lines),
        out,
    )


def _given() -> list[Path]:
    """Return the files and folders that a command was given to look at."""
    context = click.get_current_context()
    arguments = [p for p in context.command.params if isinstance(p, click.Argument)]
    values = [context.params[str(p.name)] for p in arguments]
    return [Path(one) for v in values for one in (v if isinstance(v, tuple) else [v]) if one is not None]


def _label_words() -> str:
    """Return what a command was given, its own name and its options: no other table of a paper has all."""
    words = [*(path.resolve().name for path in _given()), str(click.get_current_context().info_name)]
    return "-".join([*words, *options_typed()])


def options_typed() -> list[str]:
    """Return the options that were typed and change what a table shows: a name and its values each."""
    context, typed_options = click.get_current_context(), []
    for name, value in context.params.items():
        typed = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        option = any(p.name == name and isinstance(p, click.Option) for p in context.command.params)
        if typed and option and name not in _UNSEEN:
            values = value if isinstance(value, list | tuple) else [] if value is True else [value]
            typed_options.append(" ".join([name, *map(str, values)]))
    return typed_options


def written(
    out: Path, record: Callable[[], object], files: Callable[[Path], Mapping[Path, str]]
) -> Mapping[Path, str]:
    """Return the content of each file: the record for JSON, else ``files``, with all columns."""
    from metaeval.reports.cells import coloured, fitted

    fitted.set(False)
    coloured.set(False)
    return {out: f"{json_text(record())}\n"} if out.suffix.lower() == ".json" else files(out)


def tell_tables(
    simulated: Simulation,
    text: Callable[[], str],
    record: Callable[[], object],
    files: Callable[[Path], Mapping[Path, str]],
    out: Path | None,
) -> None:
    """Print tables as ``text``, or write ``files`` to ``out``; as JSON, the ``record``."""
    from metaeval.base.files import write_text

    printed = "" if out is not None or is_on("json") else text()
    tell_simulated(simulated, printed)
    if out is not None:
        for path, content in written(out, record, files).items():
            write_text(path, content)
            tell(str(path))
    if is_on("json"):
        tell_json(record())
    elif out is None:
        click.echo(printed, nl=False)
