"""What a command on a run is: declared beside what it computes, called by Python and the command line alike.

Its function takes places, such as an `OpenRun`, then a model of its options.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, update_wrapper
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_args, get_type_hints

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from metaeval.base.errors import MetaevalError, one_of, shown
from metaeval.base.files import write_text
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.figure import Figure, figure_payload
from metaeval.engine.sheet import Sheet, said_by
from metaeval.reports.report_model import sheets_payload, with_sheets
from metaeval.runs.answer import RunAnswer, add_found
from metaeval.runs.finished import OpenRun, open_run
from metaeval.runs.folder import RECORD, REPORT, read_record, rewrite_output
from metaeval.runs.judge_trust import Finding

Place: TypeAlias = "str | os.PathLike[str]"


class Places(tuple[Path, ...]):
    """Several run folders, as a command takes them."""

    @classmethod
    def of(cls, given: Place | Sequence[Place]) -> Places:
        """Read one or several."""
        return cls(map(Path, [given] if isinstance(given, str | os.PathLike) else given))


RunOrFile = Annotated[OpenRun | Path, "RUN|FILE"]
"""A finished run, or a file of verdicts on pairs."""


def is_file_of_verdicts(path: Path) -> bool:
    """Say whether what stands in place of a run is a file; `MetaevalError` is raised if nothing is there."""
    if not path.exists():
        raise MetaevalError(
            f"there is no run folder {path}, and no file of verdicts; make one with: metaeval run STUDY.yaml "
            f"--out {path}"
        )
    return path.is_file()


class Typed(BaseModel):
    """The options of a command: the docstring of a field is its help, without one it has none.

    A text in an annotation says how it is typed: ``--NAME``, if not by its own name, and what stands for its
    value in the help.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


Names: TypeAlias = tuple[str, ...]
Judges = Annotated[Names, "--judge NAME"]
Aspects = Annotated[
    Names, "--aspect", Field(description="Aspect to report; may be given again.  [default: all]")
]
Resamples = Annotated[int, Field(ge=1, le=10_000_000)]
Seed = Annotated[int, Field(ge=0)]


def judges_of(run: OpenRun, wanted: Sequence[str], otherwise: str) -> list[str]:
    """Return the evaluators that are wanted, or the run's judges; where it has none, say what to do."""
    known = list(run.scores.evaluators)
    names = [one_of(name, known, "the run has no evaluator") for name in wanted] or run.judges
    if not names:
        have = ", ".join(map(run.record.names.get, known, known))
        raise MetaevalError(f"the run has no judge; {otherwise} (it has: {have})")
    return list(dict.fromkeys(names))


def aspects_in(frame: pd.DataFrame, wanted: Sequence[str]) -> list[str]:
    """Return the aspects of a table that are wanted, or all."""
    known = [str(aspect) for aspect in frame["aspect"].unique()]
    return [one_of(aspect, known, "there is no aspect", "there are") for aspect in wanted] or known


@dataclass(frozen=True, slots=True, eq=False)
class Printed:
    """What a command made."""

    sheets: Sequence[Sheet | None]
    """None is left out."""
    simulated: Simulation | None = None
    """What is simulated of it; all that is of the last run, if left out."""
    files: Mapping[Path, str] = field(default_factory=dict)
    """Path → content of what it writes beside the report."""
    figures: Sequence[Figure] = ()
    within: Mapping[str, Mapping[str, float]] | None = None
    """As of `metaeval.reports.report_model.with_sheets`, as the figures are."""
    found: Mapping[str, str] = field(default_factory=dict)
    """Judge of a run → what was found of it, as a clause for `metaeval.runs.answer`."""
    findings: Mapping[str, Sequence[Finding]] = field(default_factory=dict)
    """The same as an audit has it."""
    answer: RunAnswer | None = None
    """That of the run, with what was found."""
    first: Sequence[str] = ()
    """What is said first; if left out, the findings of the sheets, or what was ``found``."""
    say: Callable[[Mapping[str, Sheet]], Iterable[str]] | None = None
    """The sheets by name, as they are printed → what is said ``first``."""
    code: int | None = None
    """The exit code of a check, which the report does not show unless it is an audit."""


def verdict_lines(sheet: Sheet | None, *, named: bool = False) -> list[str]:
    """Return what the rows of a sheet say in ``verdict``, as what is said first.

    Aspects of which the same is said have one line. A line begins with a capital, unless it may begin with
    the name of a judge (``named``).
    """
    rows = sheet.frame[["aspect", "verdict"]].astype(str).itertuples(index=False) if sheet else ()
    of: dict[str, list[str]] = {}
    for aspect, verdict in rows:
        of.setdefault(verdict, []).extend([aspect] if aspect else [])
    told = [
        f"{', '.join(aspects)}: {verdict}." if aspects else f"{verdict}." for verdict, aspects in of.items()
    ]
    return told if named else [line[:1].upper() + line[1:] for line in told]


class Command:
    """A function on runs, which takes their folders, and returns sheets that say what is simulated."""

    def __init__(
        self,
        make: Callable[..., Printed],
        name: str,
        *,
        rated: bool,
        view: str,
        calibrated: bool,
        answered: bool,
    ) -> None:
        update_wrapper(self, make)
        self.make, self.name, self.rated, self.view = make, name, rated, view
        self.calibrated, self.answered = calibrated, answered

    @cached_property
    def places(self) -> dict[str, tuple[Any, str]]:
        """Each place → its type, and what stands for it in the help."""
        hints = get_type_hints(self.make, include_extras=True)
        return {
            name: (get_args(hint) if hasattr(hint, "__metadata__") else (hint, "RUN"))
            for name, hint in hints.items()
            if name not in ("how", "return")
        }

    @cached_property
    def options(self) -> type[Typed]:
        """The model of the options."""
        found: type[Typed] = get_type_hints(self.make).get("how", Typed)
        return found

    def __call__(self, *given: Any, **options: Any) -> list[Sheet]:  # noqa: ANN401 - as the model says
        """Return the sheets of `made`."""
        return [sheet for sheet in self.made(*given, **options).sheets if sheet]

    def made(self, *given: Any, **options: Any) -> Printed:  # noqa: ANN401 - as the model says
        """Do it; show the sheets in the view of the run's report, and write its files.

        The options come as their model, or one by one.
        """
        named = dict(zip((*self.places, *self.options.model_fields), given, strict=False)) | options
        folders = {name: Places.of(named.pop(name)) for name in self.places}
        opened = [self._opened(self.places[name][0], of) for name, of in folders.items()]
        how = given[-1] if given and isinstance(given[-1], Typed) else self._read(named)
        folder = [*folders.values()][-1][-1]
        names = read_record(folder).names if (folder / RECORD).is_file() else {}
        how = _by_names(how, names)
        made = self.make(*opened, how) if self.options.model_fields else self.make(*opened)
        of_run = opened[-1].scores.simulation if isinstance(opened[-1], OpenRun) else REAL
        simulated = of_run if made.simulated is None else made.simulated
        sheets = [_marked(sheet, simulated, names) for sheet in made.sheets if sheet]
        figures = [replace(figure, sheet=_marked(figure.sheet, simulated, {})) for figure in made.figures]
        answer = add_found(folder, self.name, made.found, made.findings) if names and made.found else None
        say = made.say and made.say({sheet.name: sheet for sheet in sheets})
        first = [*(say or made.first)] or said_by(sheets)
        made = replace(made, sheets=sheets, figures=figures, answer=answer, first=first)
        for path, content in made.files.items():
            write_text(path, content)
        if self.view and (made.code is None or made.findings):
            show_in_report(folder, self.view, made)
        return made

    def _opened(self, kind: object, given: Places) -> OpenRun | Places | Path:
        if kind is Places:
            return given
        if kind == (OpenRun | Path):
            kind = Path if is_file_of_verdicts(given[0]) else OpenRun
        return open_run(given[0], rated=self.rated) if kind is OpenRun else given[0]

    def _read(self, named: Mapping[str, Any]) -> Typed:
        try:
            return self.options.model_validate(named)
        except ValidationError as error:
            [first, *_] = error.errors(include_url=False)
            raise MetaevalError(f"{first['loc'][0]} is {shown(first['input'])}: {first['msg']}") from error


def command(
    name: str, *, rated: bool = False, view: str = "", calibrated: bool = False, answered: bool = False
) -> Callable[[Callable[..., Printed]], Command]:
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
    answered
        Whether the command line says first what the run says, if the command says nothing first.
    """
    options = {"calibrated": calibrated, "answered": answered}
    return lambda make: Command(make, name, rated=rated, view=view, **options)


def _by_names(how: Typed, names: Mapping[str, str]) -> Typed:
    """Return options with the names of evaluators for the short ones that are printed."""
    of = {short: name for name, short in names.items()}
    given = {f: getattr(how, f, None) for f in ("judge", "judges", "evaluator", "evaluators")}
    return how.model_copy(
        update={
            f: of.get(it, it) if isinstance(it, str) else tuple(of.get(one, one) for one in it)
            for f, it in given.items()
            if it is not None
        }
    )


def _marked(sheet: Sheet, simulated: Simulation, names: Mapping[str, str]) -> Sheet:
    """Return a sheet that prints short names, and says what is simulated of the evaluators it is about."""
    sheet = replace(sheet, names=names)
    if not simulated or sheet.simulated:
        return sheet
    if sheet.about is not None:
        cells = {
            str(value) for column in sheet.about if column in sheet.frame for value in sheet.frame[column]
        }
        simulated = simulated.among(cells | {part for cell in cells for part in cell.split(" / ")})
    return replace(sheet, simulated=simulated)


def show_in_report(folder: Path, view: str, made: Printed) -> None:
    """Show what was made in a view of a run's report.

    A folder that is no run, a report that the run did not write, and one that may not be written stay as they
    are: the sheets are printed all the same.
    """
    with contextlib.suppress(MetaevalError, OSError):
        drawn = [figure_payload(figure) for figure in made.figures]
        tables = sheets_payload(view, [sheet for sheet in made.sheets if sheet])
        answer = made.answer.record if made.answer else None
        page = partial(
            with_sheets, view=view, sheets=tables, figures=drawn, within=made.within, answer=answer
        )
        rewrite_output(folder, REPORT, page)
