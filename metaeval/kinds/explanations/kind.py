"""The kind of study whose units are explanations of recommendations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.records import Kind
from metaeval.engine.correlation_board import COLUMN
from metaeval.engine.out_of_core.recorded import first_rows
from metaeval.engine.results import PeopleLine
from metaeval.kinds.correlated import CorrelatedKind
from metaeval.kinds.explanations import reading
from metaeval.kinds.explanations.data.loading import load, load_beside
from metaeval.kinds.explanations.study import ExplanationStudy
from metaeval.kinds.registry import REGISTRY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from metaeval.engine.board import Board
    from metaeval.engine.drilldown import UnitView
    from metaeval.engine.figures.figure import Figure
    from metaeval.engine.out_of_core.files import Parquet
    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
    from metaeval.kinds.kind import StudyKind
    from metaeval.kinds.scored import Scored


class Explanations(CorrelatedKind):
    """Texts that say why something was recommended, rated by the people it was recommended to."""

    name = "explanations"
    study = ExplanationStudy
    evaluators = REGISTRY

    def load(self, place: str | Path) -> ExplanationSet:
        """Load a folder, or a data set of the hub."""
        return load(place)

    def generators(self, scored: Scored[ExplanationStudy]) -> Sequence[Sheet]:
        """Rank the generators by the ratings and by the evaluators; baselines count only if alone."""
        from metaeval.analysis.generators.ranking import rank_generators
        from metaeval.analysis.generators.sheets import ranking_sheets

        scores = scored.scores
        names = [n for n in scores.evaluators if scores.kinds.get(n) != Kind.BASELINE] or scores.evaluators
        data = scored.matched.chosen(levels=["dataset"], evaluators=names)
        if len(data.systems) < 2:
            return []
        found = rank_generators(data, bootstrap=scored.study.bootstrap)
        truth, scale = scored.study.truth, scored.scale
        sheets = ranking_sheets(found, data, truth=truth, scale=scale, simulated=scores.simulation)
        ratings, by_evaluator, agreement = sheets
        return [ratings, agreement, by_evaluator]  # the longest last

    def load_beside(self, place: Path, scores: Parquet) -> ExplanationSet:
        """Load a folder without its recorded scores."""
        return load_beside(place, first_rows(scores))

    def figures(
        self,
        scored: Scored[ExplanationStudy],
        board: Board,
        names: Sequence[str] = (),
        first: Mapping[str, str] | None = None,
    ) -> list[Figure]:
        """Return the figures of the catalogue that have data."""
        from metaeval.kinds.explanations.figures.catalogue import figures

        return figures(scored, board, names, first)

    def people(self, drawn: Sequence[Figure]) -> list[PeopleLine]:
        """Return the line that the figure of the ranking has."""
        found = []
        for sheet in (figure.sheet for figure in drawn if figure.sheet.name == "ranking"):
            lines = sheet.frame.dropna(subset=["human"]).drop_duplicates(list(COLUMN))
            for line in lines.to_dict("records"):
                at = {k: str(line[k]) for k in COLUMN}
                found.append(PeopleLine(str(line["human_who"]), at, line["human"]))
        return found

    def unit_view(self, data: ExplanationSet, aspects: Sequence[str]) -> UnitView:
        """Show the text, its references, and whom and what it was for."""
        return reading.unit_view(data, aspects)

    def of_pairs(self, data: ExplanationSet) -> tuple[StudyKind, ExplanationSet]:
        """Return the showings of two texts for the same item and user."""
        from metaeval.kinds.explanations.pairwise.showings import ShownPairs

        kind = ShownPairs()
        return kind, kind.paired(data)

    def tables(self, data: ExplanationSet) -> Sequence[pd.DataFrame]:
        """Return what is known of the explanations, and of the users."""
        explanations = data.explanations.drop(columns="explanation", errors="ignore")
        return [explanations] if data.users is None else [explanations, data.users]


EXPLANATIONS = Explanations()
