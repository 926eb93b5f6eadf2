"""``dataset.yaml``: what a data set is called, what was asked, and on which scale."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator

from metaeval.base.records import AVERAGE
from metaeval.base.validation import read_model
from metaeval.kinds.files.manifest import DataManifest, ScaleModel, about
from metaeval.sources.hub.repository import FILE
from metaeval.sources.tables.entries import Name

if TYPE_CHECKING:
    from pathlib import Path

    from metaeval.base.errors import Problem
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet


class Manifest(DataManifest):
    """The keys of ``dataset.yaml``."""

    kind: Literal["explanations"] = "explanations"
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


def read_manifest(folder: Path) -> tuple[Manifest | None, list[Problem]]:
    """Read ``dataset.yaml`` of a data-set folder; the problems carry their lines."""
    return read_model(folder / FILE, Manifest)
