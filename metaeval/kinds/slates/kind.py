"""The kind of study whose units are pairs of slates that are shown for a user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pandas as pd

from metaeval.base.records import FIRST, SECOND
from metaeval.data.labels import VERDICTS
from metaeval.engine.drilldown import Rated, UnitColumn, UnitText, UnitView
from metaeval.kinds.kind import Ordering, StudyKind
from metaeval.kinds.known_items import called, fields_text, histories_text
from metaeval.kinds.slates.data.loading import load
from metaeval.kinds.slates.data.sampling import UNORDERED, UTILITIES
from metaeval.kinds.slates.data.slate_set import (
    ASKED,
    ITEM,
    KEYS,
    POSITION,
    SLATE,
    USER,
    SlateSet,
    utilities_of,
)
from metaeval.kinds.slates.measures import DuelCells, SlatesScored, SlatesStudy, measured, verdict_rows
from metaeval.kinds.study import unknown_word
from metaeval.kinds.table import KindTable


def _slates(data: SlateSet, side: str) -> Iterator[str]:
    """Yield the items of the slate on a side, in order."""
    names = called(data)
    listed = data.slates.sort_values([USER, SLATE, POSITION], kind="stable")
    lines = [
        f"{at}. {names.get(item) or item}" for at, item in zip(listed[POSITION], listed[ITEM], strict=True)
    ]
    of = {key: "\n".join(own) for key, own in listed.assign(line=lines).groupby([USER, SLATE])["line"]}
    for user, slate in data.table[[USER, side]].itertuples(index=False, name=None):
        yield of.get((user, slate), slate)


def _utilities(table: pd.DataFrame) -> Iterator[str]:
    """Yield the utilities of both slates."""
    for first, second in table[["utility_first", "utility_second"]].itertuples(index=False, name=None):
        yield f"of the first {first:g}, of the second {second:g}"


class SlatesKind(StudyKind):
    """Duels of slates: which of two lists of items a user prefers."""

    name = "slates"
    study = SlatesStudy
    evaluators = {  # noqa: RUF012 - as a reader would write it
        "FirstPosition": "metaeval.evaluators.chance:FirstPosition",
        "Longer": "metaeval.kinds.slates.measures:Longer",
        "Oracle": "metaeval.kinds.slates.measures:Oracle",
        "Popularity": "metaeval.kinds.slates.measures:PopularSlate",
        "Random": "metaeval.evaluators.chance:Coin",
        "SlateRating": "metaeval.kinds.slates.judge:SlateRating",
        "Slates": "metaeval.kinds.slates.judge:Slates",
    }
    rated = False
    scored: ClassVar[type[SlatesScored]] = SlatesScored
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

    @property
    def tables(self) -> Sequence[KindTable]:
        """Regret, coherence and agreement."""
        from metaeval.kinds.slates import coherence, measures, regret

        return (
            measures.UNITS,
            *(regret.BY_TASK, regret.BY_DIFFICULTY, coherence.COHERENCE, coherence.AGAINST),
            *(regret.AGREEMENT, regret.MAJORITY),
            *(regret.TASK_FIGURE, regret.DIFFICULTY_FIGURE),
            *(coherence.AGAINST_FIGURE, coherence.COHERENCE_FIGURE),
        )

    def ordering(self, scored: SlatesScored, names: Sequence[str]) -> Iterator[tuple[str, Ordering]]:
        """Say how much of what chance loses judges keep, by task, and which ranks they may have."""
        from metaeval.kinds.slates.regret import ordering

        return ordering(scored, names)

    def words(self, scored: SlatesScored) -> dict[str, str]:
        """Explain duels, their tasks and their measures."""
        return {
            "slate": "a list of items in an order; a duel has two slates, and each is shown first once",
            "utility": "what a slate is worth to its user, by the user's own ratings or choices",
            "regret": "the utility of the better slate less that of the preferred one; lower is better",
            "accuracy": "the share of verdicts for the better slate; weighted: by the gap of the utilities",
            **scored.data.tasks,
            "chance": "verdicts at random, as a reference: their expected value, not that of an evaluator",
            "coin": "an evaluator that prefers either side at random",
        }

    def cells(self, scored: SlatesScored) -> DuelCells:
        """Measure regret and accuracy."""
        return DuelCells(scored)

    def orders(self, scored: SlatesScored) -> pd.DataFrame:
        """Take the verdicts of every evaluator: its scores."""
        return verdict_rows(scored.matched.aligned, scored.cells.table)

    def unit_view(self, data: SlateSet, aspects: Sequence[str]) -> UnitView:
        """Show both slates side by side, the task, and what is known of the user."""
        table = data.table
        users, tasks = table[USER].tolist(), table["task"].tolist()
        profiles, histories = (
            fields_text(data.profiles, USER),
            histories_text(data, data.slates[[USER, ITEM]]),
        )
        # What the utility of a slate is would tell a rater little.
        asked = {
            **ASKED,
            **{t: text for t, text in data.tasks.items() if text not in {UTILITIES.get(t), UNORDERED.get(t)}},
        }
        return UnitView(
            (
                *(UnitColumn(key, data.nouns[key], table[key].astype(str).tolist()) for key in KEYS),
                UnitColumn("task", "task", tasks, key=False),
            ),
            (
                UnitText("shown first", list(_slates(data, FIRST))),
                UnitText("shown second", list(_slates(data, SECOND)), beside=True),
                UnitText("utility to the user", list(_utilities(table)), blind=False),
                UnitText("task", [f"{task}: {asked[task]}" if task in asked else task for task in tasks]),
                UnitText("profile of the user", [profiles.get(user) for user in users]),
                UnitText("history of the user", [histories.get(user) for user in users]),
            ),
            tuple(Rated(aspect, data.aspects.get(aspect, "")) for aspect in aspects),
        )


SLATES = SlatesKind()
