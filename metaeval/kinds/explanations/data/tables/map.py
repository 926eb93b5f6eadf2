"""The column map of `import_table`: the meaning of the columns of a table.

::

    name: my study
    aspects:
      clarity: {statement: The text is easy to follow, code: CL}
    scale: {min: 1, max: 5}
    units: {item_id: story, generator: system, explanation: text}   # our column ← column of the table
    ratings:
      - columns: "Human {rater} {code}"          # wide: one column per rater and aspect
      - columns: rating                          # long: the rater and the aspect stand in columns
        rater: {column: annotator}
        aspect: {column: criterion}
    scores:
      - columns: "{judge} {code} {prompt}"
        evaluator: "{judge} {prompt}"
      - columns: ["BLEU", "{evaluator} (sim)"]   # no aspect: the score holds for all

``units`` may say what the table lacks: ``generator: {constant: gpt-4}`` for a value that is the same in all
rows, ``item_id: {row: true}`` for the number of the row. A pattern whose names hold no rater is of ``user``,
unless ``rater`` says of whom. An aspect may have a ``scale`` of its own.

::

    explode: answers                             # a row for each element of this list, or
    explode: ["text_{n}", "rating_{n}"]          # of text_1, rating_1, text_2, …; 1, 2, … in the column n
    where: {split: [dev, test]}                  # only rows with these values
    rename:                                      # cells, before they are read; null is an empty one
      "{code}": {4 - Agree: 4, 5 - Strongly agree: 5, I do not know: null}
      system: {sys-a: GPT-4}

Nested JSON is named by its path: ``user.id`` is the key ``id`` of ``user``, ``marks.0`` the first element of
the list ``marks``; ``split`` is that of a data set on the hub, or the sheet of a workbook.

A placeholder stands for one or more characters, ``{code}`` and ``{aspect}`` only for those of ``aspects``,
and ``where`` narrows any other: ``where: {rater: ["1", "2"]}``. Of a column that says who rated, or what,
``where`` names the rows to take: ``where: {annotator: [gpt-4]}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, field_validator, model_validator

from metaeval.base.errors import nearest
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.kinds.explanations.data.manifest import Manifest, OnScale, RatedAspect
from metaeval.kinds.files.manifest import About, ScaleModel, about
from metaeval.sources.tables.entries import (
    Constant,
    Name,
    Names,
    RatingEntry,
    ScoreEntry,
    Word,
    Words,
    placeholders,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self


class Aspect(RatedAspect):
    """An aspect: the statement that raters saw, and how the table abbreviates it."""

    code: Name | None = None


class TableMap(About, OnScale):
    """The content of a map file."""

    kind: Literal["explanations"] = "explanations"
    aspects: Annotated[dict[Name, Aspect], Field(min_length=1)]
    scale: ScaleModel | None
    split: Name | None = None
    missing: list[str] = Field(default_factory=list)
    explode: Names = Field(default_factory=list)
    where: dict[Name, Words] = Field(default_factory=dict)
    rename: dict[Name, dict[Word, Word | None]] = Field(default_factory=dict)
    units: dict[Name, Constant | Name]
    users: dict[Name, Name] = Field(default_factory=dict)
    ratings: list[RatingEntry] = Field(default_factory=list)
    scores: list[ScoreEntry] = Field(default_factory=list)

    @field_validator("units")
    @classmethod
    def _has_keys(cls, units: dict[str, str | Constant]) -> dict[str, str | Constant]:
        for key in KEYS[1:]:
            if key not in units:
                raise ValueError(f"must say which column is {key!r}{nearest(key, units)}")
        return units

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if not self.ratings and not self.scores:
            raise ValueError("the map names no ratings and no scores; it needs one of them")
        if self.users and "user_id" not in self.units:
            raise ValueError("`users` names profiles, but `units` says no user_id")
        if len(self.codes) != len(set(self.codes)):
            raise ValueError("two aspects have one code")
        for entry in self.ratings:
            if entry.aspect is None and any(
                not {"aspect", "code"} & set(placeholders(c)) for c in entry.columns
            ):
                raise ValueError(f"ratings in {entry.columns[0]!r}: say of which `aspect`")
        return self

    @property
    def codes(self) -> list[str]:
        """What abbreviates the aspects in names of columns."""
        return [a.code for a in self.aspects.values() if a.code]

    @property
    def texts(self) -> bool:
        """Whether the table holds the explanations themselves."""
        return "explanation" in self.units

    @property
    def aspect_names(self) -> Mapping[str, str]:
        """Name or code of an aspect → its name."""
        codes = {a.code: name for name, a in self.aspects.items() if a.code}
        return {**codes, **{name: name for name in self.aspects}}

    def manifest(self) -> Manifest:
        """Return the content of ``dataset.yaml``."""
        return Manifest(
            **about(self),
            texts=self.texts,
            aspects={
                name: a.statement if a.scale is None else RatedAspect(statement=a.statement, scale=a.scale)
                for name, a in self.aspects.items()
            },
            scale=self.scale,
        )
