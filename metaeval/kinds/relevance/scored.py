"""What a study of relevance may say, and what it scored."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.spec import EvaluatorSpec
from metaeval.base.validation import Line, Strict
from metaeval.engine.alignment.policy import Coefficient
from metaeval.kinds.correlated import CorrelatedStudy
from metaeval.kinds.kind import Scored
from metaeval.kinds.relevance.baselines import OWN_SCALE
from metaeval.kinds.relevance.data.collection import KEYS
from metaeval.kinds.relevance.measures import MeasurePair, measure_named
from metaeval.kinds.study import Ablation, distinct


def _key_column(value: str) -> str:
    return one_of(value, KEYS, "unknown column", "allowed", error=ValueError)


def _measure(name: str) -> str:
    """See that a measure is known and can be computed; it keeps the name that it was given."""
    try:
        return measure_named(name.strip()).name
    except MetaevalError as error:
        raise ValueError(str(error)) from None


Measured = Annotated[str, AfterValidator(_measure)]


class SystemPair(Strict):
    """What systems are ordered by: a measure by the truth's labels, and one by an evaluator's."""

    truth: Measured
    judge: Measured


class RelevanceStudy(CorrelatedStudy):
    """A study of relevance: labels to compare, and measures that order systems."""

    exclude: dict[Annotated[str, AfterValidator(_key_column)], list[str]] = Field(default_factory=dict)
    coefficients: Annotated[list[Coefficient], AfterValidator(distinct)] = Field(
        default_factory=lambda: ["kendall", "spearman", "pearson"]
    )
    measures: Annotated[list[Measured], AfterValidator(distinct)] = Field(
        default_factory=lambda: ["nDCG@10", "Compat(p=0.95)"]
    )
    system_agreement: list[SystemPair] | None = None
    ablations: list[Ablation] = Field(default_factory=list)
    least_coverage: float = Field(default=0.9, ge=0, le=1)
    """The share of the truth's labels in the systems' top that an evaluator needs for a τ."""
    missing_lists: Literal["zero", "skip"] = "zero"
    """Whether a user without a list of a system counts as 0, or is left out of its mean."""
    families: dict[str, list[Line]] = Field(default_factory=dict)
    """Families of models → words in the names of models and systems, beside those that are known."""

    @property
    def pairs(self) -> list[MeasurePair]:
        """The pairs of measures by which systems are ordered: each with itself, if none are named."""
        chosen = self.system_agreement
        return (
            [MeasurePair(p.judge, p.truth) for p in chosen]
            if chosen
            else [MeasurePair(m, m) for m in self.measures]
        )


class RelevanceScored(Scored[RelevanceStudy]):
    """What a study of relevance scored."""

    @cached_property
    def own_scales(self) -> dict[str, float]:
        """Evaluators, and the truth, whose labels are not on the scale of the collection → their lowest."""
        signatures, truth = self.scores.signatures, self.study.truth
        lowest = {name: s[OWN_SCALE][0] for name, s in signatures.items() if OWN_SCALE in s}
        raters = self.data.scales if self.data is not None else {}
        own = {f"Labels({rater!r})": scale.min for rater, scale in raters.items()}
        spec = self.study.specs.get(truth, truth)
        if spec.startswith("History(") and "cuts" not in EvaluatorSpec.parse(spec).kwargs:
            own[spec] = 0.0
        return lowest | ({truth: own[spec]} if spec in own else {})
