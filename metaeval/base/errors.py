"""Every error that metaeval raises on purpose.

::

    MetaevalError                 exit code 2: the input is wrong, one sentence says how
    ├── SpecError                 an evaluator's name or arguments
    ├── YamlError                 a YAML file: lives with its reader, `metaeval.base.yaml_lines`
    ├── StudyError                a study file
    ├── DataError                 a data set: carries every problem found, with file, row and column
    ├── PromptError               a prompt file, or the values that one is filled with
    ├── MissingExtraError         an optional library is not installed; says the install command
    ├── RunFolderError            a run folder is in use, or is not one
    └── StoppedError              exit code 3: broke off early (budget, interrupt), can be resumed
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

T = TypeVar("T")

KEPT = "; what was answered is kept, and the same command goes on from there"
"""How the sentence of a model that answers no more ends."""

_NEAR = 0.65  # difflib's ratio: '.docx' is not '.md'
_BEGUN = 3  # letters


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


class DataError(MetaevalError):
    """A data set that cannot be used; ``problems`` holds all that was found."""

    problems: tuple[Problem, ...]

    def __init__(self, problems: Sequence[Problem] | str, *, listed_by: str = "") -> None:
        self.problems = () if isinstance(problems, str) else tuple(problems)
        self.listed_by = listed_by
        super().__init__(problems if isinstance(problems, str) else first_of(self.problems, listed_by))


class PromptError(MetaevalError):
    """A prompt file that cannot be used, or values that do not fit it."""

    def __init__(self, problems: Sequence[object] | str, *, listed_by: str = "") -> None:
        self.problems = () if isinstance(problems, str) else tuple(problems)
        self.listed_by = listed_by
        super().__init__(problems if isinstance(problems, str) else first_of(self.problems, listed_by))


class MissingExtraError(MetaevalError):
    """A library that is not installed is needed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs an optional library; install it with: pip install 'metaeval[{extra}]'"
        )


class RunFolderError(MetaevalError):
    """A run folder cannot be used."""


class StoppedError(MetaevalError):
    """Work broke off early; what was done is kept, and the same command goes on from there."""

    exit_code: ClassVar[int] = 3


def first_of(problems: Sequence[object], listed_by: str) -> str:
    """Return the first of several problems, how many more there are, and where they are listed."""
    more = len(problems) - 1
    where = f"`{listed_by}` lists them" if listed_by else "they are in the error's `problems`"
    return f"{problems[0]} (and {more:,} more; {where})" if more else str(problems[0])


def sound(found: tuple[T | None, Sequence[Problem]]) -> T:
    """Return what was read of a file, or raise `DataError` with every problem that was found on the way."""
    value, problems = found
    if value is None or problems:
        raise DataError(problems)
    return value


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known word nearest to ``word``, or an empty string.

    Case and surrounding blanks are ignored when comparing. A word that is begun counts as near, and so does
    the same number; any other shares two thirds of its letters.
    """
    given = word.strip().casefold()
    by_folded = {k.strip().casefold(): k for k in known}
    found = difflib.get_close_matches(given, by_folded, n=1, cutoff=_NEAR)
    found += [k for k in by_folded if _begun(given, k) or _same_number(given, k)]
    return f"; did you mean {by_folded[found[0]]!r}?" if found else ""


def shown(value: object) -> str:
    """Return a value as Python prints its own, for a message: ``0`` for ``np.int64(0)``, in lists too."""
    return repr(_plain(value))


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value
    if type(value) in {list, tuple}:
        return type(value)(map(_plain, value))
    if type(value) is dict:
        return {_plain(key): _plain(inside) for key, inside in value.items()}
    return value.item() if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0 else value


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


def _begun(word: str, known: str) -> bool:
    return len(word) >= _BEGUN and known.startswith(word)


def _same_number(word: str, known: str) -> bool:
    return word.isdecimal() and known.isdecimal() and word.lstrip("0") == known.lstrip("0")
