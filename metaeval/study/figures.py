"""A run → its figures: each sheet worked out from what the run scored, then drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from metaeval.analysis.agreement.distributions import distributions
from metaeval.analysis.agreement.forest import forest, human_reference
from metaeval.analysis.agreement.likeness import likeness
from metaeval.analysis.agreement.user_bias import user_bias
from metaeval.analysis.ensembles.spread import ensemble_spread, judges_to_combine
from metaeval.base.errors import MetaevalError, nearest
from metaeval.base.records import AVERAGE, Kind
from metaeval.engine.sentences import interval_sentence
from metaeval.judging.cost import costs_of
from metaeval.kinds.explanations.cost_accuracy import cost_accuracy
from metaeval.kinds.explanations.prompting import prompting
from metaeval.reports.figures import CATALOGUE, figure_of
from metaeval.study.commands.details import made_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from metaeval.base.records import Scale
    from metaeval.base.simulation import Simulation
    from metaeval.engine.matched import Matched
    from metaeval.engine.sheet import Sheet
    from metaeval.reports.figures import Figure
    from metaeval.runs.finished import OpenRun
    from metaeval.runs.record import Record, StudyFacts


@dataclass(frozen=True, slots=True, eq=False)
class _Material:
    """What the figures of a run are made of; evaluators go by the names that are printed."""

    matched: Matched
    frame: pd.DataFrame
    """The scores."""
    correlations: pd.DataFrame
    raters: pd.DataFrame | None
    record: Record
    kinds: Mapping[str, Kind]
    signatures: Mapping[str, Mapping[str, Any]]
    labels: Mapping[str, str]
    """Name of each evaluator → the name that is printed: it says so if the evaluator is simulated."""
    first: Mapping[str, str]
    """Aspect, level and coefficient to show first."""

    @property
    def simulated(self) -> Simulation:
        return self.matched.scores.simulation

    @property
    def truth(self) -> pd.DataFrame:
        return self.matched.truth

    @property
    def scale(self) -> Scale:
        return self.record.data.scale

    @property
    def truth_name(self) -> str:
        return f"truth: {self.record.truth.spec}"

    @property
    def intervals(self) -> str:
        """A sentence on the intervals; empty if the run made none."""
        sentence = interval_sentence(self.record.policy.get("bootstrap") or {}, self.record.policy["levels"])
        return sentence.replace("Brackets hold", "Lines are")

    def named(self, evaluators: Sequence[str]) -> list[str]:
        """Return the names that are printed of some evaluators."""
        return [self.labels[name] for name in evaluators]


def sheets_of(
    matched: Matched,
    raters: pd.DataFrame | None,
    record: Record,
    correlations: pd.DataFrame,
    *,
    names: Sequence[str] = (),
    first: Mapping[str, str] | None = None,
) -> list[Sheet]:
    """Return the sheets of a run's figures, without those that its data have nothing for.

    Parameters
    ----------
    matched, raters, record
        As in `metaeval.study.commands.details.details_of`.
    correlations
        The frame of the run's `Correlations`.
    names
        Those of `CATALOGUE` to make; all, if empty.
    first
        Which ``aspect``, ``level`` and ``coefficient`` to show first, where a figure has them; what is left
        out is that of the study's order. A figure of very many rows has these alone.
    """
    order = record.study.order_by
    scores = matched.scores
    simulated = scores.simulation
    labels = {n: simulated.label(n) for n in scores.evaluators}
    of = _Material(
        matched,
        scores.frame.assign(evaluator=scores.frame["evaluator"].astype(object).map(labels)),
        correlations.assign(evaluator=correlations["evaluator"].astype(object).map(labels)),
        raters,
        record,
        {labels[n]: kind for n, kind in scores.kinds.items() if n in labels},
        {labels[n]: signature for n, signature in scores.signatures.items() if n in labels},
        labels,
        {**order, **(first or {})},
    )
    sheets = (_SHEETS[name](of) for name in CATALOGUE if not names or name in names)
    return [sheet for sheet in sheets if sheet is not None]


def figures_of_run(
    run: OpenRun, *, names: Sequence[str] = (), first: Mapping[str, str] | None = None
) -> list[Figure]:
    """Return the figures of a finished run; the arguments are those of `sheets_of`.

    Raises
    ------
    MetaevalError
        If a name is not that of a figure, or the run has no such aspect, level or coefficient.
    """
    for name in names:
        if name not in CATALOGUE:
            known = list(CATALOGUE)
            raise MetaevalError(f"there is no figure {name!r}{nearest(name, known)} ({', '.join(known)})")
    for column, value in (first or {}).items():
        have = _known(run.record.study, column)
        if value not in have:
            raise MetaevalError(
                f"the run has no {column} {value!r}{nearest(value, have)} (it has: {', '.join(have)})"
            )
    found = sheets_of(run.matched, run.raters, run.record, run.correlations.frame, names=names, first=first)
    return [figure_of(sheet, {**run.record.study.order_by, **(first or {})}) for sheet in found]


def _known(study: StudyFacts, column: str) -> list[str]:
    if column == "aspect":
        return [*study.aspects, *([AVERAGE] if len(study.aspects) > 1 else [])]
    return study.levels if column == "level" else study.coefficients


def _ranking(of: _Material) -> Sheet:
    truth_raters = made_of(of.record.truth.spec).annotators
    human = human_reference(
        of.correlations, of.kinds, of.truth, of.raters, of.matched.policy, truth_raters=truth_raters
    )
    return forest(of.correlations, of.kinds, human, intervals=of.intervals, simulated=of.simulated)


def _distributions(of: _Material) -> Sheet | None:
    return distributions(
        of.frame,
        of.truth,
        of.scale,
        kinds=of.kinds,
        truth_name=of.truth_name,
        simulated=of.simulated,
    )


def _likeness(of: _Material) -> Sheet | None:
    known = _known(of.record.study, "aspect")
    aspect = of.first["aspect"] if of.first["aspect"] in known else known[0]
    aligned = of.matched.aligned
    return likeness(
        replace(aligned, evaluators=of.named(aligned.evaluators)),
        aspects=_leading(aspect, known),
        coefficients=_leading(of.first["coefficient"], of.record.study.coefficients),
        truth_name=of.truth_name,
        simulated=of.simulated,
    )


def _leading(first: str, values: Sequence[str]) -> list[str]:
    return [first, *(v for v in values if v != first)]


def _prompting(of: _Material) -> Sheet | None:
    return prompting(
        of.correlations,
        of.signatures,
        intervals=of.intervals,
        simulated=of.simulated,
    )


def _ensembles(of: _Material) -> Sheet | None:
    scores = of.matched.scores
    judges = [name for name in of.labels if scores.kinds.get(name) == Kind.JUDGE]
    if len(judges) < 2:
        return None
    combined = judges_to_combine(judges, scores.signatures)
    data = of.matched.chosen(coefficients=["pearson"], evaluators=combined)
    return ensemble_spread(
        replace(data, evaluators=of.named(data.evaluators)),
        n_judges=len(judges),
        simulated=of.simulated.among(combined),
    )


def _cost(of: _Material) -> Sheet | None:
    costs = costs_of(of.matched.scores)
    return cost_accuracy(
        of.correlations,
        costs.assign(evaluator=costs["evaluator"].astype(object).map(of.labels)),
        of.signatures,
        intervals=of.intervals,
        simulated=of.simulated,
    )


def _user_bias(of: _Material) -> Sheet | None:
    return user_bias(of.frame, of.truth, of.scale, kinds=of.kinds, simulated=of.simulated)


_SHEETS: dict[str, Callable[[_Material], Sheet | None]] = {
    "ranking": _ranking,
    "distributions": _distributions,
    "likeness": _likeness,
    "prompting": _prompting,
    "ensembles": _ensembles,
    "cost": _cost,
    "user_bias": _user_bias,
}
