"""The map of a table to duels of slates, or to interactions of which duels are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from metaeval.base.validation import Strict
from metaeval.kinds.files.manifest import About, ScaleModel, about
from metaeval.kinds.slates.data.manifest import DomainModel
from metaeval.kinds.slates.data.sampling import Sampling
from metaeval.kinds.slates.data.slate_set import QUESTION
from metaeval.sources.tables.entries import Name

if TYPE_CHECKING:
    from typing import Any, Self


_FOREIGN = {
    "duels": ("items", "users", "scale", "draw"),
    "interactions": ("separator", "tables", "history_scale"),
}
"""Form of a map → the keys that are the other's."""


class InteractionTable(Strict):
    """Which column is what, in a table with a row per user and item."""

    user_id: Name
    item_id: Name
    rating: Name | None = None
    gain: Name | None = None
    position: Name | None = None
    timestamp: Name | None = None

    @model_validator(mode="after")
    def _say_what_an_item_is_worth(self) -> Self:
        if sum(column is not None for column in (self.rating, self.gain, self.position)) != 1:
            raise ValueError("interactions: name one of rating, gain and position")
        return self


class DuelColumns(Strict):
    """Which column is what, in a table with a row per duel."""

    user_id: Name
    task: Name
    first: Name
    second: Name
    utility_first: Name
    utility_second: Name


class SlateMap(About):
    """The content of a map file."""

    kind: Literal["slates"]
    interactions: InteractionTable | None = None
    duels: DuelColumns | None = None
    items: dict[Name, Name] = Field(default_factory=dict)
    users: dict[Name, Name] = Field(default_factory=dict)
    scale: ScaleModel | None = None
    draw: Sampling = Field(default_factory=Sampling)
    separator: str = Field(default="|", min_length=1)
    tables: dict[Literal["items", "histories", "profiles"], Name] = Field(default_factory=dict)
    history_scale: ScaleModel | None = None
    tasks: dict[Name, Name] = Field(default_factory=dict)
    domain: DomainModel = DomainModel()
    statement: Name = QUESTION
    missing: list[str] = Field(default_factory=list)
    split: Name | None = None

    @model_validator(mode="after")
    def _is_of_one_form(self) -> Self:
        if (self.interactions is None) == (self.duels is None):
            raise ValueError("name the columns of either `interactions` or `duels`")
        form = "duels" if self.duels else "interactions"
        for key in _FOREIGN[form]:
            if key in self.model_fields_set:
                raise ValueError(f"{key} does not apply to {form}; leave it out")
        if self.interactions and self.interactions.rating and self.scale is None:
            raise ValueError("the key 'scale' is missing; ratings need one, such as {min: 1, max: 5}")
        return self

    def about(self) -> dict[str, Any]:
        """Return the keys of ``dataset.yaml`` that the map says."""
        domain = self.domain.model_dump()
        return {**about(self), "statement": self.statement, "domain": domain, "tasks": dict(self.tasks)}
