"""Regret and accuracy of verdicts on duels, by task: what the board of a study of slates holds.

A verdict's regret is the utility of the better slate less that of the preferred one; a tie counts as either
in half of the cases. With the gap g, the utility of the slate that is shown first less that of the other one,
and the verdict v (1, -1 or 0 for a tie), that is (|g| - g v) / 2. The regret of a judge is the mean over its
duels in both orders, by user, then over users: equation 2 of Bonin et al. (2025) without pairs of a slate and
itself, which add nothing. Verdicts at random have the expected regret |g| / 2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import AfterValidator, Field

from metaeval.analysis.verdict_coherence import axioms_of
from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.base.spec import EvaluatorSpec
from metaeval.base.validation import Line, Options
from metaeval.engine.board import Cell
from metaeval.engine.measures import Measure, MeasuredCells, MeasuredUnits
from metaeval.evaluators.chance import Preference
from metaeval.evaluators.grid import FloatArray
from metaeval.kinds.kind import Scored
from metaeval.kinds.known_items import other_users
from metaeval.kinds.slates.data.slate_set import ITEM, SLATE, USER, SlateSet
from metaeval.kinds.study import Study, distinct
from metaeval.kinds.table import KindTable
from metaeval.stats.resampling.cluster_sums import ratio

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from metaeval.analysis.verdict_axioms import JudgeAxioms
    from metaeval.engine.alignment.aligned import Aligned, Bools
    from metaeval.stats.coefficients.tables import Floats


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
    def ordered_by(self) -> Cell:
        """The cell that orders the leaderboard, of a study that is resolved."""
        return {"task": str(self.order_by.task), "measure": self.order_by.measure}

    @property
    def facts(self) -> dict[str, str]:
        """The tasks."""
        return {"tasks": ", ".join(self.tasks or ())}


def regrets(verdicts: Floats, gap: Floats) -> Floats:
    """Return the regret of each verdict.

    Parameters
    ----------
    verdicts
        Above 0 for the slate that is shown first, below 0 for the other one, 0 for a tie.
    gap
        The utility of the slate that is shown first less that of the other one.
    """
    return (np.abs(gap) - gap * np.sign(verdicts)) / 2


def _right(verdicts: Floats, gap: Floats) -> Floats:
    """Return 1 for a verdict for the better slate, one half for a tie, 0 else."""
    return (1 + np.sign(verdicts) * np.sign(gap)) / 2


def _ratio(sums: Floats) -> Floats:
    return ratio(sums[0], sums[1])


REGRET = Measure(
    "regret",
    lambda verdicts, gap: [regrets(verdicts, gap), np.ones_like(gap)],
    _ratio,
    (0.0, np.inf),
    alike=True,
    lower_is_better=True,
)
ACCURACY = Measure(
    "accuracy",
    lambda verdicts, gap: [_right(verdicts, gap) * (gap != 0), (gap != 0).astype(float)],
    _ratio,
    (0.0, 1.0),
    alike=True,
    chance=0.5,
)
WEIGHTED = Measure(
    "weighted accuracy",
    lambda verdicts, gap: [_right(verdicts, gap) * np.abs(gap), np.abs(gap)],
    _ratio,
    (0.0, 1.0),
    chance=0.5,
)
MEASURES = (REGRET, ACCURACY, WEIGHTED)

UNITS = KindTable("units.parquet", "", (), lambda scored: scored.units(scored.data.table))
"""What is known of each unit: key columns, task, slates, utilities, repeat and similarity."""


class DuelCells(MeasuredCells):
    """Measures of verdicts on duels; a cell is a task and a measure.

    Pairs of a slate and itself, and duels that are asked again, are no part of any measure.
    """

    by = "task"
    form = "decimal"
    swapped = "verdicts"
    undefined = "it has no duel of the task"

    def __init__(self, scored: Scored[SlatesStudy]) -> None:
        super().__init__(scored.matched, MEASURES, intervals=scored.study.bootstrap)
        self.table = scored.units(scored.table(UNITS))

    @cached_property
    def parts(self) -> Mapping[str, tuple[int, Bools | slice]]:
        """Each task → its duels, in both orders."""
        tasks, duels = self.table["task"].astype(str), measured(self.table)
        return {t: (0, (duels & (tasks == t)).to_numpy()) for t in sorted(tasks[duels].unique())}


def measured(units: pd.DataFrame) -> pd.Series[bool]:
    """Say which units are part of measures: neither a slate against itself nor a duel that is asked again."""
    return (units["repeat"] == 0) & (units["first"].astype(object) != units["second"].astype(object))


def regret_by_user(units: MeasuredUnits) -> Floats:
    """Return the mean regret of each evaluator and user, shape (E, users)."""
    found: Floats = units.sums(REGRET)[0]
    return found


def chance_by_user(units: MeasuredUnits) -> Floats:
    """Return the expected regret of verdicts at random by user, shape (users,)."""
    found: Floats = regret_by_user(replace(units, scores=np.zeros((1, len(units.truth)))))[0]
    return found


_JUDGE, _RATER = "Slates", "SlateRating"
_WINNERS = np.array([SECOND, TIE, FIRST], dtype=object)


class SlatesScored(Scored["SlatesStudy"]):
    """What a study of slates scored."""

    @cached_property
    def judges(self) -> list[JudgeAxioms]:
        """How far each evaluator keeps to the axioms of preference, by task."""
        return axioms_of(verdict_rows(self.matched.aligned, self.cells.table))

    @cached_property
    def rated(self) -> list[RatedVerdicts]:
        """How the verdicts of judges agree with ratings of single slates."""
        return [*rated_verdicts(self.matched.aligned, self.cells.table, raters_of(self))]


def verdict_rows(data: Aligned, units: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts of all evaluators as `metaeval.analysis.verdict_coherence` takes them."""
    times, names = len(data.evaluators), ("task", "repeat", FIRST, SECOND)
    verdicts = np.sign(data.scores[:, 0])
    winner = _WINNERS[np.nan_to_num(verdicts).astype(int) + 1]
    winner[np.isnan(verdicts)] = ""
    users = np.tile(units["user_id"].to_numpy(dtype=object), times)
    return pd.DataFrame(
        {
            "evaluator": np.repeat(np.array(data.evaluators, dtype=object), len(units)),
            "cluster": users,
            "group": users,
            **{name: np.tile(units[name].to_numpy(dtype=object), times) for name in names},
            "winner": winner.ravel(),
        }
    )


def raters_of(scored: Scored[SlatesStudy]) -> dict[str, str]:
    """Return judge → the evaluator that rated single slates with the same model, or that the study names."""
    study, signatures = scored.study, scored.scores.signatures
    specs = {name: EvaluatorSpec.parse(spec).name for name, spec in study.specs.items()}

    def models(of: str) -> dict[str, tuple[Any, Any]]:
        named = [name for name, spec in specs.items() if spec == of and name in signatures]
        return {name: (signatures[name].get("model"), signatures[name].get("address")) for name in named}

    rater = {model: name for name, model in reversed(models(_RATER).items())}  # the first of a model
    same = {judge: rater[model] for judge, model in models(_JUDGE).items() if model in rater}
    return {**same, **study.ratings}


class RatedVerdicts(NamedTuple):
    """How often a judge's verdicts and ratings of slates name the same slate, of how often both name one."""

    judge: str
    task: str
    users: Any
    """Names in order, shape (users,)."""
    kept: Floats
    of: Floats
    n_missing: int


def rated_verdicts(data: Aligned, units: pd.DataFrame, raters: Mapping[str, str]) -> Iterator[RatedVerdicts]:
    """Yield by judge and task how verdicts agree with ratings, by user, where there is anything to compare.

    Parameters
    ----------
    raters
        Judge → the evaluator with its ratings; see `raters_of`.
    """
    tasks = units["task"].to_numpy(dtype=object)
    for judge, rater in raters.items():
        if judge not in data.evaluators or rater not in data.evaluators:
            continue
        verdict, rating = (np.sign(data.scores[data.evaluators.index(name), 0]) for name in (judge, rater))
        both = np.nan_to_num(verdict * rating)
        for task in pd.unique(tasks):
            use = tasks == task
            there = use & (both != 0)
            users, of_unit = np.unique(units.loc[there, "user_id"].to_numpy(dtype=str), return_inverse=True)
            kept, of = (
                np.bincount(of_unit, values, len(users)).astype(float)
                for values in (both[there].clip(0), np.abs(both[there]))
            )
            if len(users):
                yield RatedVerdicts(
                    judge, str(task), users, kept, of, int((use & np.isnan(verdict + rating)).sum())
                )


@dataclass(frozen=True, repr=False)
class PopularSlate(Preference):
    """The slate with items that more other users chose before, on average; in specs, ``Popularity()``."""

    called: ClassVar[str] = "Popularity"
    needs: ClassVar[str] = "histories"

    def worth(self, data: SlateSet, side: str) -> FloatArray:
        """Return the mean number of other users per item."""
        listed = data.slates.assign(users=other_users(self, data, data.slates))
        return _of_slates(data, side, listed, "users", "mean")


@dataclass(frozen=True, repr=False)
class Longer(Preference):
    """The slate with more items."""

    def worth(self, data: SlateSet, side: str) -> FloatArray:
        """Return the number of items."""
        return _of_slates(data, side, data.slates, ITEM, "size")


@dataclass(frozen=True, repr=False)
class Oracle(Preference):
    """The slate of the higher utility: no evaluator can have less regret. It is for tests."""

    def worth(self, data: SlateSet, side: str) -> FloatArray:
        """Return the utility."""
        return data.table[f"utility_{side}"].to_numpy(np.float64)


def _of_slates(data: SlateSet, side: str, items: pd.DataFrame, column: str, how: str) -> FloatArray:
    """Return for each unit a statistic of a column over the items of the slate on a side."""
    known = items.groupby([USER, SLATE])[column].agg(how)
    shown = pd.MultiIndex.from_frame(data.table[[USER, side]])
    found: FloatArray = known.reindex(shown).to_numpy(np.float64)
    return found
