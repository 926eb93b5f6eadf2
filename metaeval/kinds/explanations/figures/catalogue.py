"""What was scored → the figures of a study of explanations: each sheet worked out, then drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from metaeval.analysis.agreement.distributions import distributions as distributions_sheet
from metaeval.analysis.agreement.forest import forest, human_reference
from metaeval.analysis.agreement.likeness import likeness as likeness_sheet
from metaeval.analysis.agreement.user_bias import user_bias as user_bias_sheet
from metaeval.analysis.ensembles.spread import ensemble_spread, judges_to_combine
from metaeval.base.errors import MetaevalError, nearest
from metaeval.base.records import AVERAGE, Kind
from metaeval.judging.cost import costs_of
from metaeval.kinds.details import made_of
from metaeval.kinds.explanations.cost_accuracy import cost_accuracy
from metaeval.kinds.explanations.figures.cost import cost
from metaeval.kinds.explanations.figures.distributions import distributions
from metaeval.kinds.explanations.figures.ensembles import ensembles
from metaeval.kinds.explanations.figures.likeness import likeness
from metaeval.kinds.explanations.figures.prompting import prompting
from metaeval.kinds.explanations.figures.ranking import ranking
from metaeval.kinds.explanations.figures.user_bias import user_bias
from metaeval.kinds.explanations.prompting import prompting as prompting_sheet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from metaeval.base.simulation import Simulation
    from metaeval.engine.board import Board
    from metaeval.engine.figures.figure import Figure
    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.explanations.study import ExplanationStudy
    from metaeval.kinds.scored import Scored

    Made: TypeAlias = Callable[["_Material"], Sheet | None]
    Drawer: TypeAlias = Callable[[Sheet, Mapping[str, str]], Figure]


@dataclass(frozen=True, slots=True, eq=False)
class _Material:
    """What the figures of a run are made of; evaluators go by the names that are printed."""

    scored: Scored[ExplanationStudy]
    labels: Mapping[str, str]
    """Name of each evaluator → the name that is printed: it says so if the evaluator is simulated."""
    frame: pd.DataFrame
    """The scores."""
    correlations: pd.DataFrame
    kinds: Mapping[str, Kind]
    signatures: Mapping[str, Mapping[str, Any]]
    intervals: str
    """A sentence on the intervals; empty if the run made none."""
    first: Mapping[str, str]
    """Aspect, level and coefficient to show first."""

    @property
    def simulated(self) -> Simulation:
        return self.scored.scores.simulation

    @property
    def truth_name(self) -> str:
        return f"truth: {self.scored.study.truth}"


def figures(
    scored: Scored[ExplanationStudy],
    board: Board,
    names: Sequence[str] = (),
    first: Mapping[str, str] | None = None,
) -> list[Figure]:
    """Return the figures of a study, without those that its data have nothing for.

    Parameters
    ----------
    board
        What was found.
    names
        Those of `CATALOGUE` to make; all, if empty.
    first
        Which ``aspect``, ``level`` and ``coefficient`` to show first, where a figure has them; what is left
        out is that of the study's order. A figure of very many rows has these alone.

    Raises
    ------
    MetaevalError
        If there is no figure of a name.
    """
    for name in names:
        if name not in CATALOGUE:
            known = list(CATALOGUE)
            raise MetaevalError(f"there is no figure {name!r}{nearest(name, known)} ({', '.join(known)})")
    scores = scored.scores
    labels = {n: scores.simulation.label(n) for n in scores.evaluators}
    of_generators = board.second.intervals if board.second else ""
    intervals = f"{board.intervals} {of_generators}".strip() if board.intervals else ""
    of = _Material(
        scored,
        labels,
        scores.frame.assign(evaluator=scores.frame["evaluator"].astype(object).map(labels)),
        board.frame.assign(evaluator=board.frame["evaluator"].astype(object).map(labels)),
        {labels[n]: kind for n, kind in scores.kinds.items() if n in labels},
        {labels[n]: signature for n, signature in scores.signatures.items() if n in labels},
        intervals.replace("Brackets hold", "Lines are"),
        {**scored.study.by, **(first or {})},
    )
    made = [(made(of), drawer) for name, (made, drawer) in CATALOGUE.items() if not names or name in names]
    return [drawer(sheet, of.first) for sheet, drawer in made if sheet is not None]


def _ranking(of: _Material) -> Sheet:
    human = human_reference(
        of.correlations,
        of.kinds,
        of.scored.truth,
        of.scored.raters,
        of.scored.matched.policy,
        truth_raters=made_of(of.scored.study.truth).annotators,
    )
    return forest(of.correlations, of.kinds, human, intervals=of.intervals, simulated=of.simulated)


def _distributions(of: _Material) -> Sheet | None:
    return distributions_sheet(
        of.frame,
        of.scored.truth,
        of.scored.scale,
        kinds=of.kinds,
        truth_name=of.truth_name,
        simulated=of.simulated,
    )


def _likeness(of: _Material) -> Sheet | None:
    aspects = [*(of.scored.study.aspects or ())]
    known = [*aspects, AVERAGE] if len(aspects) > 1 else aspects
    aspect = of.first["aspect"] if of.first["aspect"] in known else known[0]
    aligned = of.scored.matched.aligned
    return likeness_sheet(
        replace(aligned, evaluators=[of.labels[name] for name in aligned.evaluators]),
        aspects=_leading(aspect, known),
        coefficients=_leading(of.first["coefficient"], of.scored.study.coefficients),
        truth_name=of.truth_name,
        simulated=of.simulated,
    )


def _leading(first: str, values: Sequence[str]) -> list[str]:
    return [first, *(v for v in values if v != first)]


def _prompting(of: _Material) -> Sheet | None:
    return prompting_sheet(of.correlations, of.signatures, intervals=of.intervals, simulated=of.simulated)


def _ensembles(of: _Material) -> Sheet | None:
    scores = of.scored.scores
    judges = [name for name in of.labels if scores.kinds.get(name) == Kind.JUDGE]
    if len(judges) < 2:
        return None
    combined = judges_to_combine(judges, scores.signatures)
    data = of.scored.matched.chosen(coefficients=["pearson"], evaluators=combined)
    return ensemble_spread(
        replace(data, evaluators=[of.labels[name] for name in data.evaluators]),
        n_judges=len(judges),
        simulated=of.simulated.among(combined),
    )


def _cost(of: _Material) -> Sheet | None:
    costs = costs_of(of.scored.scores)
    return cost_accuracy(
        of.correlations,
        costs.assign(evaluator=costs["evaluator"].astype(object).map(of.labels)),
        of.signatures,
        intervals=of.intervals,
        simulated=of.simulated,
    )


def _user_bias(of: _Material) -> Sheet | None:
    scored = of.scored
    return user_bias_sheet(of.frame, scored.truth, scored.scale, kinds=of.kinds, simulated=of.simulated)


CATALOGUE: dict[str, tuple[Made, Drawer]] = {
    "ranking": (_ranking, ranking),
    "distributions": (_distributions, distributions),
    "likeness": (_likeness, likeness),
    "prompting": (_prompting, prompting),
    "ensembles": (_ensembles, ensembles),
    "cost": (_cost, cost),
    "user_bias": (_user_bias, user_bias),
}
"""Name of a figure → what works its sheet out, and what draws that, given what to show first."""
