"""``dataset.yaml``, what data sets of every kind say of themselves; and how their tables are written."""

from __future__ import annotations

import csv
import io
import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

import numpy as np
import pandas as pd
from pydantic import Field, StringConstraints, model_serializer, model_validator

from metaeval.base.records import DataSet, Scale
from metaeval.base.validation import ScaleEnds, Strict
from metaeval.data.tables.entries import Name, Word


class ScaleModel(ScaleEnds):
    """The rating scale, both ends included."""

    integer: bool = True

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
        if any(str(word).strip() == "" for word in words):
            raise ValueError(
                "a label is empty, and an empty cell is a missing rating; give it a word by `rename`, as in "
                "{COLUMN: {'': none}}"
            )
        if len(given) > 1 or len({str(word).strip() for word in words}) < max(2, len(words)):
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


Format = Literal["parquet", "csv", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table of a data set, in the format of its suffix."""
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
        return
    columns = [_cells(frame[c]) for c in frame.columns]
    if path.suffix == ".jsonl":
        # Column by column, for the encoder is quick with a text and slow with a dict.
        encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
        named = [
            [f"{encode(n)}: {encode(v)}" for v in c] for n, c in zip(frame.columns, columns, strict=True)
        ]
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{{{', '.join(cells)}}}\n" for cells in zip(*named, strict=True))
        return
    # The writer leaves a lone carriage return unquoted, and readers take it for the end of the row.
    awkward = any("\r" in c for v in columns for c in v if isinstance(c, str))
    quoting: Literal[0, 1] = csv.QUOTE_ALL if awkward else csv.QUOTE_MINIMAL
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n", quoting=quoting)
        writer.writerow(frame.columns)
        writer.writerows(zip(*columns, strict=True))


def _cells(values: pd.Series[str]) -> list[str | int | float | None]:
    """Return plain values; whole numbers without ``.0``, None where there is none."""
    if not pd.api.types.is_float_dtype(values):
        return ["" if v is None or v != v else str(v) for v in values.to_numpy(dtype=object)]  # noqa: PLR0124 NaN
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    return [None if n != n else int(n) if n.is_integer() and abs(n) < 1e15 else n for n in numbers.tolist()]  # noqa: PLR0124 NaN


class RatedAspect(Strict):
    """An aspect: the statement that raters saw, and its scale if it is not that of the others."""

    statement: Name
    scale: RatingScale | None = None


class OnScale(Strict):
    """What is rated by people: aspects, on a scale, which may be left out where every aspect has its own."""

    if TYPE_CHECKING:
        aspects: Mapping[str, Any]
        scale: RatingScale | None

    @model_validator(mode="before")
    @classmethod
    def _may_have_own(cls, given: object) -> object:
        aspects = given.get("aspects") if isinstance(given, dict) else None
        own = isinstance(aspects, Mapping) and any(
            isinstance(a, Mapping) and "scale" in a for a in aspects.values()
        )
        return {"scale": None, **given} if own and isinstance(given, dict) else given

    @model_validator(mode="after")
    def _has_scales(self) -> Self:
        for name, aspect in self.aspects.items():
            if self.scale is None and getattr(aspect, "scale", None) is None:
                raise ValueError(
                    f"the aspect {name!r} has no scale; give it one, or a `scale` for all others"
                )
        return self
