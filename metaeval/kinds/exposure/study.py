"""What the study file of a study of exposure may say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from metaeval.base.validation import Line, Options
from metaeval.kinds.ablations import Ablation
from metaeval.kinds.exposure.off_policy.evaluation import Names, OffPolicy, Thresholds
from metaeval.kinds.exposure.pairs import Bin  # noqa: TC001 pydantic reads it
from metaeval.kinds.exposure.propensity.options import PropensityOptions
from metaeval.kinds.exposure.recommenders.options import RecommenderOptions
from metaeval.kinds.exposure.synthesis.options import SynthesisOptions
from metaeval.kinds.study import Study, distinct

if TYPE_CHECKING:
    from metaeval.engine.board import Cell

_DEFAULT = OffPolicy()


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
    margin: Annotated[float, Field(gt=0, description="a number above 0")] | None = None
    """The largest error of a map to Recall that does not matter; without it no transport is audited."""
    transport: Annotated[list[Line], AfterValidator(distinct)] = Field(default_factory=lambda: ["popularity"])
    """What groups are held out by: ``popularity``, ``time``, or fields of profiles."""
    policies: Annotated[list[Line], AfterValidator(distinct)] | None = None
    """``uniform``, files, or names of policies that came with the data set; all of these, if left out."""
    estimators: Names = _DEFAULT.estimators
    clip: Thresholds = _DEFAULT.clip
    trim: Thresholds = _DEFAULT.trim
    ties: Literal["wrong", "half", "drop"] = "wrong"
    """What a tie, or an answer that is invalid, counts as."""
    evidence: Literal["discard", "weight", "ignore"] = "discard"
    """What is done with verdicts of which some evidence is invented."""
    ablations: list[ExposureAblation] = Field(default_factory=list)
    order_by: ExposureOrder = ExposureOrder()

    @property
    def off_policy(self) -> OffPolicy:
        """How the policies are evaluated."""
        return OffPolicy(estimators=self.estimators, clip=self.clip, trim=self.trim)

    @property
    def by(self) -> Cell:
        """The cell that orders the leaderboard, of a study that is resolved."""
        order = self.order_by
        return {"bin": order.bin, "weighting": str(order.weighting), "measure": order.measure}

    @property
    def facts(self) -> dict[str, str]:
        """What ties and invented evidence count as."""
        return {"ties": self.ties, "invented evidence": self.evidence}
