"""The map of recorded verdicts: the meaning of columns, and of the words in them.

What was shown first and second, and who won, one verdict per row::

    columns: {judge: judge, repeat: repeat, group: question, first: first, second: second, reply: reply}
    choices: {first: A, second: B, tie: C}    # the words of the verdict

``winner`` in place of ``reply`` is the name of a side, or one of the words. Of two columns, the second has
the verdicts with the sides swapped. ``judge`` and ``group`` may be several columns, or none.
``order: time`` names a column by which the verdicts came one after the other, as Elo takes them.
``reply: mt-bench`` in place of ``choices`` reads replies by a pattern that has verdicts;
``reply: {pattern: 'Winner: (?P<value>A|B)', take: last}``, beside ``choices``, by one of your own.

A pair whose sides have one name in all rows, and a column that says which was shown first::

    units: {item_id: [subset, pair_id]}       # our key ← a column, or several, joined by `/`
    evaluator: [judge, prompt]                # as `columns: {judge: …}`
    pair: [output 1, output 2]                # names of the sides; or {first: model_a, second: model_b}
    order: {column: swapped, first: "False", second: "True"}       # whose text was shown first
    winner: {column: winner, first: "1", second: "2", tie: [tie, C], missing: [error]}
    aspect: {column: criterion}               # or a name; left out: one verdict over all aspects
    gold: {column: gold, file: pairs.jsonl, first: "1", second: "2"}   # without `file`: of the table itself
    keep: [subset]                            # further columns to keep, to count by

Both forms may be mixed. A column in a nested file is a path: ``judgments.0.decision``. Words are compared
without regard to case; an empty cell is a missing verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.base.validation import Strict
from metaeval.llm.replies.fields import Choice, Given
from metaeval.llm.replies.patterns import ReplyPattern
from metaeval.sources.tables.entries import FromColumn, Name, Names

KEYS = ("user_id", "item_id")
"""The columns that name what a pair was written for; a file may have no users."""
REPEAT = "repeat"
"""The column that numbers the times that a judge was asked the same."""
PLAYED = "played"
"""The column that numbers verdicts as they came one after the other."""
LONG = (
    *(*KEYS, REPEAT, PLAYED, FIRST, SECOND, "aspect", "evaluator", "order"),
    *("winner", "status", "call", "gold", "reason", "reply"),
)
"""The columns of verdicts; the last two of those read from replies: why there is none, and such a reply."""


def word(value: object) -> str:
    """Return a value as text to compare: stripped, without case."""
    return str(value).strip().casefold()


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
        return {FIRST: self.first, SECOND: self.second, TIE: self.tie, "": [*self.missing, ""]}


class Gold(Choices):
    """Where the right verdict stands, in the names of the pair; in a file of its own, by the same keys."""

    column: Name
    file: Name | None = None


class UnitColumns(Strict):
    """The columns that name what a pair was written for."""

    user_id: Names = Field(default_factory=list)
    item_id: Names


class VerdictColumns(Strict):
    """Which column is what; of two columns of verdicts, the second holds those with the sides swapped."""

    first: Name | None = None
    second: Name | None = None
    winner: Names = Field(default_factory=list, max_length=2)
    reply: Names = Field(default_factory=list, max_length=2)
    judge: Names = Field(default_factory=list)
    repeat: Name | None = None
    order: Name | None = None
    group: Names = Field(default_factory=list)
    task: Name | None = None


class VerdictMap(Strict):
    """The content of a map of verdicts."""

    columns: VerdictColumns = Field(default_factory=VerdictColumns)
    choices: Choices = Field(default_factory=Choices)
    reply: ReplyPattern | None = None
    units: UnitColumns | None = None
    pair: list[Name] = Field(default_factory=list)
    order: Order | None = None
    aspect: str | FromColumn = ""
    gold: Gold | None = None
    keep: list[Name] = Field(default_factory=list)

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
        if bool(of.winner) == bool(of.reply):
            raise ValueError("columns must name either 'winner' or 'reply', the column of the verdict")
        if self.order and len(of.winner or of.reply) == 2:
            raise ValueError("`order` does not go with two columns of verdicts, which hold both orders")
        if of.reply:
            if "choices" not in self.model_fields_set:
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
    def field(self) -> Choice:
        """What a reply is to give."""
        said = {side: words for side, words in self.choices.by_side.items() if side and words}
        plain: dict[Given, list[str]] = {
            side: [w.strip("[]*") for w in words] for side, words in said.items()
        }
        return Choice("choice", plain, ("answer", "verdict", "winner", "preference", "output"))
