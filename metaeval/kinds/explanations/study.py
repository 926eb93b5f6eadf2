"""What the study file of a study of explanations may say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from metaeval.base.errors import one_of
from metaeval.base.records import COEFFICIENTS, LEVELS
from metaeval.base.validation import Line
from metaeval.engine.alignment.policy import Coefficient, Missing, Policy
from metaeval.engine.comparison import OrderBy
from metaeval.kinds.explanations.data.explanation_set import KEYS
from metaeval.kinds.study import Study, distinct

if TYPE_CHECKING:
    from metaeval.engine.board import Cell


def _key_column(value: str) -> str:
    return one_of(value, KEYS, "unknown column", "allowed", error=ValueError)


def _level(value: str) -> str:
    return one_of(value, LEVELS, "unknown level", "allowed", error=ValueError)


class ExplanationStudy(Study):
    """A study of explanations: which evaluators are compared with which truth, on which data, how."""

    exclude: dict[Annotated[str, AfterValidator(_key_column)], list[str]] = Field(default_factory=dict)
    truth: Line = "User()"
    levels: Annotated[list[Annotated[str, AfterValidator(_level)]], AfterValidator(distinct)] | None = None
    coefficients: Annotated[list[Coefficient], AfterValidator(distinct)] = Field(
        default_factory=lambda: list(COEFFICIENTS)
    )
    missing: Missing = Missing()
    undefined_groups: Literal["skip", "zero"] = "skip"
    units: Literal["common", "own"] = "common"
    order_by: OrderBy = OrderBy()

    @property
    def facts(self) -> dict[str, str]:
        """The levels."""
        return {"levels": ", ".join(self.levels or ())}

    @property
    def by(self) -> Cell:
        """The column that orders the leaderboard, of a study that is resolved."""
        return self.order_by.model_dump()

    @property
    def policy(self) -> Policy:
        """How missing scores, missing truth and undefined groups are treated, of a study that is resolved."""
        return Policy.of(
            self.levels or (), self.coefficients, self.missing.model_dump(), self.undefined_groups, self.units
        )
