"""``dataset.yaml``: what data sets of every kind say of themselves."""

from __future__ import annotations

import io
from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, StringConstraints, model_serializer, model_validator

from metaeval.base.records import DataSet, Scale
from metaeval.base.validation import ScaleEnds, Strict
from metaeval.sources.tables.entries import Name, Word

if TYPE_CHECKING:
    from typing import Self


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

    @classmethod
    def of(cls, scale: Scale) -> Self:
        """Return the keys of a scale."""
        return cls(min=scale.min, max=scale.max, integer=scale.integer)

    @model_serializer
    def _short(self) -> dict[str, Any]:
        """Write words alone, or all other keys, and whole numbers without ``.0``."""
        given = dict(self)
        if words := given.pop("labels", None):
            return {"labels": words}
        return {k: int(v) if isinstance(v, float) and v.is_integer() else v for k, v in given.items()}


class RatingScale(ScaleModel):
    """A scale of numbers, or words in no order: ``{labels: [yes, no, unsure]}``."""

    labels: list[Annotated[Word, StringConstraints(strip_whitespace=True)]] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _of_words(cls, given: object) -> object:
        """Give words the positions that stand for them."""
        words = given.get("labels") if isinstance(given, dict) else None
        if not isinstance(given, dict) or not isinstance(words, list):
            return given
        if len(given) > 1 or len({str(word).strip() for word in words} - {""}) < max(2, len(words)):
            raise ValueError("labels are two or more different words, and stand without min, max or integer")
        return {"labels": words, "min": 0, "max": len(words) - 1}

    def scale(self) -> Scale:
        """Return the record that the rest of the package uses."""
        return replace(super().scale(), labels=tuple(self.labels))

    @classmethod
    def of(cls, scale: Scale) -> Self:
        """Return the keys of a scale."""
        return cls.model_validate({"labels": [*scale.labels]}) if scale.labels else super().of(scale)


class About(Strict):
    """What every description of a data set says of it."""

    name: Name
    licence: str = ""
    source: str = ""
    language: str = ""
    simulated: bool = False


def about(described: About | DataSet) -> dict[str, Any]:
    """Return the values of the fields of `About`."""
    return {name: getattr(described, name) for name in About.model_fields}


class DataManifest(About):
    """The keys of ``dataset.yaml``; a kind adds what is its own."""

    @classmethod
    @abstractmethod
    def of(cls, data: Any) -> Self:  # noqa: ANN401 - a data set of the kind
        """Return the manifest of a data set in memory."""

    def to_yaml(self) -> str:
        """Return the text of the file, keys in the order of the model, numbers of scales short."""
        from ruamel.yaml import YAML

        tree = self.model_dump(exclude_defaults=True)
        ordered = {k: tree[k] for k in type(self).model_fields if k in tree}
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
