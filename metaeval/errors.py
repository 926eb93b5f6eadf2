"""Every error that metaeval raises on purpose.

::

    MetaevalError                 exit code 2: the input is wrong, one sentence says how
    ├── SpecError                 an evaluator's name or arguments
    ├── YamlError                 a YAML file: lives with its reader, `metaeval.yaml_lines`
    ├── StudyError                a study file
    ├── DataError                 a data set: carries every problem found, with file, row and column
    ├── PromptError               a prompt file, or the values that one is filled with
    ├── MissingExtraError         an optional library is not installed; says the install command
    ├── RunFolderError            a run folder is in use, or is not one
    └── StoppedError              exit code 3: broke off early (budget, interrupt), can be resumed
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class MetaevalError(Exception):
    """Base of all errors of this package; its text is one sentence for the user."""

    exit_code: ClassVar[int] = 2


class SpecError(MetaevalError):
    """An evaluator spec that cannot be read or built."""


class StudyError(MetaevalError):
    """A study file that cannot be read or is not valid."""


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

    def __init__(self, problems: Sequence[Problem] | str) -> None:
        self.problems: tuple[Problem, ...] = () if isinstance(problems, str) else tuple(problems)
        if isinstance(problems, str):
            text = problems
        else:
            more = len(self.problems) - 1
            text = str(self.problems[0]) + (
                f" (and {more} more; `metaeval data check` lists them)" if more else ""
            )
        super().__init__(text)


class PromptError(MetaevalError):
    """A prompt file that cannot be used, or values that do not fit it."""


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


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known word nearest to ``word``, or an empty string.

    Case and surrounding blanks are ignored when comparing.
    """
    by_folded = {k.strip().casefold(): k for k in known}
    found = difflib.get_close_matches(word.strip().casefold(), by_folded, n=1, cutoff=0.5)
    return f"; did you mean {by_folded[found[0]]!r}?" if found else ""
