"""What a table is taken for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from metaeval.base.errors import sound
from metaeval.kinds.explanations.data.tables.names import NTH, ROLES, aspect_name
from metaeval.kinds.explanations.data.tables.prepare import few
from metaeval.sources.tables.columns import text_column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metaeval.kinds.explanations.data.tables.grid import Cell
    from metaeval.kinds.explanations.data.tables.guess import Guess
    from metaeval.sources.tables.table import Table

    Answer = TypeVar("Answer")

    class Ask(Protocol):
        """Puts a question."""

        def __call__(self, question: str, default: str, read: Callable[[str], Answer]) -> Answer:
            """Return what ``read`` makes of an answer; where it raises `DataError`, ask again."""


_LONGEST = 60  # characters of a question in a line


class ProposedAspect(NamedTuple):
    """An aspect of the map."""

    name: str
    text: str
    """As the columns, or the cells, name it."""
    scale: tuple[float, float]
    whole: bool


@dataclass(slots=True)
class Proposal:
    """What a table is taken for."""

    table: Table
    explode: list[str]
    guess: Guess
    users: list[str] = field(default_factory=list)
    """The raters who are users, as the table calls them: one word, or the identifier of each."""
    tools: list[str] = field(default_factory=list)
    """Raters of a long table who are models."""
    generator: str = ""
    aspects: list[ProposedAspect] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def row_is_user(self) -> bool:
        """Whether people have a row each and no name: their columns repeat for several explanations."""
        return NTH in "".join(self.explode) and "user_id" not in self.guess.roles

    def lines(self) -> list[str]:
        """Return what each column is taken for, in words."""
        found, by = self.guess, dict[str, list[str]]()
        for role, column in self.guess.roles.items():
            by.setdefault(column, []).append(role)
        told = sorted(
            ((", ".join(sorted(roles, key=ROLES.index)), column) for column, roles in by.items()), key=_place
        )
        told += [("ratings", self._values(found.people)), ("scores", self._values(found.tools))]
        told += [("profile", ", ".join(found.profiles)), ("not used", ", ".join(found.left))]
        width = max(len(name) for name, what in told if what) + 2
        return [f"  {name:<{width}}{what}" for name, what in told if what]

    def _values(self, cells: Sequence[Cell]) -> str:
        by: dict[str, list[str]] = {}
        for cell in cells:
            name = aspect_name(cell.aspect)
            told = cell.column if name == cell.aspect else f"{name} ({cut(cell.column)})"
            by.setdefault(cell.who or f"by {self.guess.roles['rater']}", []).append(told)
        return "; ".join(f"{who}: {few(columns)}" for who, columns in by.items())


def _place(told: tuple[str, str]) -> int:
    return ROLES.index(told[0].partition(",")[0])


def cut(name: str) -> str:
    """Return a name of a column, without its beginning if it is a long question."""
    return name if len(name) <= _LONGEST else f"… {name[2 - _LONGEST :].partition(' ')[2]}"


def raters_of(made: Proposal) -> list[str]:
    """Return the raters that a column of a long table names."""
    return sorted({*texts_of(made, made.guess.roles["rater"])} - {""})


def texts_of(made: Proposal, column: str) -> list[str]:
    """Return the cells of a column as text."""
    return [str(t).strip() for t in sound(text_column(made.table, column))]
