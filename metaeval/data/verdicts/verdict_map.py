"""The map of recorded verdicts: the meaning of columns, and of the words in them.

What was shown first and second, and who won, one verdict per row::

    columns: {judge: judge, repeat: repeat, group: question, first: first, second: second, reply: reply}
    choices: {first: A, second: B, tie: C}    # the words of the verdict

``winner`` in place of ``reply`` is the name of a side, or one of the words; ``scores: [a, b]`` are the
scores of the two sides: the greater wins, equal ones tie. Of two columns, the second has
the verdicts with the sides swapped. ``judge`` and ``group`` may be several columns, or none.
``order: time`` names a column by which the verdicts came one after the other, as Elo takes them.
``preference: {column: chance, first: 0, second: 1}`` is a number between two ends: the nearer one wins, and
``share`` is what ``first`` has of the verdict. ``where: {judge: [gpt-4, o3]}`` keeps rows with these values.
``reply: mt-bench`` in place of ``choices`` reads replies by a pattern that has verdicts;
``reply: {pattern: 'Winner: (?P<value>A|B)', take: last}``, beside ``choices``, by one of your own; one with
the groups ``first`` and ``second`` gives two numbers, of which the greater wins.

A pair whose sides have one name in all rows, and a column that says which was shown first::

    units: {item_id: [subset, pair_id]}       # our key ← a column, or several, joined by `/`; or {row: true}
    evaluator: [judge, prompt]                # as `columns: {judge: …}`; or {constant: gpt}
    pair: [output 1, output 2]                # names of the sides; or {first: model_a, second: model_b}
    order: {column: swapped, first: "False", second: "True"}       # whose text was shown first
    winner: {column: winner, first: "1", second: "2", tie: [tie, C], missing: [error]}
    aspect: {column: criterion}               # or a name; left out: one verdict over all aspects
    gold: {column: gold, file: pairs.jsonl, first: "1", second: "2"}   # without `file`: of the table itself
    lengths: [tokens 1, tokens 2]             # columns with the lengths of the two sides' texts
    keep: [subset]                            # further columns to keep, to count by

Both forms may be mixed. A column in a nested file is a path: ``judgments.0.decision``. Words are compared
without regard to case; an empty cell is a missing verdict, unless `""` is among the words of a side or a tie.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, field_validator, model_validator

from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.base.validation import Strict
from metaeval.data.tables.entries import Constant, FromColumn, Name, Names
from metaeval.data.verdicts.verdict_columns import LONG, word
from metaeval.llm.replies.fields import Choice, Given
from metaeval.llm.replies.patterns import ReplyPattern

Words = Annotated[
    list[str], BeforeValidator(lambda v: [str(w).strip() for w in (v if isinstance(v, list) else [v])])
]


class Sides(Strict):
    """The words that name a side."""

    first: Words
    second: Words

    @model_validator(mode="after")
    def _each_word_once(self) -> Self:
        given = [word(w) for words in self.by_side.values() for w in words]
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
        return {word(w): side for side, words in self.by_side.items() for w in words}


class Order(Sides):
    """The column that says which side was shown first."""

    column: Name


class Choices(Sides):
    """The words that name a side, a tie, or nothing."""

    first: Words = Field(default_factory=lambda: [FIRST])
    second: Words = Field(default_factory=lambda: [SECOND])
    tie: Words = Field(default_factory=lambda: [TIE])
    missing: Words = Field(default_factory=list)

    @property
    def by_side(self) -> Mapping[str, list[str]]:
        """Side → the words that mean it; an empty side is a missing verdict."""
        said = {FIRST: self.first, SECOND: self.second, TIE: self.tie}
        empty = [] if any("" in words for words in (*said.values(), self.missing)) else [""]
        return {**said, "": [*self.missing, *empty]}


class Gold(Choices):
    """Where the right verdict stands, in the names of the pair; in a file of its own, by the same keys."""

    column: Name
    file: Name | None = None


class UnitColumns(Strict):
    """The columns that name what a pair was written for."""

    user_id: Names = Field(default_factory=list)
    item_id: Names | Constant


class PreferenceColumn(Strict):
    """A column of numbers between two ends, such as 1 to 2 or the chance of a side."""

    column: Name
    first: float
    second: float

    @model_validator(mode="after")
    def _two_ends(self) -> Self:
        if self.first == self.second:
            raise ValueError("first and second must be different numbers")
        return self

    def shares(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the first side has of each verdict, 0 to 1; NaN where there is none."""
        return (self.second - numbers) / (self.second - self.first)


class VerdictColumns(Strict):
    """Which column is what; of two columns of verdicts, the second holds those with the sides swapped."""

    first: Name | None = None
    second: Name | None = None
    winner: Names = Field(default_factory=list, max_length=2)
    scores: list[Name] = Field(default_factory=list, min_length=2, max_length=2)
    reply: Names = Field(default_factory=list, max_length=2)
    judge: Names | Constant = Field(default_factory=list)
    repeat: Name | None = None
    order: Name | Constant | None = None
    """When it was played: a column, or ``{row: true}`` for the order of the rows."""
    group: Names = Field(default_factory=list)
    task: Name | None = None


class VerdictMap(Strict):
    """The content of a map of verdicts."""

    columns: VerdictColumns = Field(default_factory=VerdictColumns)
    choices: Choices = Field(default_factory=Choices)
    preference: PreferenceColumn | None = None
    where: dict[Name, Words] = Field(default_factory=dict)
    reply: ReplyPattern | None = None
    units: UnitColumns | None = None
    pair: list[Name] = Field(default_factory=list)
    order: Order | None = None
    aspect: str | FromColumn = ""
    gold: Gold | None = None
    lengths: list[Name] = Field(default_factory=list, min_length=2, max_length=2)
    keep: list[Name] = Field(default_factory=list)
    parts: dict[Name, str] = Field(default_factory=dict)
    """Column → a pattern whose named groups are columns, too; ``file`` is which of several files."""

    @model_validator(mode="before")
    @classmethod
    def _in_columns(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Put ``evaluator``, ``winner`` and the columns of ``pair`` among the columns."""
        columns = given.get("columns", {})
        if not isinstance(columns, dict):
            return given
        rest = {**given, "columns": {**columns}}
        if "evaluator" in rest:
            rest["columns"]["judge"] = rest.pop("evaluator")
        if isinstance(rest.get("order"), str):
            rest["columns"]["order"] = rest.pop("order")
        if isinstance(rest.get("pair"), dict):
            rest["columns"] |= rest.pop("pair")
        if isinstance(rest.get("winner"), dict):
            rest["choices"] = {**rest.pop("winner")}
            rest["columns"]["winner"] = rest["choices"].pop("column", None)
        return rest

    @field_validator("parts")
    @classmethod
    def _have_names(cls, parts: dict[str, str]) -> dict[str, str]:
        for pattern in parts.values():
            try:
                named = re.compile(pattern).groupindex
            except re.error as error:
                raise ValueError(f"cannot be read: {error}") from error
            if not named:
                raise ValueError("must have groups with names, such as (?P<judge>[a-z]+)")
        return parts

    @field_validator("pair")
    @classmethod
    def _two_sides(cls, pair: list[str]) -> list[str]:
        if len(set(pair)) != 2 or len(pair) != 2:
            raise ValueError("must hold two different names, or the two columns `first` and `second`")
        return pair

    @field_validator("keep")
    @classmethod
    def _own_names(cls, keep: list[str]) -> list[str]:
        taken = next((name for name in keep if name in LONG), None)
        if taken is not None:
            raise ValueError(f"cannot keep a column called {taken!r}, a reserved name; rename it")
        return keep

    @model_validator(mode="after")
    def _each_said_once(self) -> Self:
        of = self.columns
        if not self.pair and (of.first is None or of.second is None):
            raise ValueError("columns must name 'first' and 'second', the columns of the two sides")
        if [bool(of.winner), bool(of.reply), bool(of.scores), bool(self.preference)].count(True) != 1:
            raise ValueError(
                "columns must name either 'winner' or 'reply', the column of the verdict, or 'scores', those "
                "of the scores of the two sides; or the map a 'preference', a number between two ends"
            )
        if self.order and len(of.winner or of.reply) == 2:
            raise ValueError("`order` does not go with two columns of verdicts, which hold both orders")
        if of.reply:
            if "choices" not in self.model_fields_set and not self.of_numbers:
                meant = set(self.reply.values.values()) if self.reply else set()
                if not {FIRST, SECOND} <= meant <= {FIRST, SECOND, TIE}:
                    raise ValueError(
                        "choices must say the words of a reply, such as {first: A, second: B, tie: C}"
                    )
            _ = self.field  # a word that two sides have is refused
        elif self.reply:
            raise ValueError("`reply` says how replies are read; name their column in `columns`")
        return self

    @property
    def of_numbers(self) -> bool:
        """Whether a reply gives a number for each side: groups ``first`` and ``second`` of its pattern."""
        return self.reply is not None and {FIRST, SECOND} <= {*self.reply.named}

    @property
    def field(self) -> Choice:
        """What a reply is to give."""
        said = {side: words for side, words in self.choices.by_side.items() if side and words}
        plain: dict[Given, list[str]] = {
            side: [w.strip("[]*") for w in words] for side, words in said.items()
        }
        return Choice("choice", plain, ("answer", "verdict", "winner", "preference", "output"))
