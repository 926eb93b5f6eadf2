"""What the study file of a study of explanations may say."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from metaeval.base.errors import nearest
from metaeval.base.records import COEFFICIENTS, KEYS, LEVELS
from metaeval.engine.comparison import By
from metaeval.engine.policy import Policy
from metaeval.kinds.study import Name, Part, Study, distinct

if TYPE_CHECKING:
    from collections.abc import Sequence


def one_of(what: str, word: str, known: Sequence[str]) -> str:
    """Return ``word`` if it is known.

    Raises
    ------
    ValueError
        With the nearest known word, and all of them.
    """
    if word not in known:
        raise ValueError(f"unknown {what} {word!r}{nearest(word, known)} (allowed: {', '.join(known)})")
    return word


def _level(value: str) -> str:
    return one_of("level", value, LEVELS)


def _coefficient(value: str) -> str:
    return one_of("coefficient", value, COEFFICIENTS)


def _key_column(value: str) -> str:
    return one_of("column", value, KEYS)


def _fill(value: object) -> object:
    if value == "drop" or (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    ):
        return value
    raise ValueError(f"{value!r} is not a number or drop, which are what can be done with a missing value")


Fill = Annotated[int | float | Literal["drop"], BeforeValidator(_fill)]


class Missing(Part):
    """What is done with a rating or a score that is not there: a value in its place, or ``drop``."""

    truth: Fill = "drop"
    score: Fill = "drop"


class OrderBy(Part):
    """The column that orders the leaderboard and is tested; the average at the first level, if left out."""

    aspect: Name | None = None
    level: Annotated[str, AfterValidator(_level)] | None = None
    coefficient: Annotated[str, AfterValidator(_coefficient)] | None = None


class ExplanationStudy(Study):
    """A study of explanations: which evaluators are compared with which truth, on which data, how."""

    exclude: dict[Annotated[str, AfterValidator(_key_column)], list[str]] = Field(default_factory=dict)
    truth: Name = "User()"
    levels: Annotated[list[Annotated[str, AfterValidator(_level)]], AfterValidator(distinct)] | None = None
    coefficients: Annotated[list[Annotated[str, AfterValidator(_coefficient)]], AfterValidator(distinct)] = (
        Field(default_factory=lambda: list(COEFFICIENTS))
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
