"""The records that all rooms of the package share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil, floor
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

from metaeval.base.counts import counted
from metaeval.base.errors import DataError
from metaeval.base.frames import html_heading, html_table
from metaeval.base.keys import key_columns
from metaeval.base.simulation import Simulation

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.base.spec import EvaluatorSpec

USER_RATER = "user"
"""The rater that is the person the item was recommended to."""

AVERAGE = "average"
"""The name under which the mean over aspects is reported; no aspect may have it."""

SHARE = "p("
"""What the names of columns with probabilities begin with; `Scale.share_columns` has them."""

FIRST, SECOND, TIE = "first", "second", "tie"
"""The sides of a pair of generators, in the order of their names as text, and neither of them."""

LEVELS: tuple[str, ...] = ("dataset", "user", "pair", "item", "generator")
COEFFICIENTS: tuple[str, ...] = ("pearson", "spearman", "kendall")


class Status(StrEnum):
    """Why a score is there or not; only ``ok`` has a score."""

    OK = "ok"
    MISSING = "missing"  # the source has none
    UNTOKENIZABLE = "untokenizable"
    EXAMPLE = "example"  # shown to the judge, so not scored
    REFUSED = "refused"
    UNPARSED = "unparsed"
    OUT_OF_RANGE = "out_of_range"
    TRUNCATED = "truncated"
    INVENTED = "invented"  # read, and with evidence that is not in the prompt
    UNWEIGHED = "unweighed"  # read, and without the probabilities that are asked for
    TRANSPORT = "transport"
    BUDGET = "budget"


class Kind(StrEnum):
    """The block of a leaderboard that an evaluator stands in, in the order they are printed."""

    BASELINE = "baseline"
    REFERENCE = "reference-based"
    RECORDED = "recorded"
    FUNCTION = "function"
    ANNOTATOR = "annotator"
    JUDGE = "judge"
    ENSEMBLE = "ensemble"


@dataclass(frozen=True, slots=True)
class Scale:
    """The rating scale that raters used, both ends included; of aspects with different scales, their span."""

    min: float
    max: float
    integer: bool = True
    own: tuple[tuple[str, Scale], ...] = ()
    """Aspect → its scale, where aspects have different ones."""
    labels: tuple[str, ...] = ()
    """The words that people chose from, in no order; a rating is the position of one. Empty for numbers."""

    @classmethod
    def over(cls, scales: Mapping[str, Scale]) -> Scale:
        """Return the scale of aspects that have these, one or different ones."""
        all_, one = scales.values(), next(iter(scales.values()))
        if all(scale == one for scale in all_):
            return one
        whole = all(s.integer for s in all_)
        return cls(min(s.min for s in all_), max(s.max for s in all_), whole, tuple(scales.items()))

    @classmethod
    def read(cls, facts: Sequence[Any]) -> Scale:
        """Return the scale that `facts` wrote."""
        low, high, integer = facts[:3]
        own, labels = facts[3] if len(facts) > 3 else {}, facts[4] if len(facts) > 4 else ()
        of_aspects = tuple((aspect, cls.read(scale)) for aspect, scale in own.items())
        return cls(low, high, integer, of_aspects, tuple(labels))

    def facts(self) -> list[Any]:
        """Return plain JSON values: ends, whether values are whole and, if any, own scales and labels."""
        own = {aspect: scale.facts() for aspect, scale in self.own}
        return [
            self.min,
            self.max,
            self.integer,
            *([own, [*self.labels]] if self.labels else [own] if own else []),
        ]

    def of(self, aspect: str) -> Scale:
        """Return the scale of an aspect."""
        return dict(self.own).get(aspect, self)

    def check_numbers(self, aspects: Iterable[str], what: str) -> None:
        """Raise `DataError` if ratings of an aspect are words, and so have no ``what``."""
        for aspect in aspects:
            if self.of(aspect).labels:
                raise DataError(
                    f"the ratings of {aspect!r} are words without an order, so there is no {what}; for κ and "
                    "nominal α: metaeval calibrate DATA"
                )

    @property
    def steps(self) -> list[float]:
        """The values that a rating can have, in order; empty if these are not whole numbers or words."""
        return [float(v) for v in range(ceil(self.min), floor(self.max) + 1)] if self.integer else []

    @property
    def share_columns(self) -> list[str]:
        """The columns of scores with the probability of each of the ``steps``: ``p(1)``, ``p(yes)``."""
        return [f"{SHARE}{value})" for value in self.labels or (f"{v:g}" for v in self.steps)]

    @property
    def averaged(self) -> list[str]:
        """What is to be said of an average over aspects in points; nothing if all scales are as long."""
        differ = len({scale.max - scale.min for _, scale in self.own}) > 1
        return [
            "In points, an average over aspects weighs each by the length of its scale; they differ."
        ] * differ

    def __contains__(self, rating: float) -> bool:
        return self.min <= rating <= self.max and (not self.integer or float(rating).is_integer())

    def __str__(self) -> str:
        if self.own:
            return "; ".join(f"{aspect}: {scale}" for aspect, scale in self.own)
        if self.labels:
            return f"the words {', '.join(self.labels)}"
        kind = "integers" if self.integer else "numbers"
        return f"{kind} from {self.min:g} to {self.max:g}"


class DataSet(Protocol):
    """The data set of any kind: units, named by key columns, and people's ratings of them."""

    @property
    def name(self) -> str:
        """What it is called in tables."""

    @property
    def licence(self) -> str:
        """Under which terms it may be used; empty if not known."""

    @property
    def source(self) -> str:
        """Where it comes from; empty if not known."""

    @property
    def language(self) -> str:
        """The language of its texts; empty if not known."""

    @property
    def simulated(self) -> bool:
        """Whether its ratings are made up."""

    @property
    def extra(self) -> Mapping[str, Any]:
        """Further facts."""

    @property
    def aspects(self) -> Mapping[str, str]:
        """Name of each aspect → the statement that raters saw."""

    @property
    def scale(self) -> Scale:
        """The rating scale; that of one aspect is ``scale.of(aspect)``."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns, in order: together they name a unit."""

    @property
    def units(self) -> pd.DataFrame:
        """The key columns, one row per unit."""

    @property
    def cluster(self) -> str:
        """The key column whose values are resampled whole."""

    @property
    def nouns(self) -> Mapping[str, str]:
        """Key column → what a reader calls one of its values."""

    @property
    def scores(self) -> pd.DataFrame | None:
        """Scores recorded from other tools, long; None if there are none."""

    @property
    def ratings(self) -> pd.DataFrame:
        """What people said, long; may be empty."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the content."""

    @property
    def counts(self) -> Mapping[str, int]:
        """What there is, in the singular → how many."""

    def __len__(self) -> int:
        """Return the number of units."""

    def without(self, column: str, values: Sequence[str]) -> Self:
        """Return the data set without the units that have one of these values of a key column."""


SAMPLES = "sample_values"
"""The column of scores with the values of several replies to one question."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoreTable:
    """Scores of evaluators, long.

    ``frame`` has the key columns, ``evaluator``, ``aspect``, ``score`` (NaN unless ``status`` is ``ok``),
    ``status`` and, where an evaluator has them, ``tokens``, ``usd`` and ``seconds``, and ``sample_values``,
    with blanks between them, of which a score is the mean, and the probability of each value of the scale
    (``Scale.share_columns``). A unit that has no row counts as ``missing``.
    ``signatures`` says of each evaluator what a number of it depends on (versions, tokenizer, seed, …),
    ``kinds`` in which block of a table it stands.
    """

    frame: pd.DataFrame
    signatures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    simulated: bool = False
    """Whether the data that were scored are simulated; whatever is made of the scores says so."""
    verdicts: pd.DataFrame | None = None
    """What pairwise evaluators said of each pair, in both orders (``metaeval.evaluators.verdicts``)."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of ``frame`` that name a unit."""
        return key_columns(self.frame)

    @property
    def evaluators(self) -> tuple[str, ...]:
        """Names of the evaluators, in the order of their first row."""
        return tuple(map(str, self.frame["evaluator"].unique()))

    @property
    def simulated_evaluators(self) -> frozenset[str]:
        """Evaluators that are no model, or have a part that is none, as their signatures say."""
        return frozenset(self.simulation.evaluators)

    @property
    def simulation(self) -> Simulation:
        """What is simulated: the data, or which evaluators."""
        return Simulation.of(self.simulated, self.signatures)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.frame)

    def __repr__(self) -> str:
        counts = (len(self.evaluators), "evaluator"), (self.frame["aspect"].nunique(), "aspect")
        missing = int((self.frame["status"] != Status.OK).sum()) if "status" in self.frame else 0
        numbers = [*(counted(*count) for count in counts), counted(len(self), "score")]
        return f"<ScoreTable: {', '.join(numbers)}{f', {missing:,} of them missing' if missing else ''}>"

    def _repr_html_(self) -> str:
        """Show a notebook the first scores."""
        facts = {"evaluators": f"{len(self.evaluators):,}", "rows": f"{len(self):,}"}
        return html_heading("Scores", facts, simulated=self.simulation) + html_table(self.frame)


DataOfKind: TypeAlias = Any
"""The `DataSet` of the kind of study that an evaluator belongs to, with what only that kind has."""


class Evaluator(Protocol):
    """Anything that gives scores to units."""

    @property
    def kind(self) -> Kind:
        """The block of a leaderboard it stands in; most have it as a class variable."""

    @property
    def spec(self) -> EvaluatorSpec:
        """The value that prints as text and builds this evaluator again."""

    def signature(self, data: DataOfKind) -> Mapping[str, Any]:
        """Return what a score of this evaluator depends on, as plain JSON values."""

    def score(self, data: DataOfKind, aspects: Sequence[str]) -> ScoreTable:
        """Return a score, or the reason that there is none, for every unit and aspect."""
