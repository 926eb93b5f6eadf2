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

A placeholder stands for one or more characters, ``{code}`` and ``{aspect}`` only for those of ``aspects``,
and ``where`` narrows any other: ``where: {rater: ["1", "2"]}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, field_validator, model_validator

from metaeval.base.errors import nearest
from metaeval.base.validation import Strict
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.kinds.explanations.data.manifest import Manifest
from metaeval.kinds.files.manifest import About, ScaleModel, about
from metaeval.sources.tables.entries import Entry, Name, RatingEntry, ScoreEntry, pattern_of, placeholders

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping
    from typing import Self


class Aspect(Strict):
    """An aspect: the statement that raters saw, and how the table abbreviates it."""

    statement: Name
    code: Name | None = None


class TableMap(About):
    """The content of a map file."""

    kind: Literal["explanations"] = "explanations"
    aspects: Annotated[dict[Name, Aspect], Field(min_length=1)]
    scale: ScaleModel
    split: Name | None = None
    missing: list[str] = Field(default_factory=list)
    units: dict[Name, Name]
    users: dict[Name, Name] = Field(default_factory=dict)
    ratings: list[RatingEntry] = Field(default_factory=list)
    scores: list[ScoreEntry] = Field(default_factory=list)

    @field_validator("units")
    @classmethod
    def _has_keys(cls, units: dict[str, str]) -> dict[str, str]:
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
        codes = [a.code for a in self.aspects.values() if a.code]
        if len(codes) != len(set(codes)):
            raise ValueError("two aspects have one code")
        for entry in self.ratings:
            if entry.aspect is None and any(
                not {"aspect", "code"} & set(placeholders(c)) for c in entry.columns
            ):
                raise ValueError(f"ratings in {entry.columns[0]!r}: say of which `aspect`")
        return self

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
            aspects={name: a.statement for name, a in self.aspects.items()},
            scale=self.scale,
        )

    def pattern(self, entry: Entry, columns: str) -> re.Pattern[str]:
        """Return the expression that matches whole column names."""
        codes = [a.code for a in self.aspects.values() if a.code]
        return pattern_of(columns, {"code": codes, "aspect": list(self.aspects), **entry.where})
