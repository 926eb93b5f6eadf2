"""``dataset.yaml`` of a collection: what raters were asked, the scale and names of labels, what is a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from metaeval.kinds.files.manifest import DataManifest, ScaleModel, about
from metaeval.kinds.relevance.data.collection import RELEVANCE
from metaeval.sources.tables.entries import Name

if TYPE_CHECKING:
    from typing import Self

    from metaeval.kinds.relevance.data.collection import Collection

QUESTION = "How interested is the user in the item?"


class CollectionManifest(DataManifest):
    """The keys of ``dataset.yaml`` of a collection."""

    kind: Literal["relevance"] = Field()
    statement: Name = QUESTION
    scale: ScaleModel
    labels: dict[Name, Name] = Field(default_factory=dict)
    relevant: int = 1
    depth: int = Field(default=0, ge=0)
    models: list[Name] = Field(default_factory=list)
    extra: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _labels_are_on_the_scale(self) -> Self:
        scale = self.scale.scale()
        if not (scale.integer and scale.min in scale and scale.max in scale):
            raise ValueError("the scale of labels has whole numbers; set min and max to whole numbers")
        for label in (*self.labels, str(self.relevant)):
            if not label.lstrip("-").isdecimal() or int(label) not in scale:
                what = "labels" if label in self.labels else "relevant"
                raise ValueError(f"{what}: {label} is not on the scale; allowed are {scale}")
        return self

    @classmethod
    def of(cls, data: Collection) -> CollectionManifest:
        """Return the manifest of a collection in memory."""
        return cls(
            **about(data),
            kind="relevance",
            statement=data.aspects[RELEVANCE],
            scale=ScaleModel.of(data.scale),
            labels={str(label): called for label, called in data.labels.items()},
            relevant=data.relevant,
            depth=data.depth,
            models=list(data.models),
            extra=dict(data.extra),
        )
