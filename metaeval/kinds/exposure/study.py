"""What the study file of a study of exposure may say."""

from __future__ import annotations

from metaeval.base.validation import Line
from metaeval.kinds.exposure.propensity.options import PropensityOptions
from metaeval.kinds.exposure.synthesis.options import SynthesisOptions
from metaeval.kinds.study import Study


class ExposureStudy(Study):
    """A study of exposure: which evaluators prefer, of two items that a user saw, the one the user liked."""

    truth: Line = "User()"
    propensity: PropensityOptions = PropensityOptions()
    synthesis: SynthesisOptions = SynthesisOptions()
