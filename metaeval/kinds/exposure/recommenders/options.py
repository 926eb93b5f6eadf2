"""What a study file may say of recommenders."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import AfterValidator, Field

from metaeval.base.validation import Count, Options, Seed
from metaeval.kinds.exposure.off_policy.evaluation import Above, estimators_of
from metaeval.kinds.study import distinct
from metaeval.stats.off_policy.terms import Estimator  # noqa: TC001 - of a return type that pydantic reads

Measure: TypeAlias = Literal["Recall", "nDCG"]
EstimatorOfLists: TypeAlias = Literal["naive", "ips", "snips", "dr"]


class RecommenderOptions(Options):
    """How recommenders are measured."""

    called = "recommenders"
    k: Count = 20
    """How much of a list is read."""
    measures: Annotated[list[Measure], AfterValidator(distinct)] = Field(
        default_factory=lambda: list(get_args(Measure))
    )
    estimators: Annotated[list[EstimatorOfLists], AfterValidator(distinct)] = Field(
        default_factory=lambda: list(get_args(EstimatorOfLists))
    )
    clip: list[Above] = Field(default_factory=list)
    """Largest weights; IPS, SNIPS and DR are given once more with each."""
    trim: list[Above] = Field(default_factory=list)
    """Weights above which a row is left out; IPS, SNIPS and DR are given once more with each."""
    held_out: Annotated[float, Field(gt=0, le=1, description="a number above 0 and 1 at most")] = 1.0
    """The share of each user's rows, the latest ones, that no recommender was made with."""
    seed: Seed = 0
    """Of the rows that are held out where the log has no times."""

    @property
    def every(self) -> list[Estimator]:
        """Every estimator with each of its weightings."""
        return estimators_of(self.estimators, self.clip, self.trim)
