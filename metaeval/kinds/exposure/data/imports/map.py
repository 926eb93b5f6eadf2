"""The map of a table to a log: what each column means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from metaeval.base.validation import Strict
from metaeval.kinds.exposure.data.manifest import Described
from metaeval.sources.tables.entries import Name

if TYPE_CHECKING:
    from typing import Any


class LogColumns(Strict):
    """Which column is what, in a table with a row per exposure."""

    item_id: Name
    outcome: Name
    user_id: Name | None = None
    timestamp: Name | None = None
    position: Name | None = None
    propensity: Name | None = None


class LogMap(Described):
    """The content of a map file."""

    log: LogColumns
    context: dict[Name, Name] = Field(default_factory=dict)
    items: dict[Name, Name] = Field(default_factory=dict)
    users: dict[Name, Name] = Field(default_factory=dict)
    tables: dict[Literal["items", "profiles", "runs", "test"], Name] = Field(default_factory=dict)
    split: Name | None = None

    def about(self) -> dict[str, Any]:
        """Return the keys of ``dataset.yaml`` that the map says."""
        return self.model_dump(include={*Described.model_fields} - {"kind"}, exclude_defaults=True)
