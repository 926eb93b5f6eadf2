"""What a command on a run is: declared beside what it computes, called by Python and the command line alike.

The parameters of the function are those of the command. One that is annotated with `OpenRun` takes a folder.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property, partial, update_wrapper
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias, get_args, get_type_hints

import pandas as pd

from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.files import write_text
from metaeval.base.simulation import Simulation
from metaeval.engine.figure import Figure, figure_payload
from metaeval.engine.sheet import Sheet
from metaeval.reports.report_model import sheets_payload, with_sheets
from metaeval.runs.finished import OpenRun, open_run
from metaeval.runs.folder import REPORT, rewrite_output

Place: TypeAlias = "str | os.PathLike[str]"
Select: TypeAlias = "Callable[[OpenRun, Sequence[str]], list[str]]"


@dataclass(frozen=True, slots=True)
class Option:
    """How a parameter is typed on the command line; its type and its default count too."""

    about: str = ""
    """Its help."""
    flag: str = ""
    """What is typed for it; its name, if left out."""
    metavar: str | None = None
    least: float | None = None
    most: float | None = None
    select: Select | None = None
    """Makes the evaluators that a command is about, of a run and of those that are named."""


Aspects = Annotated[
    Sequence[str], Option("Aspect to report; may be given again.  [default: all]", "--aspect")
]
Resamples = Annotated[int, Option(least=1, most=10_000_000)]
Seed = Annotated[int, Option(least=0)]


def the_judges(about: str, select: Select | None = None) -> Option:
    """Return the option ``--judge`` of the evaluators that a command is about."""
    return Option(f"{about}  [default: the run's judges]", "--judge", "NAME", select=select)


def judges_of(run: OpenRun, wanted: Sequence[str], otherwise: str) -> list[str]:
    """Return the evaluators that are wanted, or the run's judges; where it has none, say what to do."""
    known = list(run.scores.evaluators)
    names = [one_of(name, known, "the run has no evaluator") for name in wanted] or run.judges
    if not names:
        raise MetaevalError(f"the run has no judge; {otherwise}")
    return list(dict.fromkeys(names))


def aspects_in(frame: pd.DataFrame, wanted: Sequence[str]) -> list[str]:
    """Return the aspects of a table that are wanted, or all."""
    known = [str(aspect) for aspect in frame["aspect"].unique()]
    return [one_of(aspect, known, "there is no aspect", "there are") for aspect in wanted] or known


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """What a command made."""

    sheets: Sequence[Sheet | None]
    """None is left out."""
    simulated: Simulation | None = None
    """What is simulated of it; that of the evaluators that the command is about, if left out."""
    files: Mapping[Path, str] = field(default_factory=dict)
    """Path → content of what it writes beside the report."""
    figures: Sequence[Figure] = ()
    within: Mapping[str, Mapping[str, float]] | None = None
    """As of `metaeval.reports.report_model.with_sheets`, as the figures are."""
    code: int | None = None
    """The exit code of a check, which the report does not show."""


class Typed(NamedTuple):
    """A parameter as it is typed."""

    kind: Any
    default: Any
    how: Option

    @classmethod
    def of(cls, hint: Any, default: Any) -> Typed:  # noqa: ANN401 - a type, as it is annotated, and a value
        """Read an annotation."""
        kind, *extra = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
        return cls(kind, default, extra[0] if extra else Option())


class Command:
    """A function on runs, which takes their folders, and returns sheets that say what is simulated."""

    def __init__(
        self, make: Callable[..., Made], name: str, *, rated: bool, view: str, calibrated: bool
    ) -> None:
        update_wrapper(self, make)
        self.make, self.name, self.rated, self.view, self.calibrated = make, name, rated, view, calibrated

    @cached_property
    def parameters(self) -> dict[str, Typed]:
        """What is typed, by name; the fields of a dataclass are typed one by one."""
        hints = get_type_hints(self.make, include_extras=True)
        found = {}
        for name, parameter in signature(self.make).parameters.items():
            if is_dataclass(parameter.default):
                of_fields = get_type_hints(hints[name], include_extras=True)
                for one in fields(parameter.default):
                    found[one.name] = Typed.of(of_fields[one.name], one.default)
            else:
                found[name] = Typed.of(hints[name], parameter.default)
        return found

    def __call__(self, *places: Any, **options: Any) -> list[Sheet]:  # noqa: ANN401 - as the function says
        """Return the sheets of `made`."""
        return [sheet for sheet in self.made(*places, **options).sheets if sheet]

    def made(self, *places: Any, **options: Any) -> Made:  # noqa: ANN401 - as the function says
        """Do it; show the sheets in the view of the run's report, and write its files."""
        for name, parameter in signature(self.make).parameters.items():
            if is_dataclass(parameter.default):
                own = {f.name: options.pop(f.name) for f in fields(parameter.default) if f.name in options}
                options |= {name: replace(parameter.default, **own)} if own else {}
        bound = signature(self.make).bind(*places, **options)
        bound.apply_defaults()
        given, run, simulated, folder = bound.arguments, None, None, Path()
        for name, typed in self.parameters.items():
            if typed.default is Parameter.empty:
                folder = given[name] = Path(given[name])
            if typed.kind is OpenRun:
                run = given[name] = open_run(folder, rated=self.rated)
                simulated = run.scores.simulation
            if run and simulated and typed.how.select:
                given[name] = typed.how.select(run, given[name])
                simulated = simulated.among(given[name])
        made = self.make(*bound.args, **bound.kwargs)
        simulated = simulated if made.simulated is None else made.simulated
        made = replace(made, sheets=[_marked(sheet, simulated) for sheet in made.sheets if sheet])
        for path, content in made.files.items():
            write_text(path, content)
        if self.view and made.code is None:
            show_in_report(folder, self.view, made)
        return made


def command(
    name: str, *, rated: bool = False, view: str = "", calibrated: bool = False
) -> Callable[[Callable[..., Made]], Command]:
    """Declare a function to be a command.

    Parameters
    ----------
    name
        The words by which it is typed; `metaeval.cli.index` has it too.
    rated
        Whether scores and truth of its runs must be ratings.
    view
        The view of the last run's report in which its sheets are shown, in place of those it had.
    calibrated
        Whether the command line says which judges changed since they were calibrated.
    """
    return lambda make: Command(make, name, rated=rated, view=view, calibrated=calibrated)


def _marked(sheet: Sheet, simulated: Simulation | None) -> Sheet:
    """Return a sheet that says what is simulated of the evaluators that it is about."""
    if simulated is None or sheet.simulated:
        return sheet
    if sheet.about is not None:
        cells = {
            str(value) for column in sheet.about if column in sheet.frame for value in sheet.frame[column]
        }
        simulated = simulated.among(cells | {part for cell in cells for part in cell.split(" / ")})
    return replace(sheet, simulated=simulated)


def show_in_report(folder: Path, view: str, made: Made) -> None:
    """Show what was made in a view of a run's report.

    A folder that is no run, a report that the run did not write, and one that may not be written stay as they
    are: the sheets are printed all the same.
    """
    with contextlib.suppress(MetaevalError, OSError):
        drawn = [figure_payload(figure) for figure in made.figures]
        tables = sheets_payload(view, [sheet for sheet in made.sheets if sheet])
        page = partial(with_sheets, view=view, sheets=tables, figures=drawn, within=made.within)
        rewrite_output(folder, REPORT, page)
