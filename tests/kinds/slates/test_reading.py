"""What a reader sees of a duel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metaeval.kinds.slates.kind import SLATES
from tests.kinds.slates.catalogue import slates
from tests.kinds.slates.studies import random_duels, scored
from tests.kinds.slates.test_regret import by_loops


def test_both_slates_stand_side_by_side_as_they_were_shown() -> None:
    data = replace(slates(), tasks={"T1": "which films"})
    view = SLATES.unit_view(data, ["preference"])
    assert [c.name for c in view.columns if c.key] == ["user_id", "duel", "order"]
    first, second, utility, task, profile, history = view.texts
    assert (first.beside, second.beside) == (False, True)
    row = data.table.iloc[0]
    listed = data.slates[(data.slates["user_id"] == "u0") & (data.slates["slate"] == row["first"])]
    titles = data.items.set_index("item_id")["title"]  # type: ignore[union-attr]
    lines = [f"{i}. {titles[item]}" for i, item in enumerate(listed["item_id"], 1)]
    assert first.texts[0] == "\n".join(lines)
    assert (second.texts[0], second.texts[1]) == (first.texts[1], first.texts[0])
    assert (
        utility.texts[0] == f"of the first {row['utility_first']:g}, of the second {row['utility_second']:g}"
    )
    assert [part.blind for part in view.texts] == [True, True, False, True, True, True]
    assert task.texts[0] == "T1: which films"
    assert profile.texts[0] is None
    shown = set(data.slates.loc[data.slates["user_id"] == "u0", "item_id"])
    told = str(history.texts[0])
    assert not any(f"{titles[item]} (" in told for item in shown)  # the rating would give the answer away


def test_groups_are_users_and_duels_in_both_orders() -> None:
    data = random_duels(5)
    verdicts = np.random.default_rng(5).choice([-1.0, 0.0, 1.0], len(data))
    study = scored(data, {"a": verdicts})
    cells = study.cells
    users, duels = SLATES.groups(study)
    assert users.keys == ("user_id",)
    tasks, measures = list(cells.parts), list(cells.measures)
    for g, (user,) in enumerate(users.ids):
        for t, task in enumerate(tasks):
            own = ((data.table["user_id"] == user) & (data.table["task"] == task)).to_numpy()
            found = users.columns[0].numbers[0, t, measures.index("regret"), g]
            if own.any():
                part = replace(data, table=data.table[own])
                assert found == pytest.approx(by_loops(part, verdicts[own], task)["regret"])
            else:
                assert np.isnan(found)
    assert (duels.n_units == 2).all()
    assert len(duels.ids) == len(data) / 2
