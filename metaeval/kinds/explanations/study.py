"""What the study file of a study of explanations may say."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from metaeval.base.errors import one_of
from metaeval.base.validation import Line
from metaeval.data.tables.maps import KEYS
from metaeval.kinds.correlated import CorrelatedStudy


def _key_column(value: str) -> str:
    return one_of(value, KEYS, "unknown column", "allowed", error=ValueError)


class ExplanationStudy(CorrelatedStudy):
    """A study of explanations: data, truth, evaluators and options."""

    exclude: dict[Annotated[str, AfterValidator(_key_column)], list[str]] = Field(default_factory=dict)
    truth: Line = "User()"
