"""Every error that metaeval raises on purpose.

::

    MetaevalError                 exit code 2: the input is wrong, one sentence says how
    ├── SpecError                 an evaluator's name or arguments
    ├── YamlError                 a YAML file: lives with its reader, `metaeval.base.yaml_lines`
    ├── StudyError                a study file
    ├── SeveralError              several things at once: all are in ``problems``
    │   ├── DataError             a data set: every problem with its file, row and column
    │   └── PromptError           a prompt file, or the values that one is filled with
    ├── MissingExtraError         an optional library is not installed; says the install command
    ├── RunFolderError            a run folder is in use, or is not one
    └── StoppedError              exit code 3: broke off early (budget, interrupt), can be resumed
        └── UnreadableError       no reply to a judge can be read
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, TypeVar

from metaeval.base.counts import counted

T = TypeVar("T")

KEPT = "; what was answered is kept, and the same command goes on from there"
"""How the sentence of a model that answers no more ends."""

FOREIGN = (Exception, SystemExit)
"""What code of someone else may raise when it is imported or called."""

_NEAR = 0.65  # difflib's ratio: '.docx' is not '.md'
_BEGUN = 3  # letters
_GIVEN = re.compile(r"""'[^']*'|"[^"]*"|[-+]?\d[\d.]*""")
_MOST_ROWS = 9  # in a line
_MOST_SHOWN = 120  # characters of a value


class MetaevalError(Exception):
    """Base of all errors of this package; its text is one sentence for the user."""

    exit_code: ClassVar[int] = 2
    problems: tuple[object, ...] = ()
    """All that was found, where several things are wrong; each prints as one line."""
    listed_by: str = ""
    """The command that lists them; empty if there is none, so that the command line prints them all."""


class SpecError(MetaevalError):
    """An evaluator spec that cannot be read or built."""


class StudyError(MetaevalError):
    """A study file that cannot be read or is not valid; its text has a line for each thing that is wrong."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class Problem(NamedTuple):
    """One thing that is wrong with a data set."""

    file: str
    """Name of the file, as the user knows it."""
    row: int | None
    """Row as a spreadsheet shows it: 1-based, header counted; None if the whole file is meant."""
    column: str | None
    """Name of the column; None if the whole row or file is meant."""
    message: str
    """What was given, what is allowed."""

    def __str__(self) -> str:
        where = self.file
        if self.row is not None:
            where += f", row {self.row}"
        if self.column is not None:
            where += f", column {self.column!r}"
        return f"{where}: {self.message}"


def by_cause(problems: Iterable[object]) -> list[str]:
    """Return one line per cause: its first problem, and the rows of those that differ by the value alone."""
    causes: dict[object, list[Any]] = {}
    for problem in problems:
        cause: object = problem
        if isinstance(problem, Problem) and problem.row is not None:
            cause = (problem.file, problem.column, _GIVEN.sub("", problem.message))
        causes.setdefault(cause, []).append(problem)
    lines = []
    for first, *others in causes.values():
        rows = [f"{p.row}" for p in others[:_MOST_ROWS]] + ["…"] * (len(others) > _MOST_ROWS)
        more = f" (and {counted(len(others), 'more row')}: {', '.join(rows)})" if others else ""
        lines.append(f"{first}{more}")
    return lines


class SeveralError(MetaevalError):
    """Several things are wrong: the text is the first, how many more there are, and where they are listed."""

    def __init__(self, problems: Sequence[object] | str, *, listed_by: str = "") -> None:
        self.problems = () if isinstance(problems, str) else tuple(problems)
        self.listed_by = listed_by
        where = f"`{listed_by}` lists them" if listed_by else "they are in the error's `problems`"
        more = f" (and {len(self.problems) - 1:,} more; {where})" if len(self.problems) > 1 else ""
        super().__init__(problems if isinstance(problems, str) else f"{problems[0]}{more}")


class DataError(SeveralError):
    """A data set that cannot be used; ``problems`` holds all that was found."""

    problems: tuple[Problem, ...]

    def __init__(self, problems: Sequence[Problem] | str, *, listed_by: str = "") -> None:
        super().__init__(problems, listed_by=listed_by)


class PromptError(SeveralError):
    """A prompt file that cannot be used, or values that do not fit it."""


class MissingExtraError(MetaevalError):
    """A library that is not installed is needed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs an optional library; install it with: pip install 'metaeval[{extra}]'"
        )


def needed(module: str, purpose: str, extra: str) -> Any:  # noqa: ANN401 - a module
    """Return a module of an optional library, or raise `MissingExtraError`."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(purpose, extra) from error


class RunFolderError(MetaevalError):
    """A run folder cannot be used."""


class StoppedError(MetaevalError):
    """Work broke off early; what was done is kept, and the same command goes on from there."""

    exit_code: ClassVar[int] = 3


class UnreadableError(StoppedError):
    """None of the first replies to a judge can be read, so the others were not asked for."""


def sound(result: tuple[T | None, Sequence[Problem]], *, listed_by: str = "") -> T:
    """Return what was read of a file, or raise `DataError` with every problem that was found on the way."""
    value, problems = result
    if value is None or problems:
        raise DataError(problems, listed_by=listed_by)
    return value


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known word nearest to ``word``, or an empty string.

    Case and surrounding blanks are ignored when comparing. A word that is begun counts as near, and so does
    the same number; any other shares two thirds of its letters.
    """
    folded = word.strip().casefold()
    by_folded = {k.strip().casefold(): k for k in known}
    near = difflib.get_close_matches(folded, by_folded, n=1, cutoff=_NEAR)
    near += [k for k in by_folded if len(folded) >= _BEGUN and k.startswith(folded)]
    near += [k for k in by_folded if folded.isdecimal() and k.isdecimal() and int(folded) == int(k)]
    return f"; did you mean {by_folded[near[0]]!r}?" if near else ""


def shown(value: object) -> str:
    """Return a value for a message: ``0`` for ``np.int64(0)``, in lists too. A long one is cut."""
    text = repr(_plain(value))
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def exact(number: float) -> str:
    """Return a number with all its digits, for a message that says why it will not do."""
    return repr(float(number)).removesuffix(".0")


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value
    if type(value) in {list, tuple}:
        return type(value)(map(_plain, value))
    if type(value) is dict:
        return {_plain(key): _plain(inside) for key, inside in value.items()}
    if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0 and value.dtype.kind not in "mM":
        value = value.item()
    # A date is shown as it is written, and what has a form of its own, such as a data set, in that form.
    return value if type(value).__module__ == "builtins" or repr(value)[:1] == "<" else str(value)


def unknown(said: str, word: object, known: Iterable[str], listed: str = "it has") -> str:
    """Return a sentence on a word that is not known, with the nearest known one and all of them."""
    names = [*known]
    return f"{said} {shown(word)}{nearest(str(word), names)} ({listed}: {', '.join(names)})"


def one_of(
    word: str,
    known: Iterable[str],
    said: str,
    listed: str = "it has",
    *,
    error: Callable[[str], Exception] = MetaevalError,
) -> str:
    """Return ``word`` if it is known, else raise ``error`` with the sentence of `unknown`."""
    if word not in (names := [*known]):
        raise error(unknown(said, word, names, listed))
    return word
