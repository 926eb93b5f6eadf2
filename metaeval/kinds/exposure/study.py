"""What the study file of a study of exposure may say."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from metaeval.base.validation import Line
from metaeval.kinds.exposure.off_policy.evaluation import Names, OffPolicy, Thresholds
from metaeval.kinds.exposure.propensity.options import PropensityOptions
from metaeval.kinds.exposure.recommenders.options import RecommenderOptions
from metaeval.kinds.exposure.synthesis.options import SynthesisOptions
from metaeval.kinds.study import Study, distinct

_DEFAULT = OffPolicy()


class ExposureStudy(Study):
    """A study of exposure: which evaluators prefer, of two items that a user saw, the one the user liked."""

    truth: Line = "User()"
    propensity: PropensityOptions = PropensityOptions()
    synthesis: SynthesisOptions = SynthesisOptions()
    recommenders: RecommenderOptions = RecommenderOptions()
    margin: Annotated[float, Field(gt=0, description="a number above 0")] | None = None
    """The largest error of a map to Recall that does not matter; without it no transport is audited."""
    transport: Annotated[list[Line], AfterValidator(distinct)] = Field(default_factory=lambda: ["popularity"])
    """What groups are held out by: ``popularity``, ``time``, or fields of profiles."""
    policies: Annotated[list[Line], AfterValidator(distinct)] | None = None
    """``uniform``, files, or names of policies that came with the data set; all of these, if left out."""
    estimators: Names = _DEFAULT.estimators
    clip: Thresholds = _DEFAULT.clip
    trim: Thresholds = _DEFAULT.trim

    @property
    def off_policy(self) -> OffPolicy:
        """How the policies are evaluated."""
        return OffPolicy(estimators=self.estimators, clip=self.clip, trim=self.trim)
