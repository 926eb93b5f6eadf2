"""What the study file of a study of exposure may say."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from metaeval.base.validation import Line
from metaeval.kinds.exposure.off_policy.evaluation import Names, OffPolicy, Thresholds
from metaeval.kinds.exposure.propensity.options import PropensityOptions
from metaeval.kinds.exposure.synthesis.options import SynthesisOptions
from metaeval.kinds.study import Study, distinct

_DEFAULT = OffPolicy()


class ExposureStudy(Study):
    """A study of exposure: which evaluators prefer, of two items that a user saw, the one the user liked."""

    truth: Line = "User()"
    propensity: PropensityOptions = PropensityOptions()
    synthesis: SynthesisOptions = SynthesisOptions()
    policies: Annotated[list[Line], AfterValidator(distinct)] | None = None
    """``uniform``, files, or names of policies that came with the data set; all of these, if left out."""
    estimators: Names = _DEFAULT.estimators
    clip: Thresholds = _DEFAULT.clip
    trim: Thresholds = _DEFAULT.trim

    @property
    def off_policy(self) -> OffPolicy:
        """How the policies are evaluated."""
        return OffPolicy(estimators=self.estimators, clip=self.clip, trim=self.trim)
