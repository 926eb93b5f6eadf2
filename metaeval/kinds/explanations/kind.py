"""The kind of study whose units are explanations of recommendations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from metaeval.base.keys import author_key
from metaeval.base.records import FIRST, SECOND, Kind, Scale
from metaeval.data.labels import WINNERS
from metaeval.data.tables.maps import KEYS
from metaeval.engine.correlation import COLUMN
from metaeval.engine.drilldown import Rated, UnitColumn, UnitText, UnitView
from metaeval.engine.order.ranking import PeopleLine
from metaeval.evaluators.grid import rows_of
from metaeval.kinds.correlated import CorrelatedKind
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.data.loading import load, load_beside, of_explanations
from metaeval.kinds.explanations.study import ExplanationStudy
from metaeval.kinds.explanations.text.texts import reference_columns
from metaeval.kinds.kind import StudyKind
from metaeval.kinds.known_items import fields_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from metaeval.engine.board import Board
    from metaeval.engine.figure import Figure
    from metaeval.engine.files import Parquet
    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.kind import Scored


_TITLES = dict(zip(KEYS, ("user", "item", "generator"), strict=True)) | {"item_title": "title"}


class ExplanationKind(StudyKind):
    """A kind whose units are explanations; a subclass says what is measured."""

    name = "explanations"
    data_kind = name
    evaluators = {  # noqa: RUF012 - as a reader would write it
        "BLEU": "metaeval.kinds.explanations.text.overlap:BLEU",
        "ChrF": "metaeval.kinds.explanations.text.overlap:ChrF",
        "HF": "metaeval.kinds.explanations.text.hf:HF",
        "Judge": "metaeval.kinds.explanations.judge.judge:Judge",
        "Length": "metaeval.kinds.explanations.text.texts:Length",
        "Pairwise": "metaeval.kinds.explanations.judge.pairwise:Pairwise",
        "ROUGE": "metaeval.kinds.explanations.text.overlap:ROUGE",
    }

    def load(self, place: str | Path) -> ExplanationSet:
        """Load a folder, or a data set of the hub."""
        return load(place)

    def of_units(self, frame: pd.DataFrame, aspects: Sequence[str] | None) -> ExplanationSet:
        """Return explanations without ratings."""
        return of_explanations(frame, aspects)

    def of_table(self, table: Any, columns: Any) -> ExplanationSet:  # noqa: ANN401 - as of `metaeval.load`
        """Return a table of ratings as a data set."""
        from metaeval.kinds.explanations.data.imports.table import from_table

        return from_table(table, columns)

    def load_beside(self, place: Path, scores: Parquet) -> ExplanationSet:
        """Load a folder without its recorded scores."""
        return load_beside(place, scores.first_rows(("evaluator", "aspect")))

    def unit_view(self, data: ExplanationSet, aspects: Sequence[str]) -> UnitView:
        """Show the text, its references, and whom and what it was for."""
        frame = data.explanations
        named = [c for c in ("item_title", *data.keys) if c in frame.columns]
        profiles, of = fields_text(data.users, data.cluster), frame[data.cluster].astype(str)
        return UnitView(
            tuple(UnitColumn(c, _TITLES.get(c, c), _texts(frame, c), c in data.keys) for c in named),
            (
                UnitText("explanation", _texts(frame, "explanation")),
                *(
                    UnitText("reference" if c == "reference" else f"reference: {c}", _texts(frame, c))
                    for c in reference_columns(data)
                ),
                *([UnitText("profile of the user", [profiles.get(user) for user in of])] if profiles else []),
            ),
            tuple(Rated(a, data.aspects.get(a, "")) for a in aspects),
            "aspect",
            "item_title" if "item_title" in named else "",
            author_key(data.nouns),
        )

    def of_pairs(self, data: ExplanationSet) -> tuple[StudyKind, ExplanationSet]:
        """Return the showings of two texts for the same item and user."""
        kind = ShownPairs()
        return kind, kind.paired(data)

    def about_units(self, data: ExplanationSet) -> Sequence[pd.DataFrame]:
        """Return what is known of the explanations, and of the users."""
        explanations = data.explanations.drop(columns="explanation", errors="ignore")
        return [explanations] if data.users is None else [explanations, data.users]


class ShownPairs(ExplanationKind):
    """The showings of every two explanations of the same item for the same user, in both orders.

    They are units to label. Studies are of the explanations themselves.
    """

    labels = WINNERS

    def paired(self, data: ExplanationSet) -> ExplanationSet:
        """Return the showings of the explanations of a data set.

        `DataError` is raised if there are no two of the same item for the same user.
        """
        from metaeval.kinds.explanations.judge.pairs import all_matches, compared_groups

        matches = all_matches(compared_groups(data, "a pair", "leave --pairs out"))
        one, two = (
            data.explanations.take([match[side] for match in matches]).reset_index(drop=True)
            for side in (1, 2)
        )
        *shared, author = data.keys
        told = [c for c in ("item_title", *reference_columns(data)) if c in one]
        # What only one of the two was written with would tell them apart.
        table = one[shared].join(one[told].where(one[told] == two[told]))
        table = table.assign(**{FIRST: one[author], SECOND: two[author]})
        both = [
            table.assign(order=order, explanation=left["explanation"], other=right["explanation"])
            for order, left, right in ((FIRST, one, two), (SECOND, two, one))
        ]
        return replace(
            data,
            explanations=pd.concat(both, ignore_index=True),
            aspects={aspect: _asked(statement) for aspect, statement in data.aspects.items()},
            scale=Scale(-1, 1),
            named_by=(*shared, FIRST, SECOND, "order"),
        )

    def unit_view(self, data: ExplanationSet, aspects: Sequence[str]) -> UnitView:
        """Show both texts, with what they have in common."""
        view = super().unit_view(data, aspects)
        text, *references = view.texts
        other = UnitText("shown second", data.explanations["other"].tolist(), beside=True)
        columns = tuple(c for c in view.columns if c.name not in {FIRST, SECOND, "order"})
        return replace(view, columns=columns, texts=(replace(text, title="shown first"), other, *references))


class Explanations(ExplanationKind, CorrelatedKind):
    """Texts that say why something was recommended, rated by the people it was recommended to."""

    study = ExplanationStudy

    def generators(self, scored: Scored[ExplanationStudy]) -> Sequence[Sheet]:
        """Rank the generators by the ratings and by the evaluators; baselines count only if alone."""
        from metaeval.analysis.generator_ranking import rank_generators
        from metaeval.analysis.generator_sheets import ranking_sheets
        from metaeval.analysis.user_orders import order_sheets

        scores = scored.scores
        names = [n for n in scores.evaluators if scores.kinds.get(n) != Kind.BASELINE] or scores.evaluators
        data = scored.matched.chosen(levels=["dataset"], evaluators=names)
        if len(data.systems) < 2:
            return []
        found = rank_generators(data, bootstrap=scored.study.bootstrap)
        truth, scale = scored.study.truth, scored.scale
        sheets = ranking_sheets(found, data, truth=truth, scale=scale, simulated=scores.simulation)
        ratings, by_evaluator, agreement = sheets
        orders = order_sheets(data, simulated=scores.simulation.among(()))
        return [ratings, *orders, agreement, by_evaluator]  # the longest last

    def figures(
        self,
        scored: Scored[ExplanationStudy],
        board: Board,
        names: Sequence[str] = (),
        first: Mapping[str, str] | None = None,
    ) -> list[Figure]:
        """Return the figures of the catalogue that have data."""
        from metaeval.kinds.explanations.figures.catalogue import figures

        return figures(scored, board, names, first or {})

    def people(self, scored: Scored[ExplanationStudy], drawn: Sequence[Figure]) -> list[PeopleLine]:
        """Return the line that the figure of the ranking has, and that of people with themselves."""
        from metaeval.kinds.explanations.figures.ranking import with_interval, with_themselves

        lines = [
            PeopleLine(str(line["human_who"]), {k: str(line[k]) for k in COLUMN}, line["human"])
            for figure in drawn
            if figure.sheet.name == "ranking"
            for line in figure.sheet.frame.dropna(subset=["human"])
            .drop_duplicates(list(COLUMN))
            .to_dict("records")
        ]
        lines = [
            with_interval(line, scored) if line.at == scored.study.ordered_by else line for line in lines
        ]
        return [*lines, *with_themselves(scored)]


def _asked(statement: str) -> str:
    return f"{statement}\nOf which is it more true?" if statement.strip() else "Which is better?"


def _texts(frame: pd.DataFrame, column: str) -> list[str | None]:
    if column not in frame.columns:
        return [None] * len(frame)
    return [value if isinstance(value, str) else None for (value,) in rows_of(frame, [column])]


EXPLANATIONS = Explanations()
