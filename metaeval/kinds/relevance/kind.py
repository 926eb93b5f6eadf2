"""The kind of study whose units are items that may interest a user."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from metaeval.base.errors import SpecError, unknown
from metaeval.base.spec import EvaluatorSpec
from metaeval.kinds.ablations import variants_of
from metaeval.kinds.correlated import CorrelatedKind
from metaeval.kinds.files.labels import LabelTable
from metaeval.kinds.relevance import reading
from metaeval.kinds.relevance.data.loading import load
from metaeval.kinds.relevance.files import FILES, TEXTS
from metaeval.kinds.relevance.study import RelevanceStudy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from metaeval.engine.board import Board
    from metaeval.engine.drilldown import UnitView
    from metaeval.engine.figures.figure import Figure
    from metaeval.engine.results import Results
    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.relevance.data.collection import Collection
    from metaeval.kinds.scored import Scored


class RelevanceKind(CorrelatedKind):
    """Labels of how interested users are in items, and systems that recommend items to them."""

    name = "relevance"
    study = RelevanceStudy
    evaluators = {  # noqa: RUF012 - as a reader would write it
        "ItemSimilarity": "metaeval.kinds.relevance.baselines:ItemSimilarity",
        "Labels": "metaeval.kinds.relevance.baselines:Labels",
        "Popularity": "metaeval.kinds.relevance.baselines:Popularity",
        "Relevance": "metaeval.kinds.relevance.judge.judge:Relevance",
    }
    files = FILES
    texts = TEXTS
    labels = LabelTable("labels", label="label", aspect="")

    def load(self, place: str | Path) -> Collection:
        """Load the folder of a collection."""
        return load(place)

    def resolve(self, study: RelevanceStudy, data: Collection) -> RelevanceStudy:
        """Fill in levels and order, the raters behind ``Labels('*')``, and the variants of ablations."""
        evaluators = {**dict(_labels(study, data)), **dict(variants_of(study, study.ablations))}
        levels = study.levels or ["dataset", "user"]
        filled: RelevanceStudy = super().resolve(
            study.model_copy(update={"levels": levels, "evaluators": evaluators}), data
        )
        return filled

    def results(self, scored: Scored[RelevanceStudy]) -> Results:
        """Correlate labels with the truth's, count pairs, and order systems by both."""
        from metaeval.kinds.relevance.results import own_tables

        files = own_tables(scored)
        scored.own.update({name: table for name, table in files.items() if not isinstance(table, str)})
        return replace(super().results(scored), files=files)

    def details(self, scored: Scored[RelevanceStudy]) -> Sequence[Sheet]:
        """Return pairs, ablations, labels, and systems, before what every kind has."""
        from metaeval.kinds.relevance.results import sheets

        return [*sheets(scored), *super().details(scored)]

    def figures(
        self,
        scored: Scored[RelevanceStudy],
        board: Board,
        names: Sequence[str] = (),
        first: Mapping[str, str] | None = None,
    ) -> Sequence[Figure]:
        """Draw pairs and systems."""
        from metaeval.kinds.relevance.results import figures

        return figures(scored, board, names, first)

    def unit_view(self, data: Collection, aspects: Sequence[str]) -> UnitView:
        """Show the user, the item with what is known of it, and the history."""
        return reading.unit_view(data, aspects)

    def label_names(self, data: Collection) -> Mapping[float, str]:
        """Return the names that the data set gives."""
        return {float(label): name for label, name in data.labels.items()}


RELEVANCE = RelevanceKind()


def _labels(study: RelevanceStudy, data: Collection) -> Iterator[tuple[str, str]]:
    """Yield name and spec of every evaluator; ``Labels`` with a star stands for all raters that it fits.

    Raters that the study names elsewhere, as evaluator or truth, are left out.
    """
    raters = [str(name) for name in data.ratings["rater"].unique()]
    named = {study.truth, *study.specs.values()}
    for name, text in study.specs.items():
        pattern = _pattern(text)
        if pattern is None:
            yield name, text
            continue
        fitting = {r: str(EvaluatorSpec("Labels", (r,))) for r in raters if fnmatchcase(r, pattern)}
        found = {r: spec for r, spec in fitting.items() if spec not in named}
        if not found:
            raise study.error(unknown("no further rater fits", pattern, raters), "evaluators", name)
        yield from found.items()


def _pattern(text: str) -> str | None:
    """Return the pattern of ``Labels('*')``; None for every other spec."""
    try:
        spec = EvaluatorSpec.parse(text)
    except SpecError:  # one that uses short names, or a wrong one, which is said later
        return None
    match spec:
        case EvaluatorSpec(name="Labels", args=(str(pattern),)) if "*" in pattern:
            return pattern
    return None
