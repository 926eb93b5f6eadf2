"""The content of ``run.json``, typed: all that the numbers of a run depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from metaeval.base.counts import counted
from metaeval.base.errors import shown
from metaeval.base.keys import DATASET, noun
from metaeval.base.records import COEFFICIENTS, Kind, Scale
from metaeval.base.simulation import Simulation
from metaeval.base.spec import EvaluatorSpec, parts_of, short_names
from metaeval.engine.sheet import Form, value_text
from metaeval.judging.cost import LostCalls, RepliesState, lost_sentences, short

if TYPE_CHECKING:
    from metaeval.engine.alignment.policy import Policy
    from metaeval.engine.board import Board


NOTED, MUCH = 0.02, 0.2
"""The shares of unread replies from which on there is a note, and a run ends with exit code 3."""
LOST = "could not be read"
_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class LossTest:
    """A test of whether the share of unread replies depends on something."""

    by: str
    """``order``, ``aspect`` or ``truth``."""
    shares: dict[str, float]
    """Its values → the share that is unread."""
    p: float
    """Of Fisher's exact test of two values, else of the chi-square test; corrected by Holm."""


@dataclass(frozen=True, slots=True)
class LossBounds:
    """What an estimate would be if all unread replies had said the same."""

    of: str
    """What is estimated, in words."""
    form: Form
    estimate: float | None
    """Without them, as the run says it; None if it is not defined."""
    if_all: dict[str, float | None]
    """What they all would have said → the estimate then."""


@dataclass(frozen=True, slots=True)
class UnreadReplies:
    """The replies to one judge that could not be read."""

    evaluator: str
    replies: int
    """That came."""
    unread: int
    statuses: dict[str, int]
    """Why → how many."""
    examples: list[str]
    tests: list[LossTest]
    bounds: LossBounds | None = None

    @property
    def share(self) -> float:
        """The share of the replies."""
        return self.unread / self.replies

    @property
    def sentence(self) -> str:
        """What a reader is told of it."""
        why = ", ".join(f"{status.replace('_', ' ')} {n:,}" for status, n in self.statuses.items())
        such = "; ".join(shown(short(text)) for text in self.examples)
        lost = f"{value_text(self.share, 'share')} of the replies to {self.evaluator}"
        count = f"({self.unread:,} of {self.replies:,})"
        sentences = [f"{lost} {count} {LOST} ({why}){such and f', such as {such}'}."]
        for test in self.tests:
            p = f"p: {value_text(test.p, 'p')}"
            if test.p > _ALPHA:
                sentences.append(f"The loss is not shown to depend on the {test.by} ({p}).")
                continue
            shares = ", ".join(f"{value_text(s, 'share')} at {value}" for value, s in test.shares.items())
            sentences.append(f"The loss depends on the {test.by} ({shares}; {p}).")
        if self.bounds:
            value = value_text(self.bounds.estimate, self.bounds.form)
            ends = " and ".join(
                f"{value_text(v, self.bounds.form)} if all these had been {end}"
                for end, v in self.bounds.if_all.items()
            )
            sentences.append(f"Its {self.bounds.of} is {value}; it would be {ends}.")
        return " ".join(sentences)


def _scale(value: object) -> object:
    return Scale.read(value) if isinstance(value, list | tuple) else value


ScaleFacts = Annotated[Scale, BeforeValidator(_scale), PlainSerializer(Scale.facts)]
"""A scale, written as `Scale.facts`."""


class Facts(BaseModel):
    """A part of ``run.json``; a kind of study may have keys of its own."""

    model_config = ConfigDict(frozen=True, extra="allow")

    def content(self, only: Sequence[str] | None = None) -> dict[str, Any]:
        """Return the facts as plain JSON values: those that were set, or these keys in this order."""
        facts = self.model_dump(mode="json", include=set(only) if only else None, exclude_unset=not only)
        return {key: facts[key] for key in only} if only else facts


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
    keys: list[str]
    """The key columns."""
    cluster: str
    """The key column whose values are resampled whole."""
    nouns: dict[str, str]
    """Key column → what a reader calls it."""
    place: str = ""
    """Its folder as seen from the run's; empty if it was bundled, on the hub or in memory."""


class TruthFacts(Facts):
    """What scores are compared with."""

    spec: str
    signature: dict[str, Any]
    units: int = 0
    """How many units it has a value for."""

    @property
    def short(self) -> str:
        """What a sentence calls it."""
        return EvaluatorSpec.parse(self.spec).short


class EvaluatorFacts(Facts):
    """One evaluator."""

    spec: str
    kind: Kind
    signature: dict[str, Any]
    """What its scores depend on."""
    scores: dict[str, int]
    """Status → how many scores have it."""


class OpenedFacts(Facts):
    """What the sealed clusters said of the one evaluator that was chosen."""

    when: str
    evaluator: str
    signature: dict[str, Any]
    """What its scores depend on."""
    cell: dict[str, str]
    """What was estimated."""
    n: int
    """How many sealed clusters have a value."""
    estimate: float
    low: float
    high: float

    @property
    def date(self) -> str:
        """When it was, as it is printed."""
        return f"{self.when[:16].replace('T', ' ')} UTC"

    @property
    def of(self) -> str:
        """The cell, as it is printed."""
        return ", ".join(self.cell.values())


class SealedFacts(Facts):
    """The clusters that nothing but the sealed test sees."""

    column: str
    """The key column that names them."""
    clusters: int
    units: int
    fingerprint: str
    """That of their data."""
    names: str
    """A SHA-256 of their names."""
    usd: float | None = None
    """What judging them cost; None if that is not known."""
    opened: OpenedFacts | None = None


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

    layout: Literal[1]
    """Of the run folder."""
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
    unread: list[UnreadReplies] = Field(default_factory=list)
    """Of each judge with a share of unread replies that is worth a note."""
    again: str = ""
    """The command that asks for lost calls again."""
    prices: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Model → each price that its replies were charged at, and since when."""
    replies: RepliesState | None = None
    sealed: SealedFacts | None = None
    inputs: str = ""
    """A SHA-256 of all that the outputs depend on; empty where that cannot be told."""
    policy: dict[str, Any] = Field(default_factory=dict)
    """How missing scores, missing truth and undefined groups were treated."""
    tests: dict[str, Any] | None = None
    board: dict[str, Any] = Field(default_factory=dict)
    """What the file of the board does not say of it."""
    board_file: str = ""
    """The name of that file."""
    order: dict[str, str] = Field(default_factory=dict)
    """The cell of the board that orders the leaderboard."""
    outputs: dict[str, str] = Field(default_factory=dict)
    """Name of a file → its SHA-256."""
    stopped: str = ""

    def having(self, **facts: object) -> Record:
        """Return the record with further facts."""
        return self.model_copy(update=facts)

    @property
    def is_done(self) -> bool:
        """Whether the run is finished."""
        return self.status == "done"

    @property
    def opened(self) -> OpenedFacts | None:
        """What the sealed clusters said when they were opened; None if they were not."""
        return self.sealed.opened if self.sealed else None

    @property
    def title(self) -> str:
        """The title of the run."""
        return self.study.title or f"Evaluators on {self.data.name}"

    @property
    def specs(self) -> dict[str, str]:
        """Name of each evaluator → its spec."""
        return {name: e.spec for name, e in self.evaluators.items()}

    @property
    def in_truth(self) -> tuple[str, ...]:
        """The evaluators that share people or scores with the truth."""
        truth = parts_of(EvaluatorSpec.parse(self.truth.spec))
        return tuple(name for name, spec in self.specs.items() if parts_of(EvaluatorSpec.parse(spec)) & truth)

    @property
    def names(self) -> dict[str, str]:
        """Name of each evaluator → the name that is printed."""
        return short_names(self.specs)

    def named(self, board: Board) -> Board:
        """Return a board that prints short names, and marks what shares people with the truth."""
        return replace(board, in_truth=self.in_truth, names=self.names)

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
        """A sentence per judge with many unread replies, or that lost calls, and how to ask again."""
        unread = [of.sentence for of in self.unread if of.share >= MUCH]
        return [*unread, *lost_sentences(self.lost, self.again)]

    @property
    def notes(self) -> list[str]:
        """A sentence per judge with fewer unread replies, and one on what is sealed."""
        return [*(of.sentence for of in self.unread if of.share < MUCH), *self._of_sealed]

    @property
    def _of_sealed(self) -> list[str]:
        if self.sealed is None:
            return []
        clusters = counted(self.sealed.clusters, noun(self.sealed.column))
        paid = f"; judging them cost {value_text(usd, 'usd')} USD" if (usd := self.sealed.usd) else ""
        return [f"Sealed: {clusters} ({self.sealed.units:,} units) are in no number here{paid}."]
