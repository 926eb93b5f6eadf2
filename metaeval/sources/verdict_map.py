"""The map of recorded verdicts: the meaning of columns, and of the words in them.

::

    units: {item_id: [subset, pair_id]}       # our key ← a column, or several, joined by `/`
    evaluator: [judge, prompt]                # a column, or several, joined by a blank
    pair: [output 1, output 2]                # the names of the two sides, the file's first one first;
                                              # or the columns with them: {first: model_a, second: model_b}
    order: {column: swapped, first: "False", second: "True"}       # whose text was shown first
    winner: {column: winner, first: "1", second: "2", tie: [tie, C], missing: [error]}
    aspect: {column: criterion}               # or a name; left out: one verdict over all aspects
    gold: {column: gold, file: pairs.jsonl, first: "1", second: "2"}   # without `file`: of the table itself
    keep: [subset]                            # further columns to keep, to count by

Words are compared without regard to case; an empty winner is a missing verdict. An argument of the import
says whether ``first`` under ``winner`` is the pair's first side or the text that was shown first: one file
can be read both ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, field_validator, model_validator

from metaeval.base.errors import nearest
from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.base.validation import Strict
from metaeval.sources.tables.entries import FromColumn, Name, Names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

KEYS = ("user_id", "item_id")
"""The columns that name what a pair was written for; a file may have no users."""
LONG = (*KEYS, FIRST, SECOND, "aspect", "evaluator", "order", "winner", "status", "call", "gold")
"""The columns of verdicts."""


def word(value: object) -> str:
    """Return a value as text to compare: stripped, without case."""
    return str(value).strip().casefold()


Words = Annotated[
    list[str], BeforeValidator(lambda v: [word(w) for w in (v if isinstance(v, list) else [v])])
]


class Sides(Strict):
    """A column whose words name a side."""

    column: Name
    first: Words
    second: Words

    @model_validator(mode="after")
    def _each_word_once(self) -> Self:
        given = [w for words in self.by_side.values() for w in words]
        twice = sorted({w for w in given if given.count(w) > 1})
        if twice:
            raise ValueError(f"the word {twice[0]!r} has two meanings; each word may have one")
        return self

    @property
    def by_side(self) -> Mapping[str, list[str]]:
        """Side → the words that mean it."""
        return {FIRST: self.first, SECOND: self.second}

    @property
    def meanings(self) -> Mapping[str, str]:
        """Word → what it means."""
        return {w: side for side, words in self.by_side.items() for w in words}


class Winners(Sides):
    """A column whose words name a side, a tie, or nothing."""

    tie: Words = Field(default_factory=list)
    missing: Words = Field(default_factory=list)

    @property
    def by_side(self) -> Mapping[str, list[str]]:
        """Side → the words that mean it; an empty side is a missing verdict."""
        return {FIRST: self.first, SECOND: self.second, TIE: self.tie, "": [*self.missing, ""]}


class Gold(Winners):
    """Where the right verdict stands, in the names of the pair; in a file of its own, by the same keys."""

    file: Name | None = None


class PairColumns(Strict):
    """The columns that name the two sides."""

    first: Name
    second: Name


class VerdictMap(Strict):
    """The content of a map of verdicts."""

    units: dict[Name, Names]
    evaluator: Names
    pair: list[Name] | PairColumns
    order: Sides
    winner: Winners
    aspect: str | FromColumn = ""
    gold: Gold | None = None
    keep: list[Name] = Field(default_factory=list)

    @field_validator("units")
    @classmethod
    def _has_keys(cls, units: dict[str, Any]) -> dict[str, Any]:
        for key in units:
            if key not in KEYS:
                raise ValueError(f"holds {key!r}{nearest(key, KEYS)}; it may hold {', '.join(KEYS)}")
        if "item_id" not in units:
            raise ValueError("must say which column is 'item_id'")
        return units

    @field_validator("pair")
    @classmethod
    def _two_sides(cls, pair: list[str] | PairColumns) -> list[str] | PairColumns:
        if isinstance(pair, list) and (len(pair) != 2 or pair[0] == pair[1]):
            raise ValueError("must hold two different names, or the two columns `first` and `second`")
        return pair

    @field_validator("keep")
    @classmethod
    def _own_names(cls, keep: list[str]) -> list[str]:
        taken = next((name for name in keep if name in LONG), None)
        if taken is not None:
            raise ValueError(f"cannot keep a column called {taken!r}, a reserved name; rename it")
        return keep
