"""``dataset.yaml``: the name of a data set, its aspects and its scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator, model_validator

from metaeval.base.records import AVERAGE, Scale
from metaeval.base.validation import Strict, read_model
from metaeval.kinds.files.manifest import DataManifest, ScaleModel, about
from metaeval.sources.hub.repository import FILE
from metaeval.sources.tables.entries import Name

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from metaeval.base.errors import Problem
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet


class RatedAspect(Strict):
    """An aspect: the statement that raters saw, and its scale if it is not that of the others."""

    statement: Name
    scale: ScaleModel | None = None


class OnScale(Strict):
    """What is rated by people: aspects, on a scale, which may be left out where every aspect has its own."""

    if TYPE_CHECKING:
        aspects: Mapping[str, Any]
        scale: ScaleModel | None

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


class Manifest(DataManifest, OnScale):
    """The keys of ``dataset.yaml``."""

    kind: Literal["explanations"] = "explanations"
    texts: bool = True
    keys: list[Name] = Field(default_factory=list)
    aspects: Mapping[Name, Name | RatedAspect] = Field(min_length=1)
    scale: ScaleModel | None
    extra: dict[str, Any] = Field(default_factory=dict)

    @field_validator("aspects")
    @classmethod
    def _no_average(cls, aspects: dict[str, Any]) -> dict[str, Any]:
        if AVERAGE in aspects:
            raise ValueError(
                f"an aspect may not be called {AVERAGE!r}, the mean over aspects is; rename the aspect"
            )
        return aspects

    @property
    def statements(self) -> dict[str, str]:
        """Aspect → the statement that raters saw."""
        return {n: a.statement if isinstance(a, RatedAspect) else a for n, a in self.aspects.items()}

    @property
    def scales(self) -> Scale:
        """The rating scale, of all aspects or of each."""
        own = {n: a.scale for n, a in self.aspects.items() if isinstance(a, RatedAspect)}
        found = {n: own.get(n) or self.scale for n in self.aspects}
        return Scale.over({n: scale.scale() for n, scale in found.items() if scale is not None})

    @classmethod
    def of(cls, data: ExplanationSet) -> Manifest:
        """Return the manifest of a data set in memory."""
        own = {n: ScaleModel.of(scale) for n, scale in data.scale.own}
        return cls(
            **about(data),
            texts=data.texts,
            keys=list(data.named_by),
            aspects={
                n: RatedAspect(statement=s, scale=own[n]) if n in own else s for n, s in data.aspects.items()
            },
            scale=None if own else ScaleModel.of(data.scale),
            extra=dict(data.extra),
        )


def read_manifest(folder: Path) -> tuple[Manifest | None, list[Problem]]:
    """Read ``dataset.yaml`` of a data-set folder; the problems carry their lines."""
    return read_model(folder / FILE, Manifest)
