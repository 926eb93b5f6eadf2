"""What column maps share: names, patterns of names, and entries for ratings and scores."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from metaeval.base.errors import nearest
from metaeval.base.records import USER_RATER
from metaeval.base.validation import Strict

_PLACEHOLDER = re.compile(r"\{(\w+)\}")

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Names = Annotated[
    list[Name], BeforeValidator(lambda v: [v] if isinstance(v, str) else v), Field(min_length=1)
]
"""One name or several."""


def _as_text(given: object) -> object:
    """Return a scalar of YAML as the text of a cell."""
    match given:
        case bool():
            return str(given).lower()
        case int():
            return str(given)
        case float():
            return f"{given:.15g}"
    return given


Word = Annotated[str, BeforeValidator(_as_text)]
"""A value of a cell; a number stands for its text."""
Words = Annotated[
    list[Word], BeforeValidator(lambda v: v if isinstance(v, list) else [v]), Field(min_length=1)
]
"""One value or several."""


class FromColumn(Strict):
    """A value that is given by a column, row by row."""

    column: Name


class Constant(Strict):
    """A value that the table lacks: the same in every row, or the number of the row."""

    constant: Name | None = None
    row: Literal[True] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.constant is None) == (self.row is None):
            raise ValueError("give either `constant: TEXT` or `row: true`")
        return self


class Entry(Strict):
    """Columns of ratings or scores: by whom, and of which aspect."""

    columns: Names
    aspect: str | FromColumn | None = None
    where: dict[str, list[str]] = Field(default_factory=dict)
    who_is: ClassVar[str]
    usual: ClassVar[str] = ""
    """Whose values a pattern's columns hold if nothing says so."""

    @property
    def who(self) -> str | FromColumn | None:
        """The rater or evaluator: a template over the placeholders of ``columns``, or a column."""
        found: str | FromColumn | None = getattr(self, self.who_is)
        return found

    @model_validator(mode="after")
    def _placeholders_are_known(self) -> Self:
        for pattern in self.columns:
            given = placeholders(pattern)
            if len(given) != len(set(given)):
                raise ValueError(f"{pattern!r} has one placeholder twice")
            # Without a pattern, the column may be the name; a pattern must say which part is.
            who = self.who or (f"{{{self.who_is}}}" if given and not self.usual else "")
            for template in (t for t in (who, self.aspect) if isinstance(t, str)):
                if lacking := [name for name in placeholders(template) if name not in given]:
                    raise ValueError(
                        f"{template!r} needs the placeholder {{{lacking[0]}}}; {pattern!r} does not have it"
                        f"{nearest(lacking[0], given)}"
                    )
        known = {name for pattern in self.columns for name in placeholders(pattern)}
        known |= {x.column for x in (self.who, self.aspect) if isinstance(x, FromColumn)}
        if strange := [name for name in self.where if name not in known]:
            hint = nearest(strange[0], known)
            raise ValueError(
                f"`where` names {strange[0]!r}, which is neither a placeholder nor a column here{hint}"
            )
        return self

    def named(self, column: str, values: Mapping[str, str]) -> str | FromColumn:
        """Return whose values ``column`` holds, given what its placeholders stand for."""
        if isinstance(self.who, FromColumn):
            return self.who
        if self.who is None:
            return values.get(self.who_is) or (self.usual if values and self.usual else column)
        return fill(self.who, values)


class RatingEntry(Entry):
    """Columns that hold people's ratings."""

    rater: str | FromColumn | None = None
    who_is = "rater"
    usual = USER_RATER


class ScoreEntry(Entry):
    """Columns that hold scores of other tools."""

    evaluator: str | FromColumn | None = None
    who_is = "evaluator"


def placeholders(template: str) -> list[str]:
    """Return the names in braces, in order."""
    return [str(p) for p in _PLACEHOLDER.findall(template)]


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return ``template`` with each ``{name}`` replaced."""
    return _PLACEHOLDER.sub(lambda m: values[m[1]], template)


def pattern_of(template: str, allowed: Mapping[str, Sequence[str]]) -> re.Pattern[str]:
    """Return the expression whose groups are the placeholders of ``template``.

    A placeholder stands for one of the texts that ``allowed`` has for it, else for one or more characters,
    whichever they are.
    """
    parts: list[str] = []
    for i, part in enumerate(_PLACEHOLDER.split(template)):
        if i % 2 == 0:
            parts.append(re.escape(part))
        elif part in allowed:
            parts.append(f"(?P<{part}>{'|'.join(map(re.escape, allowed[part])) or '(?!)'})")
        else:
            parts.append(f"(?P<{part}>.+?)")
    return re.compile("".join(parts), re.DOTALL)
