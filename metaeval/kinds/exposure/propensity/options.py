"""What a study file and Python may say of propensities."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import AfterValidator, Field

from metaeval.base.validation import Count, Options, Seed
from metaeval.kinds.study import distinct

Source: TypeAlias = Literal["logged", "fitted"]
Feature: TypeAlias = Literal["user_frequency", "item_popularity", "age", "hour", "weekday", "genre_entropy"]
FEATURES: tuple[Feature, ...] = get_args(Feature)
REFITS = 20
FLOOR = 1e-6
"""The least propensity that a pair is weighted by, if none is said (the source's equation 1)."""


class PropensityOptions(Options):
    """Where propensities come from, and how they are fitted."""

    called = "propensity"
    source: Source | None = None
    """Logged where the log has them, else fitted."""
    features: Annotated[list[Feature], AfterValidator(distinct)] = Field(
        default_factory=lambda: list(FEATURES)
    )
    negatives: Count = 4
    """Items drawn beside each exposure, of which those are kept that the user was never shown."""
    folds: Annotated[int, Field(ge=3, le=100, description="a whole number from 3 to 100")] = 5
    refits: Annotated[int, Field(ge=0, le=10_000, description="a whole number, 0 or more")] = REFITS
    """Resamples of users in which propensities are fitted again; 0 holds them fixed."""
    floor: Annotated[float, Field(gt=0, lt=1, description="a number between 0 and 1")] | None = None
    """The least propensity that a pair is weighted by; as the pairs were made, if left out."""
    seed: Seed = 0

    @property
    def least(self) -> float:
        """The floor of what is weighted again."""
        return FLOOR if self.floor is None else self.floor

    @property
    def own(self) -> bool:
        """Whether anything but the floor is said."""
        return self.model_copy(update={"floor": None}) != PropensityOptions()
