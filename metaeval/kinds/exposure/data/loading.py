"""A log as a folder: ``dataset.yaml`` and its tables, loaded, saved, made and checked."""

from __future__ import annotations

from typing import Any, Literal, Self

import pandas as pd
from pydantic import Field, model_validator

from metaeval.base.records import FIRST
from metaeval.kinds.exposure.data.check import TABLES, build
from metaeval.kinds.exposure.data.log_set import ORDER, LogSet
from metaeval.kinds.files.folder import DataFolder
from metaeval.kinds.files.manifest import About, DataManifest, ScaleModel, about

POLICIES = "policies"
"""The folder of a data set with policies that came with it: `metaeval.kinds.exposure.off_policy.rounds`."""


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
                f"{self.outcome.min:g} and {self.outcome.max:g} at most"
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


def pairs_of(data: LogSet) -> pd.DataFrame | None:
    """Return a row per pair, as the table ``pairs`` has it; None if there are none."""
    pairs = data.table[data.table[ORDER] == FIRST].drop(columns=ORDER).reset_index(drop=True)
    return pairs.dropna(axis="columns", how="all") if len(pairs) else None


def _frames(data: LogSet) -> dict[str, pd.DataFrame | None]:
    own = {"pairs": pairs_of(data), "synthetic": None if data.synthetic is None else data.synthetic.frame}
    return {name: own[name] if name in own else getattr(data, name) for name in TABLES}


FOLDER: DataFolder[LogSet] = DataFolder(LogManifest, TABLES, TABLES[:1], build, _frames, (POLICIES,))
refuse_if_in_the_way = FOLDER.refuse_if_in_the_way
save = FOLDER.save
load = FOLDER.load
log_of = FOLDER.make
put = FOLDER.put
