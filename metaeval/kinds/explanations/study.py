"""What the study file of a study of explanations may say."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from metaeval.base.errors import one_of
from metaeval.base.records import COEFFICIENTS, KEYS
from metaeval.base.validation import Line
from metaeval.engine.comparison import By, OrderBy
from metaeval.engine.policy import Coefficient, Level, Missing, Policy
from metaeval.kinds.study import Study, distinct


def _key_column(value: str) -> str:
    return one_of("column", value, KEYS)


class ExplanationStudy(Study):
    """A study of explanations: which evaluators are compared with which truth, on which data, how."""

    exclude: dict[Annotated[str, AfterValidator(_key_column)], list[str]] = Field(default_factory=dict)
    truth: Line = "User()"
    levels: Annotated[list[Level], AfterValidator(distinct)] | None = None
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
    def by(self) -> By:
        """The column that orders the leaderboard, of a study that is resolved."""
        return By(**self.order_by.model_dump())

    @property
    def policy(self) -> Policy:
        """How missing scores, missing truth and undefined groups are treated, of a study that is resolved."""
        return Policy.of(
            self.levels or (), self.coefficients, self.missing.model_dump(), self.undefined_groups, self.units
        )
