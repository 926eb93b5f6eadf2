"""What was scored → the figures of a study of explanations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from metaeval.base.errors import one_of
from metaeval.base.simulation import MARK
from metaeval.base.spec import short_names
from metaeval.engine.board import Board
from metaeval.engine.figure import Figure
from metaeval.kinds.explanations.figures.ensembles import ensembles
from metaeval.kinds.explanations.figures.judges import cost, prompting
from metaeval.kinds.explanations.figures.likeness import likeness
from metaeval.kinds.explanations.figures.ranking import ranking
from metaeval.kinds.explanations.figures.scores import Material, distributions, user_bias
from metaeval.kinds.explanations.study import ExplanationStudy
from metaeval.kinds.kind import Scored

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
    short = short_names(scored.study.specs)
    labels = {n: f"{short[n]}{MARK if n in scores.simulation.evaluators else ''}" for n in scores.evaluators}
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
        {**scored.study.ordered_by, **first},
    )
    made = (make(material) for name, make in CATALOGUE.items() if not names or name in names)
    return [figure for figure in made if figure]
