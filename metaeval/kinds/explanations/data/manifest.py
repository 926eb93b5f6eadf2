"""``dataset.yaml``: what a data set is called, what was asked, and on which scale."""

from __future__ import annotations

import io
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator, model_validator

from metaeval.base.records import AVERAGE, Scale
from metaeval.base.validation import ScaleEnds, Strict, read_model
from metaeval.sources.hub.repository import FILE
from metaeval.sources.tables.entries import Name

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from metaeval.base.errors import Problem
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet

_FARTHEST = 1e50  # squares of ratings, and their sums, must be floats


class ScaleModel(ScaleEnds):
    """The rating scale, both ends included."""

    integer: bool = True

    @model_validator(mode="after")
    def _is_near(self) -> Self:
        for end in (self.min, self.max):
            if abs(end) > _FARTHEST:
                raise ValueError(f"{end:g} is too large: a scale lies between ±{_FARTHEST:g}")
        return self

    def scale(self) -> Scale:
        """Return the record that the rest of the package uses."""
        return Scale(self.min, self.max, self.integer)


class About(Strict):
    """What every description of a data set says of it."""

    name: Name
    licence: str = ""
    source: str = ""
    language: str = ""
    simulated: bool = False


def about(described: About | ExplanationSet) -> dict[str, Any]:
    """Return the values of the fields of `About`."""
    return {name: getattr(described, name) for name in About.model_fields}


class Manifest(About):
    """The keys of ``dataset.yaml``."""

    texts: bool = True
    keys: list[Name] = Field(default_factory=list)
    aspects: dict[Name, Name] = Field(min_length=1)
    scale: ScaleModel
    extra: dict[str, Any] = Field(default_factory=dict)

    @field_validator("aspects")
    @classmethod
    def _no_average(cls, aspects: dict[str, str]) -> dict[str, str]:
        if AVERAGE in aspects:
            raise ValueError(
                f"an aspect may not be called {AVERAGE!r}, the mean over aspects is; rename the aspect"
            )
        return aspects

    @classmethod
    def of(cls, data: ExplanationSet) -> Manifest:
        """Return the manifest of a data set in memory."""
        return cls(
            **about(data),
            texts=data.texts,
            keys=list(data.named_by),
            aspects=dict(data.aspects),
            scale=ScaleModel(**asdict(data.scale)),
            extra=dict(data.extra),
        )

    def to_yaml(self) -> str:
        """Return the text of the file, keys in the order of the model, numbers of the scale short."""
        from ruamel.yaml import YAML

        tree = self.model_dump(exclude_defaults=True)
        scale = {k: int(v) if isinstance(v, float) and v.is_integer() else v for k, v in self.scale}
        ordered = {k: tree[k] for k in type(self).model_fields if k in tree} | {"scale": scale}
        yaml = YAML()
        yaml.width = 110
        yaml.allow_unicode = True
        stream = io.StringIO()
        yaml.dump(_quoted(ordered), stream)
        return stream.getvalue()


_BREAKS = "\x85\u2028\u2029"
"""Characters that YAML takes for the end of a line unless they are escaped in quotes."""


def _quoted(value: Any) -> Any:  # noqa: ANN401 - whatever a manifest holds
    """Put texts into quotes that would not come back as they are."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    match value:
        case str() if any(c in value for c in _BREAKS):
            return DoubleQuotedScalarString(value)
        case dict():
            return {_quoted(k): _quoted(v) for k, v in value.items()}
        case list():
            return [_quoted(v) for v in value]
    return value


def read_manifest(folder: Path) -> tuple[Manifest | None, list[Problem]]:
    """Read ``dataset.yaml`` of a data-set folder; the problems carry their lines."""
    return read_model(folder / FILE, Manifest)
