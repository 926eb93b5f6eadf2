"""``dataset.yaml`` of duels of slates: the tasks, the words of the domain, the scale of histories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from metaeval.base.validation import Strict
from metaeval.kinds.files.manifest import DataManifest, ScaleModel, about
from metaeval.kinds.slates.data.slate_set import ANY, PREFERENCE, QUESTION
from metaeval.sources.tables.entries import Name

if TYPE_CHECKING:
    from metaeval.kinds.slates.data.slate_set import SlateSet


class DomainModel(Strict):
    """The words of the domain."""

    platform: Name = ANY.platform
    noun: Name = ANY.noun
    plural: Name = ANY.plural
    liked: Name = ANY.liked
    popularity: Name = ANY.popularity
    diversity: Name = ANY.diversity


class SlateManifest(DataManifest):
    """The keys of ``dataset.yaml`` of duels of slates."""

    kind: Literal["slates"] = Field()
    statement: Name = QUESTION
    tasks: dict[Name, Name] = Field(default_factory=dict)
    domain: DomainModel = DomainModel()
    history_scale: ScaleModel | None = None
    extra: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def of(cls, data: SlateSet) -> SlateManifest:
        """Return the manifest of a data set in memory."""
        scale = data.history_scale
        return cls(
            **about(data),
            kind="slates",
            statement=data.aspects[PREFERENCE],
            tasks=dict(data.tasks),
            domain=DomainModel(**data.domain._asdict()),
            history_scale=None if scale is None else ScaleModel.of(scale),
            extra=dict(data.extra),
        )
