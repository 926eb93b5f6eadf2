"""What the study file of a study of exposure may say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from metaeval.base.validation import Line, Options
from metaeval.kinds.ablations import Ablation
from metaeval.kinds.exposure.pairs import Bin  # noqa: TC001 pydantic reads it
from metaeval.kinds.exposure.propensity.options import PropensityOptions
from metaeval.kinds.study import Study

if TYPE_CHECKING:
    from metaeval.engine.board import Cell


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
    """A study of exposure: which evaluators prefer, of two items that a user saw, the one the user liked."""

    truth: Line = "User()"
    propensity: PropensityOptions | None = None
    """How pairs are weighted anew; by the weights that stand with the pairs, if left out."""
    ties: Literal["wrong", "half", "drop"] = "wrong"
    """What a tie, or an answer that is invalid, counts as."""
    evidence: Literal["discard", "weight", "ignore"] = "discard"
    """What is done with verdicts of which some evidence is invented."""
    ablations: list[ExposureAblation] = Field(default_factory=list)
    order_by: ExposureOrder = ExposureOrder()

    @property
    def by(self) -> Cell:
        """The cell that orders the leaderboard, of a study that is resolved."""
        order = self.order_by
        return {"bin": order.bin, "weighting": str(order.weighting), "measure": order.measure}

    @property
    def facts(self) -> dict[str, str]:
        """What ties and invented evidence count as."""
        return {"ties": self.ties, "invented evidence": self.evidence}
