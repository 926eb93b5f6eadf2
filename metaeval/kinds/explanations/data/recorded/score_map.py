"""The map of `add_scores`, from the names in a file of scores to those of the data set."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator

from metaeval.base.errors import DataError, nearest, sound
from metaeval.base.validation import Strict, read_model
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.kinds.explanations.data.tables.map import Aspect, TableMap
from metaeval.kinds.files.manifest import ScaleModel
from metaeval.sources.tables.entries import Name, ScoreEntry, pattern_of, placeholders

if TYPE_CHECKING:
    from pathlib import Path

    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet


class Code(Strict):
    """The file's name of an aspect, written as in the map of a table."""

    code: Name | None = None
    statement: str = ""


class ScoreMap(Strict):
    """The content of a map; by default all names are those of the data set."""

    units: dict[Name, Name] = Field(default_factory=dict)
    id: Name | None = None
    aspects: dict[Name, Code] = Field(default_factory=dict)
    evaluator: Name | None = None
    scores: list[ScoreEntry] = Field(default_factory=list)
    repeated: Literal["refuse", "mean"] = "refuse"
    missing: list[str] = Field(default_factory=list)
    split: Name | None = None

    @field_validator("aspects", mode="before")
    @classmethod
    def _code_alone(cls, aspects: object) -> object:
        if not isinstance(aspects, dict):
            return aspects
        return {name: {"code": code} if isinstance(code, str) else code for name, code in aspects.items()}

    @field_validator("units")
    @classmethod
    def _are_keys(cls, units: dict[str, str]) -> dict[str, str]:
        for key in units:
            if key not in KEYS:
                raise ValueError(f"{key!r} is no key{nearest(key, KEYS)}; allowed: {', '.join(KEYS)}")
        return units

    @field_validator("id")
    @classmethod
    def _holds_keys(cls, pattern: str | None) -> str | None:
        given = placeholders(pattern or "")
        for key in given:
            if key not in KEYS:
                raise ValueError(f"{{{key}}} is no key{nearest(key, KEYS)}; allowed: {', '.join(KEYS)}")
        if pattern is not None and (not given or len(given) != len(set(given))):
            raise ValueError(f'{pattern!r} must name each key once, such as "{{user_id}}|{{item_id}}"')
        return pattern

    def id_pattern(self) -> re.Pattern[str] | None:
        """Return the pattern that splits an id into keys; None if ids hold no keys."""
        return None if self.id is None else pattern_of(self.id, {}, re.DOTALL)

    def aspect_names(self, data: ExplanationSet) -> dict[str, str]:
        """Return the name or code of each aspect of ``data`` → its name; raise `DataError` if they clash."""
        names = {name: name for name in data.aspects}
        for name, aspect in self.aspects.items():
            if name not in data.aspects:
                raise DataError(
                    f"aspects of the map: the data set has no aspect {name!r}{nearest(name, data.aspects)}; "
                    f"it has {', '.join(data.aspects)}"
                )
            if aspect.code and names.get(aspect.code, name) != name:
                raise DataError(f"aspects of the map: {aspect.code!r} is two aspects; name them apart")
            if aspect.code:
                names[aspect.code] = name
        return names

    def table_map(self, data: ExplanationSet, entries: tuple[ScoreEntry, ...]) -> TableMap:
        """Return the equivalent map of a table for ``data``; ``entries`` are the default of `scores`."""
        codes = {name: code for code, name in self.aspect_names(data).items() if code != name}
        return TableMap(
            name=data.name,
            aspects={n: Aspect(statement=s, code=codes.get(n)) for n, s in data.aspects.items()},
            scale=ScaleModel.of(data.scale),
            split=self.split,
            missing=self.missing,
            units={"item_id": "item_id", "generator": "generator"},
            scores=list(self.scores) or list(entries),
        )


def read_score_map(path: Path | None, evaluator: str | None = None) -> ScoreMap:
    """Read a map file; ``evaluator``, if given, overrides its own."""
    if evaluator is not None and not evaluator.strip():
        raise DataError("the name of the evaluator is empty; give one, or leave --evaluator out")
    if path is None:
        return ScoreMap(evaluator=evaluator)
    found = sound(read_model(path, ScoreMap))
    return found if evaluator is None else found.model_copy(update={"evaluator": evaluator})
