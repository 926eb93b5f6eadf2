"""What the study file of a study of slates may say."""

from __future__ import annotations

from metaeval.base.validation import Line
from metaeval.kinds.study import Study


class SlatesStudy(Study):
    """A study of slates: which evaluators prefer the slates that are worth more to the user."""

    truth: Line = "User()"
