"""The kind of study whose units are pairs of slates that are shown for a user."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from metaeval.kinds.files.labels import VERDICTS
from metaeval.kinds.kind import StudyKind
from metaeval.kinds.slates import reading
from metaeval.kinds.slates.data.loading import load
from metaeval.kinds.slates.data.slate_set import utilities_of
from metaeval.kinds.slates.files import FILES, TEXTS, UNITS
from metaeval.kinds.slates.regret import DuelCells, measured
from metaeval.kinds.slates.study import SlatesStudy
from metaeval.kinds.slates.verdicts import verdict_rows
from metaeval.kinds.study import unknown_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from metaeval.engine.board import Board
    from metaeval.engine.drilldown import UnitView
    from metaeval.engine.figures.figure import Figure
    from metaeval.engine.results import Results
    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.scored import Scored
    from metaeval.kinds.slates.data.slate_set import SlateSet


class SlatesKind(StudyKind):
    """Duels of slates: which of two lists of items a user prefers."""

    name = "slates"
    study = SlatesStudy
    evaluators = {  # noqa: RUF012 - as a reader would write it
        "FirstPosition": "metaeval.evaluators.showings:FirstPosition",
        "Longer": "metaeval.kinds.slates.baselines:Longer",
        "Oracle": "metaeval.kinds.slates.baselines:Oracle",
        "Popularity": "metaeval.kinds.slates.baselines:PopularSlate",
        "Random": "metaeval.evaluators.showings:Coin",
        "SlateRating": "metaeval.kinds.slates.judge.rating:SlateRating",
        "Slates": "metaeval.kinds.slates.judge.judge:Slates",
    }
    rated = False
    files = FILES
    texts = TEXTS
    labels = VERDICTS

    def load(self, place: str | Path) -> SlateSet:
        """Load the folder of a data set."""
        return load(place)

    def chosen(self, study: SlatesStudy, data: SlateSet) -> SlateSet:
        """Leave out the duels of tasks that the study does not name."""
        have = sorted(data.table["task"].astype(str).unique())
        for at, task in enumerate(study.tasks or ()):
            if task not in have:
                raise study.error(unknown_word("task", task, have), "tasks", at)
        if study.tasks is None:
            return data
        table = data.table[data.table["task"].isin(study.tasks)].reset_index(drop=True)
        scores = data.scores
        if scores is not None:
            scores = scores.merge(table[list(data.keys)].drop_duplicates())
        return replace(data, table=table, ratings=utilities_of(table), scores=scores)

    def resolve(self, study: SlatesStudy, data: SlateSet) -> SlatesStudy:
        """Fill in the tasks and the cell that orders the leaderboard."""
        tasks = study.tasks or sorted(data.table["task"].astype(str).unique())
        duels = sorted(data.table.loc[measured(data.table), "task"].astype(str).unique())
        if not duels:
            raise study.error(
                "the data set has no duel of two different slates that is no repetition; add some", "dataset"
            )
        wanted = study.order_by.task or next((task for task in tasks if task in duels), duels[0])
        if wanted not in duels:
            raise study.error(unknown_word("task", wanted, duels), "order_by", "task")
        for judge, rater in study.ratings.items():
            for name in (judge, rater):
                if name not in study.specs:
                    raise study.error(unknown_word("evaluator", name, list(study.specs)), "ratings", judge)
        for where, options, key in (
            ("bootstrap", study.bootstrap, "cluster"),
            ("tests", study.tests, "swap"),
        ):
            given = getattr(options, key, None)
            if given not in (None, "user"):
                raise study.error(
                    f"{where}.{key}: {given!r} is not allowed; regret is a mean over users, so users are "
                    "resampled and swapped: leave it out",
                    where,
                    key,
                )
        order = study.order_by.model_copy(update={"task": wanted})
        return study.model_copy(update={"tasks": tasks, "order_by": order})

    def cells(self, scored: Scored[SlatesStudy]) -> DuelCells:
        """Measure regret and accuracy."""
        return DuelCells(scored)

    def results(self, scored: Scored[SlatesStudy]) -> Results:
        """Measure regret, accuracy and coherence."""
        from metaeval.kinds.slates.results import results

        return results(scored)

    def details(self, scored: Scored[SlatesStudy]) -> Sequence[Sheet]:
        """Return regret, coherence and agreement; measures of ratings on a scale say nothing of verdicts."""
        from metaeval.kinds.slates.results import sheets

        return list(sheets(scored))

    def figures(
        self,
        scored: Scored[SlatesStudy],
        board: Board,
        names: Sequence[str] = (),
        first: Mapping[str, str] | None = None,
    ) -> Sequence[Figure]:
        """Draw regret and coherence."""
        from metaeval.kinds.slates.results import figures

        return figures(scored, board, names, first)

    def orders(self, scored: Scored[SlatesStudy]) -> pd.DataFrame:
        """Take the verdicts of every evaluator: its scores."""
        return verdict_rows(scored.matched.aligned, scored.units(UNITS))

    def unit_view(self, data: SlateSet, aspects: Sequence[str]) -> UnitView:
        """Show both slates side by side, the task, and what is known of the user."""
        return reading.unit_view(data, aspects)


SLATES = SlatesKind()
