"""What was scored → the figures of a study of explanations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from metaeval.base.errors import one_of
from metaeval.base.records import Kind
from metaeval.base.simulation import Simulation
from metaeval.engine.board import Board
from metaeval.engine.figures.figure import Figure, first_choices
from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.explanations.figures.ensembles import ensembles
from metaeval.kinds.explanations.figures.judges import cost, prompting
from metaeval.kinds.explanations.figures.likeness import likeness
from metaeval.kinds.explanations.figures.ranking import ranking
from metaeval.kinds.explanations.figures.scores import distributions, user_bias
from metaeval.kinds.explanations.study import ExplanationStudy
from metaeval.kinds.scored import Scored


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """What the figures of a run are made of; evaluators go by the names that are printed."""

    scored: Scored[ExplanationStudy]
    labels: Mapping[str, str]
    """Name of each evaluator → the name that is printed: it says so if the evaluator is simulated."""
    scores: pd.DataFrame
    correlations: pd.DataFrame
    kinds: Mapping[str, Kind]
    signatures: Mapping[str, Mapping[str, Any]]
    intervals: str
    """A sentence on the intervals; empty if the run made none."""
    first: Mapping[str, str]
    """Aspect, level and coefficient to show first."""

    def figure(  # noqa: PLR0917 - those of a sheet, and a chart
        self,
        name: str,
        title: str,
        frame: pd.DataFrame,
        columns: Iterable[Column],
        notes: Iterable[str],
        chart: alt.TopLevelMixin,
        choices: Iterable[str] = (),
        *,
        simulated: Simulation | None = None,
        **size: int,
    ) -> Figure:
        """Return a figure of a frame; empty notes are left out, and all evaluators are in it by default."""
        among = self.scored.scores.simulation if simulated is None else simulated
        sheet = Sheet(name, title, frame, tuple(columns), tuple(filter(None, notes)), among)
        return Figure(sheet, chart, first_choices(frame, self.first, choices), **size)


CATALOGUE: dict[str, Callable[[Material], Figure | None]] = {
    "ranking": ranking,
    "distributions": distributions,
    "likeness": likeness,
    "prompting": prompting,
    "ensembles": ensembles,
    "cost": cost,
    "user_bias": user_bias,
}
"""Name of a figure → what makes it, if the data have something for it."""


def figures(
    scored: Scored[ExplanationStudy], board: Board, names: Sequence[str], first: Mapping[str, str]
) -> list[Figure]:
    """Return the figures, as `StudyKind.figures`; one of very many rows has the ``first`` alone."""
    for name in names:
        one_of(name, CATALOGUE, "there is no figure", "there are")
    scores = scored.scores
    labels = {n: scores.simulation.label(n) for n in scores.evaluators}
    of_generators = board.second.intervals if board.second else ""
    intervals = f"{board.intervals} {of_generators}".strip() if board.intervals else ""
    material = Material(
        scored,
        labels,
        scores.frame.assign(evaluator=scores.frame["evaluator"].astype(object).map(labels)),
        board.frame.assign(evaluator=board.frame["evaluator"].astype(object).map(labels)),
        {labels[n]: kind for n, kind in scores.kinds.items() if n in labels},
        {labels[n]: signature for n, signature in scores.signatures.items() if n in labels},
        intervals.replace("Brackets hold", "Lines are"),
        {**scored.study.by, **first},
    )
    made = (make(material) for name, make in CATALOGUE.items() if not names or name in names)
    return [figure for figure in made if figure]
