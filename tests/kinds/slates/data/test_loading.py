"""Duels that are saved come back the same; what is wrong with a folder is named cell by cell."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.errors import DataError
from metaeval.base.records import Scale
from metaeval.cli import main
from metaeval.kinds.slates.data.loading import load, save, slate_set_of
from metaeval.kinds.slates.data.slate_set import ASKED
from tests.examples import examples
from tests.kinds.saved import assert_same, nasty
from tests.kinds.slates.data.folders import ABOUT, small, tables

FRAMES = ("table", "ratings", "slates", "items", "histories", "profiles", "scores")
OTHERS = ("aspects", "tasks", "domain", "history_scale")


@settings(max_examples=examples(12))
@given(st.data())
def test_round_trip(data) -> None:
    users = data.draw(st.lists(nasty, min_size=1, max_size=3, unique=True))
    user, task, first, second, items = (
        data.draw(nasty),
        data.draw(nasty).strip(),
        *data.draw(st.lists(nasty, min_size=2, max_size=2, unique=True)),
        data.draw(st.lists(nasty, min_size=1, max_size=4, unique=True)),
    )
    of = {"user_id": users}
    slates = [(u, s, k, i) for u in users for s in (first, second) for k, i in enumerate(items, 1)]
    utilities = st.lists(st.floats(-9, 9), min_size=len(users), max_size=len(users))
    made = slate_set_of(
        {"name": user, "tasks": {task: data.draw(nasty)}, "domain": {"noun": data.draw(nasty)}},
        {
            "duels": pd.DataFrame(
                {**of, "duel": user, "task": task, "first": first, "second": second}
            ).assign(utility_first=data.draw(utilities), utility_second=data.draw(utilities)),
            "slates": pd.DataFrame(slates, columns=["user_id", "slate", "position", "item_id"]),
            "items": pd.DataFrame({"item_id": items, "title": items}),
            "scores": pd.DataFrame({**of, "duel": user, "order": "second", "evaluator": task}).assign(
                aspect="", score=-1
            ),
        },
    )
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("parquet", "csv", "jsonl"):
            assert_same(made, load(save(made, Path(folder) / kind, kind)), FRAMES, OTHERS)


def test_a_folder_says_its_domain_its_tasks_and_the_scale_of_histories(tmp_path: Path) -> None:
    assert_same(small(), me.load(save(small(), tmp_path / "data")), FRAMES, OTHERS)
    data = small()
    assert data.tasks == {**ASKED, "own": "which list was clicked"}
    assert (data.domain.noun, data.domain.platform) == ("film", "a large catalogue")
    assert data.history_scale == Scale(1, 5)
    assert data.table["repeat"].tolist() == [0] * 6 + [1, 1] + [0, 0]
    assert data.ratings["rating"].tolist()[:4] == [0.25, -0.25, -0.25, 0.25]


@pytest.mark.parametrize(
    ("table", "row", "column", "value", "says"),
    [
        ("duels", 0, "first", "zz", "duels, row 2, column 'first': is 'zz', which slates does not have"),
        ("duels", 0, "utility_second", None, "row 2, column 'utility_second': is empty"),
        (
            "duels",
            0,
            "task",
            "T4",
            "column 'task': unknown task 'T4' (allowed: T1, T2, T3, own); describe it",
        ),
        ("duels", 0, "task", "T2", "duels, row 2: the two slates hold different items; a duel of T2"),
        ("duels", 1, "duel", "1", "duels, row 3: the duel (user_id 'u', duel '1') is already in row 2"),
        ("duels", 1, "repeat", 1, "duels, row 3, column 'repeat': no row above is about the same two"),
        ("duels", 3, "repeat", 0, "row 5, column 'repeat': an earlier duel has the same two slates"),
        ("duels", 2, "utility_first", 0.5, "duels, row 4: a slate is compared with itself and has two"),
        ("slates", 1, "position", 3, "row 3, column 'position': the position is 3, and there are fewer"),
        ("slates", 1, "position", 1, "row 3, column 'position': the position 1 is in the slate twice"),
        ("slates", 1, "item_id", "x", "slates, row 3: the item of the slate (user_id 'u', slate 'a', item"),
        ("items", 1, "item_id", "x", "items, row 3: the item (item_id 'x') is already in row 2"),
        ("histories", 0, "rating", 7, "row 2, column 'rating': the rating 7 is not on the scale; allow"),
        ("profiles", 0, "user_id", "w", "profiles, row 2, column 'user_id': the user 'w' has no duels"),
        ("scores", 0, "score", 2, "scores, row 2, column 'score': is 2; a verdict is -1, 0 or 1"),
        ("scores", 0, "aspect", "taste", "column 'aspect': unknown aspect 'taste' (allowed: preference)"),
        ("scores", 0, "duel", "9", "scores, row 2: there is no duel (user_id 'u', duel '9') in duels"),
        ("scores", 1, "order", "first", "scores, row 3: the score of (user_id 'u', duel '1', order 'first"),
    ],
)
def test_what_is_wrong_is_named_cell_by_cell(table, row, column, value, says: str) -> None:
    given = tables()
    given[table] = given[table].astype({column: str if isinstance(value, str) else object})
    given[table].loc[row, column] = value
    with pytest.raises(DataError) as caught:
        slate_set_of(ABOUT, given)
    found = [str(problem) for problem in caught.value.problems]
    assert any(says in problem for problem in found), found
    assert len([f for f in found if f"row {row + 2}, column {column!r}" in f]) <= 1


def test_a_column_or_table_that_is_missing_or_not_known_is_said(tmp_path: Path, capsys) -> None:
    given = tables()
    given["duels"] = given["duels"].rename(columns={"similarity": "similarty"})
    with pytest.raises(DataError, match="column 'similarty': is not known; did you mean 'similarity'"):
        slate_set_of(ABOUT, given)
    with pytest.raises(DataError, match="column 'utility_first': is missing; did you mean 'utility'"):
        slate_set_of(ABOUT, {**given, "duels": given["duels"].rename(columns={"utility_first": "utility"})})
    folder = save(small(), tmp_path / "data", "csv")
    (folder / "slates.csv").unlink()
    assert main(["data", "check", str(folder)]) == 1
    assert "slates.csv: is missing; it may also be" in capsys.readouterr().out
