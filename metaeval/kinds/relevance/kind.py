"""The kind of study whose units are items that may interest a user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from metaeval.base.errors import SpecError, unknown
from metaeval.base.progress import progress
from metaeval.base.spec import EvaluatorSpec
from metaeval.data.labels import LabelTable
from metaeval.engine.drilldown import Rated, UnitColumn, UnitText, UnitView
from metaeval.engine.order.ranking import Results
from metaeval.engine.sheet import Sheet
from metaeval.kinds.correlated import CorrelatedKind
from metaeval.kinds.known_items import TITLE, fields_text, histories_text, titles_of
from metaeval.kinds.registry import fitting, variants_of
from metaeval.kinds.relevance.data.collection import ITEM, KEYS, USER, Collection
from metaeval.kinds.relevance.data.collection import RELEVANCE as ASPECT
from metaeval.kinds.relevance.data.loading import load
from metaeval.kinds.relevance.scored import RelevanceScored, RelevanceStudy
from metaeval.kinds.table import KindTable


class RelevanceKind(CorrelatedKind):
    """Labels of how interested users are in items, and systems that recommend items to them."""

    name = "relevance"
    study = RelevanceStudy
    evaluators = {  # noqa: RUF012 - as a reader would write it
        "History": "metaeval.kinds.relevance.baselines:History",
        "ItemSimilarity": "metaeval.kinds.relevance.baselines:ItemSimilarity",
        "Labels": "metaeval.kinds.relevance.baselines:Labels",
        "Popularity": "metaeval.kinds.relevance.baselines:Popularity",
        "Relevance": "metaeval.kinds.relevance.judge:Relevance",
    }
    scored: ClassVar[type[RelevanceScored]] = RelevanceScored
    labels = LabelTable("labels", label="label", aspect="")

    def load(self, place: str | Path) -> Collection:
        """Load the folder of a collection."""
        return load(place)

    def resolve(self, study: RelevanceStudy, data: Collection) -> RelevanceStudy:
        """Fill in levels and order, the raters behind ``Labels('*')``, and the variants of ablations."""
        evaluators = {**dict(_labels(study, data)), **dict(variants_of(study, study.ablations))}
        if next(iter(study.aspects or data.aspects)) != ASPECT:
            raise study.error(f"the first aspect is {ASPECT!r}, which measures systems", "aspects")
        first = study.order_by.model_copy(update={"aspect": study.order_by.aspect or ASPECT})
        study = study.model_copy(update={"order_by": first})
        levels = study.levels or ["dataset", "user"]
        filled: RelevanceStudy = super().resolve(
            study.model_copy(update={"levels": levels, "evaluators": evaluators}), data
        )
        return filled

    @property
    def tables(self) -> Sequence[KindTable]:
        """Systems, pairs of items, ablations, and labels that are rated too high or too low."""
        from metaeval.kinds.relevance import agreement as pairs
        from metaeval.kinds.relevance.systems import (
            agreement,
            completeness,
            decisions,
            gains,
            systems,
            topics,
        )

        return (
            *super().tables,
            *(agreement.AGREEMENT, decisions.SYSTEMS, agreement.VALUES, decisions.DECISIONS),
            *(gains.POPULARITY, gains.SHARED_FAMILIES, completeness.CURVE),
            *(completeness.JUDGED, completeness.UNJUDGED, completeness.LEFT_OUT, decisions.SELECTION),
            *(pairs.AGREEMENT, pairs.ABLATIONS, pairs.OVERRATING, systems.NOTES, topics.TOPICS),
        )

    def values_by_cluster(self, scored: Any) -> pd.DataFrame | None:  # noqa: ANN401 - a `RelevanceScored`
        """Return the ranking measures of systems by topic; None of a study without systems."""
        from metaeval.kinds.relevance.systems.topics import TOPICS

        values = scored.table(TOPICS)
        return values if len(values) else None

    def results(self, scored: Any) -> Results:  # noqa: ANN401 - a `RelevanceScored`
        """Correlate labels with the truth's, and order systems by both; holes are files of their own."""
        from metaeval.kinds.relevance.systems.systems import holes_of_study

        with progress("systems"):
            for table in self.tables:
                if table.kept:
                    scored.table(table)
        return replace(super().results(scored), files=holes_of_study(scored))

    def words(self, scored: Any) -> dict[str, str]:  # noqa: ANN401 - a `RelevanceScored`
        """Explain systems, too, and what orders them."""
        return {
            **super().words(scored),
            "system": "a recommender, known by its ranked list of items for each user",
            "nDCG": "the gain of a list by its labels, the upper ranks counting more; 1 for the best list",
            "Compat": "compatibility: how alike a list and the best lists by the labels are, from the top",
            "τ": "Kendall's τ: the share of pairs that two orders agree on, less the share of others",
        }

    def analyses(self, scored: Any) -> Sequence[Sheet]:  # noqa: ANN401 - a `RelevanceScored`
        """Return a leaderboard of labels, before what every kind has."""
        from metaeval.analysis.agreement.labels import agreements, label_sheet

        options, scores = scored.study.bootstrap, scored.scores
        if options is None:
            return super().analyses(scored)
        data = scored.matched.prepared
        found = agreements(data, scores.frame, scored.truth, scale=scored.scale, bootstrap=options)
        own = scored.own_scales
        found = [one for one in found if one.evaluator not in own and scored.study.truth not in own]
        labels = label_sheet(found, simulated=scores.simulation)
        return [*([labels] if labels else []), *super().analyses(scored)]

    def unit_view(self, data: Collection, aspects: Sequence[str]) -> UnitView:
        """Show the item with what is known of it, and the user's profile and history, shortened."""
        users, items = (data.units[key].tolist() for key in KEYS)
        titles = titles_of(data)
        columns = [UnitColumn(key, data.nouns[key], data.units[key].tolist()) for key in KEYS]
        if titles:
            columns.insert(0, UnitColumn(TITLE, TITLE, [titles.get(item) for item in items], key=False))
        fields, profiles = fields_text(data.items, ITEM), fields_text(data.profiles, USER)
        histories = histories_text(data, data.units)
        return UnitView(
            tuple(columns),
            (
                UnitText("item", [fields.get(item) for item in items]),
                UnitText("profile of the user", [profiles.get(user) for user in users]),
                UnitText("history of the user", [histories.get(user) for user in users]),
            ),
            tuple(Rated(aspect, data.aspects.get(aspect, "")) for aspect in aspects),
            heading=TITLE if titles else "",
        )

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
        try:
            spec = EvaluatorSpec.parse(text)
        except SpecError:  # one that uses short names, or a wrong one, which is reported later
            spec = None
        match spec:
            case EvaluatorSpec(name="Labels", args=(str(pattern),)) if "*" in pattern:
                found = {r: str(EvaluatorSpec("Labels", (r,))) for r in fitting(pattern, raters)}
                others = {r: spec for r, spec in found.items() if spec not in named}
                if not others:
                    message = unknown("no further rater fits", pattern, raters)
                    raise study.error(message, "evaluators", name)
                yield from others.items()
            case _:
                yield name, text
