"""The options of a study of exposure, as its file and Python give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import AfterValidator, Field

from metaeval.base.validation import Count, Line, Options, Seed, Share
from metaeval.engine.board import Cell
from metaeval.kinds.study import Ablation, Study, distinct
from metaeval.stats.off_policy.estimators import (
    CHOSEN,
    PLAIN,
    UNWEIGHTED,
    Estimator,
    EstimatorName,
    Weighting,
)

Distinct = AfterValidator(distinct)
Bin: TypeAlias = Literal["popularity", "age", "price", "category"]
BIN_NAMES: tuple[Bin, ...] = get_args(Bin)
Source: TypeAlias = Literal["logged", "fitted", "naive-bayes"]
Feature: TypeAlias = Literal["user_frequency", "item_popularity", "age", "hour", "weekday", "genre_entropy"]
FEATURES: tuple[Feature, ...] = get_args(Feature)
REFITS = 20
FLOOR = 1e-6
"""The least propensity that a pair is weighted by, if none is said (the source's equation 1)."""
Constraint: TypeAlias = Literal["either", "both", "transition", "similarity", "none"]
_Part = Annotated[float, Field(ge=0, le=1, strict=False, description="a number from 0 to 1")]
Above = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=False)]
Names = Annotated[
    tuple[EstimatorName, ...], Field(strict=False, min_length=1, description="names of estimators")
]
Thresholds = Annotated[tuple[Above, ...], Field(strict=False, description="numbers above 0")]
Measure: TypeAlias = Literal["Recall", "nDCG"]
EstimatorOfLists: TypeAlias = Literal["naive", "ips", "snips", "dr"]


class PropensityOptions(Options):
    """Where propensities come from, and how they are fitted."""

    called = "propensity"
    source: Source | None = None
    """Logged where the log has them, else fitted."""
    features: Annotated[list[Feature], Distinct] = Field(default_factory=lambda: [*FEATURES])
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


class SynthesisOptions(Options):
    """How interactions are made up, and how recommenders that learn from them are evaluated."""

    called = "synthesis"
    steps: Count = 20
    """Of each user."""
    target: Annotated[tuple[_Part, ...], Field(strict=False, min_length=1)] | None = None
    """Shares of the popularity bins, the most popular first; if None, bin b has a share in proportion to
    b + 1: the two least popular of five have 60 %."""
    constraint: Constraint = "either"
    """Which a step must pass (the source: either)."""
    transition: _Part = 0.1
    """A step passes if the probability of its transition of genres is higher."""
    similarity: _Part = 0.1
    """A step passes if the cosine of its items is higher."""
    neighbours: Count = 100
    """Most similar items that are kept of each item."""
    anchors: Count = 3
    """Genres of a user that candidates are drawn of."""
    recent: Count = 50
    """Last interactions of a user that anchors are counted in."""
    anchored: _Part = 0.5
    """Share of candidates that are drawn of an anchor; others are drawn of their popularity bin alone."""
    attempts: Count = 20
    """Candidates of a step; it is left out if none passes."""
    held_out: Share = 0.2
    """Share of each user's rows, the last ones, that recommenders are evaluated on."""
    k: Count = 20
    """Length of the lists that recommenders are evaluated by."""
    seed: Seed = 0


class OffPolicy(Options):
    """How a policy is evaluated."""

    called = "off-policy"
    estimators: Names = ("naive", "ips", "snips", "dr")
    clip: Thresholds = ()
    """Largest weights; IPS, SNIPS and DR are given once more with each."""
    trim: Thresholds = ()
    """Weights above which a round is left out; IPS, SNIPS and DR are given once more with each."""
    subsamples: Annotated[int, Field(ge=0, le=10_000)] = 0
    """Bootstrap samples in which errors against the policy's own value are given; needs ``on_policy``."""

    def list(self) -> list[Estimator]:
        """Return every estimator with each of its weightings."""
        return estimators_of(self.estimators, self.clip, self.trim)


def estimators_of(
    names: Sequence[EstimatorName], clip: Sequence[float], trim: Sequence[float]
) -> list[Estimator]:
    """Return every estimator, and those with weights once more with each change of the weights."""
    sweep = [PLAIN, *(Weighting("clip", c) for c in clip), *(Weighting("trim", t) for t in trim)]
    return [
        Estimator(name, weighting)
        for name in dict.fromkeys(names)
        for weighting in ([PLAIN] if name in (*UNWEIGHTED, *CHOSEN) else dict.fromkeys(sweep))
    ]


class RecommenderOptions(Options):
    """How recommenders are measured."""

    called = "recommenders"
    k: Count = 20
    """How much of a list is read."""
    measures: Annotated[list[Measure], Distinct] = Field(default_factory=lambda: [*get_args(Measure)])
    estimators: Annotated[list[EstimatorOfLists], Distinct] = Field(
        default_factory=lambda: [*get_args(EstimatorOfLists)]
    )
    clip: list[Above] = Field(default_factory=list)
    """Largest weights; IPS, SNIPS and DR are given once more with each."""
    trim: list[Above] = Field(default_factory=list)
    """Weights above which a row is left out; IPS, SNIPS and DR are given once more with each."""
    held_out: Annotated[float, Field(gt=0, le=1, description="a number above 0 and 1 at most")] = 1.0
    """The share of each user's rows, the latest ones, that no recommender was made with."""
    baseline: Line | None = None
    """The recommender whose value is taken off the others'; the best, if left out."""
    online: Line | None = None
    """A table of what recommenders reached online: ``system``, and a column per number."""
    seed: Seed = 0
    """Of the rows that are held out where the log has no times."""

    @property
    def every(self) -> list[Estimator]:
        """Every estimator with each of its weightings."""
        return estimators_of(self.estimators, self.clip, self.trim)


class ExposureOrder(Options):
    """The cell that orders the leaderboard: PairAUC over all pairs, by inverse propensities where known."""

    called = "order_by"
    bin: Line = "all"
    weighting: Literal["ips", "none"] | None = None
    measure: Literal["PairAUC", "RJS", "RJS, users alike"] = "PairAUC"


class ExposureAblation(Ablation):
    """What is changed of a judge and of how it is measured, one thing at a time."""

    against: list[Line] = Field(default_factory=list)
    """Other evaluators that it is compared with, such as a ``Majority`` of several judges."""
    matching: list[list[Bin]] = Field(default_factory=list)
    """Bins that further pairs are matched on; an empty list for pairs that are matched on nothing."""


class ExposureStudy(Study):
    """A study of exposure: agreement of evaluators with a user's preference between two items."""

    truth: Line = "User()"
    propensity: PropensityOptions = PropensityOptions()
    synthesis: SynthesisOptions = SynthesisOptions()
    recommenders: RecommenderOptions = RecommenderOptions()
    by: Line | None = None
    """A field of users, or a column of the pairs, whose values have a PairAUC each."""
    margin: Annotated[float, Field(gt=0, description="a number above 0")] | None = None
    """The largest error of a map to Recall that does not matter; without it no transport is audited."""
    transport: Annotated[list[Line], Distinct] = Field(default_factory=lambda: ["popularity"])
    """What groups are held out by: ``popularity``, ``time``, or fields of profiles."""
    policies: Annotated[list[Line], Distinct] | None = None
    """``uniform``, files, or names of policies that came with the data set; all of these, if left out."""
    estimators: Names = OffPolicy().estimators
    clip: Thresholds = ()
    trim: Thresholds = ()
    predictions: Line | None = None
    """A file of outcomes that one's own model predicts; it takes the place of the model that is fitted."""
    on_policy: dict[Line, float | Line] = Field(default_factory=dict)
    """Names of policies → the value that they had, or the data set of a log that they made."""
    subsamples: Annotated[int, Field(ge=0, le=10_000)] = 0
    ties: Literal["wrong", "half", "drop"] = "wrong"
    """What a tie, or an answer that is invalid, counts as."""
    evidence: Literal["discard", "weight", "ignore"] = "discard"
    """What is done with verdicts of which some evidence is invented."""
    ablations: list[ExposureAblation] = Field(default_factory=list)
    order_by: ExposureOrder = ExposureOrder()

    @property
    def off_policy(self) -> OffPolicy:
        """How the policies are evaluated."""
        return OffPolicy(**{name: getattr(self, name) for name in OffPolicy.model_fields})

    @property
    def ordered_by(self) -> Cell:
        """The cell that orders the leaderboard, of a study that is resolved."""
        order = self.order_by
        return {"bin": order.bin, "weighting": str(order.weighting), "measure": order.measure}

    @property
    def facts(self) -> dict[str, str]:
        """What ties and invented evidence count as."""
        return {"ties": self.ties, "invented evidence": self.evidence}
