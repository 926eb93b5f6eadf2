"""``dataset.yaml`` of a log: what an outcome is, its scale, and what a propensity is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from metaeval.kinds.files.manifest import About, DataManifest, ScaleModel, about

if TYPE_CHECKING:
    from typing import Self

    from metaeval.kinds.exposure.data.log_set import LogSet


class Described(About):
    """What a map of a table says of a log, too."""

    kind: Literal["exposure"] = Field()
    outcome: ScaleModel
    statement: str = ""
    positive: float | None = None
    exposure: Literal["choice", "pair"] = "choice"

    @property
    def least_positive(self) -> float:
        """The least outcome that is a success: the highest there is, unless the file says another."""
        return self.outcome.max if self.positive is None else self.positive

    @model_validator(mode="after")
    def _success_is_possible(self) -> Self:
        if not self.outcome.min < self.least_positive <= self.outcome.max:
            raise ValueError(
                f"positive: {self.positive:g} does not split the outcomes; give a value above "
                f"{self.outcome.min:g} and "
                f"{self.outcome.max:g} at most"
            )
        return self


class LogManifest(DataManifest, Described):
    """The keys of ``dataset.yaml`` of a log."""

    extra: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def of(cls, data: LogSet) -> LogManifest:
        """Return the manifest of a log in memory."""
        return cls(
            **about(data),
            kind="exposure",
            outcome=ScaleModel.of(data.outcome),
            statement=data.statement,
            positive=None if data.positive == data.outcome.max else data.positive,
            exposure="pair" if data.exposure == "pair" else "choice",
            extra=dict(data.extra),
        )
