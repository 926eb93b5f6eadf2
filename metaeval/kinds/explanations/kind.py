"""The kind of study whose units are explanations of recommendations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.keys import levels_of, preferred_levels
from metaeval.base.records import AVERAGE, CORRELATIONS
from metaeval.engine.cells import CorrelationCells
from metaeval.engine.comparison import OrderBy
from metaeval.kinds.explanations import reading
from metaeval.kinds.explanations.data.loading import load
from metaeval.kinds.explanations.study import ExplanationStudy
from metaeval.kinds.kind import StudyKind
from metaeval.kinds.registry import REGISTRY
from metaeval.kinds.study import unknown_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from metaeval.engine.board import Board
    from metaeval.engine.drilldown import UnitView
    from metaeval.engine.figures.figure import Figure
    from metaeval.engine.results import Results
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
    from metaeval.kinds.scored import Scored


class Explanations(StudyKind):
    """Texts that say why something was recommended, rated by the people it was recommended to."""

    name = "explanations"
    study = ExplanationStudy
    evaluators = REGISTRY
    board_file = CORRELATIONS

    def load(self, place: str | Path) -> ExplanationSet:
        """Load a folder, or a data set of the hub."""
        return load(place)

    def resolve(self, study: ExplanationStudy, data: ExplanationSet) -> ExplanationStudy:
        """Fill in levels, and the column that orders the leaderboard."""
        possible = list(levels_of(data.keys))
        for at, level in enumerate(study.levels or ()):
            if level not in possible:
                have = ", ".join(possible)
                raise study.error(
                    f"the data set has no users, so no level {level!r}; use some of {have}", "levels", at
                )
        chosen = list(study.levels or preferred_levels(data.keys))
        aspects = list(study.aspects or data.aspects)
        known = {
            "aspect": [*aspects, AVERAGE] if len(aspects) > 1 else aspects,
            "level": chosen,
            "coefficient": list(study.coefficients),
        }
        for key, names in known.items():
            value = getattr(study.order_by, key)
            if value is not None and value not in names:
                raise study.error(unknown_word(key, value, names), "order_by", key)
        order = OrderBy(
            aspect=study.order_by.aspect or known["aspect"][-1],
            level=study.order_by.level or chosen[0],
            coefficient=study.order_by.coefficient or study.coefficients[0],
        )
        return study.model_copy(update={"levels": chosen, "order_by": order})

    def cells(self, scored: Scored[ExplanationStudy]) -> CorrelationCells:
        """Correlate scores with the truth."""
        bootstrap = scored.study.bootstrap
        return CorrelationCells(scored.matched, bootstrap.model_dump() if bootstrap else None)

    def results(self, scored: Scored[ExplanationStudy]) -> Results:
        """Correlate scores with the truth, test, and work out the figures."""
        from metaeval.kinds.explanations.results import results

        return results(scored)

    def figures(
        self,
        scored: Scored[ExplanationStudy],
        board: Board,
        names: Sequence[str] = (),
        first: Mapping[str, str] | None = None,
    ) -> list[Figure]:
        """Return those of the catalogue that there is something for."""
        from metaeval.kinds.explanations.figures.catalogue import figures

        return figures(scored, board, names, first)

    def unit_view(self, data: ExplanationSet, aspects: Sequence[str]) -> UnitView:
        """Show the text, its references, and whom and what it was for."""
        return reading.unit_view(data, aspects)

    def tables(self, data: ExplanationSet) -> Sequence[pd.DataFrame]:
        """Return what is known of the explanations, and of the users."""
        explanations = data.explanations.drop(columns="explanation", errors="ignore")
        return [explanations] if data.users is None else [explanations, data.users]


EXPLANATIONS = Explanations()
