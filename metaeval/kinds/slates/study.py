"""What the study file of a study of slates may say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from metaeval.base.validation import Line, Options
from metaeval.kinds.study import Study, distinct

if TYPE_CHECKING:
    from metaeval.engine.board import Cell


class SlatesOrder(Options):
    """The cell that orders the leaderboard and is tested; the regret in the first task, if left out."""

    called = "order_by"
    task: Line | None = None
    measure: Literal["regret", "accuracy", "weighted accuracy"] = "regret"


class SlatesStudy(Study):
    """A study of slates: which evaluators prefer the slates that are worth more to the user."""

    truth: Line = "User()"
    tasks: Annotated[list[Line], AfterValidator(distinct)] | None = None
    """All that the data have, if left out."""
    difficulty: Annotated[int, Field(ge=1, le=20, description="a whole number from 1 to 20")] = 3
    """Bins of the similarity of two slates."""
    ratings: dict[Line, Line] = Field(default_factory=dict)
    """Judge → the evaluator whose ratings of single slates its verdicts are compared with; else the
    ``SlateRating`` of the same model and address."""
    order_by: SlatesOrder = SlatesOrder()

    @property
    def by(self) -> Cell:
        """The cell that orders the leaderboard, of a study that is resolved."""
        return {"task": str(self.order_by.task), "measure": self.order_by.measure}

    @property
    def facts(self) -> dict[str, str]:
        """The tasks."""
        return {"tasks": ", ".join(self.tasks or ())}
