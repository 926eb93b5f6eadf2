"""The column map of `import_table`: what the columns of a table mean; docs/reference/maps.md has examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

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


def _said(aspects: object) -> object:
    """Return aspects that are listed by name alone with their names as statements."""
    if isinstance(aspects, list | tuple) and all(isinstance(a, str) for a in aspects):
        return {a: {"statement": a} for a in aspects}
    return aspects


class TableMap(About, OnScale):
    """The content of a map file."""

    kind: Literal["explanations"] = "explanations"
    aspects: Annotated[dict[Name, Aspect], Field(min_length=1), BeforeValidator(_said)]
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
