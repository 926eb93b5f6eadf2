"""The content of ``run.json``, typed: all that the numbers of a run depend on."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from metaeval.base.keys import DATASET
from metaeval.base.records import AVERAGE, COEFFICIENTS, CORRELATIONS, Kind, Scale
from metaeval.base.simulation import Simulation
from metaeval.judging.lost import LostCalls, lost_sentences
from metaeval.judging.replies import RepliesState  # noqa: TC001 - pydantic reads it

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.engine.alignment.policy import Policy


def _scale(given: object) -> object:
    return Scale.read(given) if isinstance(given, list | tuple) else given


ScaleFacts = Annotated[Scale, BeforeValidator(_scale), PlainSerializer(Scale.facts)]
"""A scale, written as `Scale.facts`."""


class Facts(BaseModel):
    """A part of ``run.json``; keys of other versions are kept."""

    model_config = ConfigDict(frozen=True, extra="allow")

    def content(self, only: Sequence[str] | None = None) -> dict[str, Any]:
        """Return the facts as plain JSON values: those that were set, or these keys in this order."""
        found = self.model_dump(mode="json", include=set(only) if only else None, exclude_unset=not only)
        return {key: found[key] for key in only} if only else found


class DataFacts(Facts):
    """The data set."""

    name: str
    fingerprint: str
    simulated: bool
    licence: str
    source: str
    units: int
    """How many there are."""
    scale: ScaleFacts
    keys: list[str] = Field(default_factory=list)
    """The key columns; empty in a run of an earlier version."""
    cluster: str = ""
    """The key column whose values are resampled whole."""
    nouns: dict[str, str] = Field(default_factory=dict)
    """Key column → what a reader calls it."""


class TruthFacts(Facts):
    """What scores are compared with."""

    spec: str
    signature: dict[str, Any]
    units: int | None = None
    """How many units it has a value for; None in a run of an earlier version."""


class EvaluatorFacts(Facts):
    """One evaluator."""

    spec: str
    kind: Kind
    signature: dict[str, Any]
    """What its scores depend on."""
    scores: dict[str, int]
    """Status → how many scores have it."""


class StudyFacts(Facts):
    """The study as resolved."""

    kind: str = "explanations"
    name: str = ""
    title: str | None = None
    dataset: str = ""
    aspects: list[str] = Field(default_factory=list)
    levels: list[str] = Field(default_factory=list)
    coefficients: list[str] = Field(default_factory=list)
    missing: dict[str, Any] = Field(default_factory=dict)
    undefined_groups: Literal["skip", "zero"] = "skip"
    units: Literal["common", "own"] = "common"
    order_by: dict[str, str] = Field(default_factory=dict)
    bootstrap: dict[str, Any] | None = None
    tests: dict[str, Any] | None = None
    judging: dict[str, Any] = Field(default_factory=dict)
    models: dict[str, dict[str, Any]] = Field(default_factory=dict)

    def policy(
        self, levels: Sequence[str] | None = None, coefficients: Sequence[str] | None = None
    ) -> Policy:
        """Return the policy, with these levels and coefficients or its own; else Pearson's r of all units."""
        # It takes long to load, and few readers of a record need it.
        from metaeval.engine.alignment.policy import Policy

        return Policy.of(
            list(levels or self.levels or [DATASET]),
            list(coefficients or self.coefficients or COEFFICIENTS[:1]),
            self.missing,
            self.undefined_groups,
            self.units,
        )


class Record(Facts):
    """The content of ``run.json``; some of it is empty until the run is done."""

    metaeval: str
    """The version that made it."""
    status: Literal["running", "stopped", "done"] | None = None
    study: StudyFacts
    data: DataFacts
    python: str = ""
    libraries: dict[str, str] = Field(default_factory=dict)
    started: str = ""
    finished: str = ""
    truth: TruthFacts = TruthFacts(spec="", signature={})
    evaluators: dict[str, EvaluatorFacts] = Field(default_factory=dict)
    lost: list[LostCalls] = Field(default_factory=list)
    again: str = ""
    """The command that asks for lost calls again."""
    replies: RepliesState | None = None
    inputs: str = ""
    """A SHA-256 of all that the outputs depend on; empty where that cannot be told."""
    policy: dict[str, Any] = Field(default_factory=dict)
    """How missing scores, missing truth and undefined groups were treated."""
    tests: dict[str, Any] | None = None
    board: dict[str, Any] = Field(default_factory=dict)
    """What the file of the board does not say of it."""
    board_file: str = CORRELATIONS
    """The name of that file; that of correlations in a run of an earlier version."""
    order: dict[str, str] = Field(default_factory=dict)
    """The cell of the board that orders the leaderboard."""
    outputs: dict[str, str] = Field(default_factory=dict)
    """Name of a file → its SHA-256."""
    stopped: str = ""

    @classmethod
    def read(cls, content: object) -> Record:
        """Read the content of a ``run.json``; a run of an earlier version does not describe its board.

        Raises
        ------
        pydantic.ValidationError
            If it is none.
        """
        record = cls.model_validate(content)
        if record.board or not (record.is_done and record.study.levels):
            return record
        import pandas as pd

        from metaeval.base.records import Correlation, Correlations
        from metaeval.engine.correlation_board import COLUMN, correlation_board

        study = record.study
        cells = product([*study.aspects, AVERAGE], study.levels, study.coefficients)
        frame = pd.DataFrame(cells, columns=list(COLUMN)).reindex(columns=list(Correlation._fields))
        of = correlation_board(Correlations(frame, record.policy), study.order_by)
        return record.having(board=of.record(), order=study.order_by)

    def having(self, **facts: object) -> Record:
        """Return the record with further facts."""
        return self.model_copy(update=facts)

    @property
    def is_done(self) -> bool:
        """Whether the run is finished."""
        return self.status == "done"

    @property
    def title(self) -> str:
        """The title of the run."""
        return self.study.title or f"Evaluators on {self.data.name}"

    @property
    def specs(self) -> dict[str, str]:
        """Name of each evaluator → its spec."""
        return {name: e.spec for name, e in self.evaluators.items()}

    @property
    def signatures(self) -> dict[str, dict[str, Any]]:
        """Name of each evaluator → its signature."""
        return {name: e.signature for name, e in self.evaluators.items()}

    @property
    def kinds(self) -> dict[str, Kind]:
        """Name of each evaluator → the block of a leaderboard that it stands in."""
        return {name: e.kind for name, e in self.evaluators.items()}

    @property
    def simulation(self) -> Simulation:
        """What is simulated."""
        return Simulation.of(self.data.simulated, self.signatures)

    @property
    def lost_sentences(self) -> list[str]:
        """A sentence per judge that lost calls, and how to ask again."""
        return lost_sentences(self.lost, self.again)
