"""The column map of `import_table`: the meaning of the columns of a table.

::

    name: my study
    aspects:
      clarity: {statement: The text is easy to follow, code: CL}
    scale: {min: 1, max: 5}
    units: {item_id: story, generator: system, explanation: text}   # our column ← column of the table
    ratings:
      - columns: "Human {rater} {code}"          # wide: a column a rater and aspect
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

import re
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field, field_validator, model_validator

from metaeval.base.errors import nearest
from metaeval.base.validation import Strict
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.kinds.explanations.data.manifest import Manifest, Name, ScaleModel

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Aspect(Strict):
    """An aspect: the statement that raters saw, and how the table abbreviates it."""

    statement: Name
    code: Name | None = None


class FromColumn(Strict):
    """A value that is given by a column, row by row."""

    column: Name


class Entry(Strict):
    """Columns of ratings or scores: by whom, and of which aspect."""

    columns: Annotated[list[Name], Field(min_length=1)]
    aspect: str | FromColumn | None = None
    where: dict[str, list[str]] = Field(default_factory=dict)
    who_is: ClassVar[str]

    @field_validator("columns", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @property
    def who(self) -> str | FromColumn | None:
        """The rater or evaluator: a template over the placeholders of ``columns``, or a column."""
        found: str | FromColumn | None = getattr(self, self.who_is)
        return found

    @model_validator(mode="after")
    def _placeholders_are_known(self) -> Self:
        known: set[str] = set()
        for pattern in self.columns:
            given = placeholders(pattern)
            known.update(given)
            if len(given) != len(set(given)):
                raise ValueError(f"{pattern!r} has one placeholder twice")
            # Without a pattern, the column may be the name; a pattern must say which part is.
            who = self.who or (f"{{{self.who_is}}}" if given else "")
            for template in (who, self.aspect):
                for wanted in placeholders(template) if isinstance(template, str) else []:
                    if wanted not in given:
                        raise ValueError(
                            f"{template!r} needs the placeholder {{{wanted}}}; {pattern!r} does not have it"
                            f"{nearest(wanted, given)}"
                        )
        for name in self.where:
            if name not in known:
                raise ValueError(
                    f"`where` names {name!r}, which is no placeholder here{nearest(name, known)}"
                )
        return self

    def named(self, column: str, values: Mapping[str, str]) -> str | FromColumn:
        """Return whose values ``column`` holds, given what its placeholders stand for."""
        if isinstance(self.who, FromColumn):
            return self.who
        if self.who is not None:
            return fill(self.who, values)
        return values.get(self.who_is, column)


class RatingEntry(Entry):
    """Columns that hold people's ratings."""

    rater: str | FromColumn | None = None
    who_is = "rater"


class ScoreEntry(Entry):
    """Columns that hold scores of other tools."""

    evaluator: str | FromColumn | None = None
    who_is = "evaluator"


class TableMap(Strict):
    """The content of a map file."""

    name: Name
    licence: str = ""
    source: str = ""
    language: str = ""
    simulated: bool = False
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
            name=self.name,
            licence=self.licence,
            source=self.source,
            language=self.language,
            simulated=self.simulated,
            texts=self.texts,
            aspects={name: a.statement for name, a in self.aspects.items()},
            scale=self.scale,
        )

    def pattern(self, entry: Entry, columns: str) -> re.Pattern[str]:
        """Return the expression that matches whole column names."""
        allowed = {
            "code": [a.code for a in self.aspects.values() if a.code],
            "aspect": list(self.aspects),
            **entry.where,
        }
        parts: list[str] = []
        for i, part in enumerate(_PLACEHOLDER.split(columns)):
            if i % 2 == 0:
                parts.append(re.escape(part))
            elif part in allowed:
                parts.append(f"(?P<{part}>{'|'.join(map(re.escape, allowed[part])) or '(?!)'})")
            else:
                parts.append(f"(?P<{part}>.+?)")
        return re.compile("".join(parts))


def placeholders(template: str) -> list[str]:
    """Return the names in braces, in order."""
    return [str(p) for p in _PLACEHOLDER.findall(template)]


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return ``template`` with each ``{name}`` replaced."""
    return _PLACEHOLDER.sub(lambda m: values[m[1]], template)
