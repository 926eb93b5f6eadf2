"""Runs of several data sets on one leaderboard."""

from __future__ import annotations

from pathlib import Path

import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.study.results import read_board, read_boards
from tests.tiny import write_tiny

BARE = {"truth": "User()", "bootstrap": None, "tests": None, "details": False}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Runs on two data sets, that have one evaluator in common, and on duels."""
    place = tmp_path_factory.mktemp("runs")
    names = ("first", "second")
    for name in names:
        write_tiny(place / name)
        manifest = place / name / "dataset.yaml"
        manifest.write_text(manifest.read_text().replace("name: tiny", f"name: {name}"))
    evaluators = (["Random(seed=0)", "Annotator('1')"], ["Annotator('1')", "Annotator('2')"])
    studies = [
        {**BARE, "dataset": str(place / name), "evaluators": given, "coefficients": ["pearson"]}
        for name, given in zip(names, evaluators, strict=True)
    ]
    slates = {**BARE, "kind": "slates", "dataset": "data/slates", "tasks": ["T1"], "evaluators": ["Oracle()"]}
    return [me.run(study, place / f"run{i}").folder for i, study in enumerate([*studies, slates])]


@pytest.mark.slow
def test_a_column_per_data_set_and_a_table_per_other_choice(runs: list[Path]) -> None:
    found = read_boards(runs[:2])
    assert found.ranking is None
    assert {c.title for table in found.tables for c in table.columns[1:3]} == {"first", "second"}
    whole = found.frame.set_index(["dataset", "evaluator", "aspect", "level"]).sort_index()["estimate"]
    for name, run in zip(("first", "second"), runs, strict=False):
        own = read_board(run).frame.set_index(["evaluator", "aspect", "level"]).sort_index()["estimate"]
        assert whole[name][own.index].equals(own)
    assert whole["first", "Annotator('2')"].isna().all()
    (table,) = [t for t in found.tables if "fitting" in t.title]
    assert set(table.frame["evaluator"]) == {"Random(seed=0)", "Annotator('1')", "Annotator('2')"}


def test_runs_of_one_data_set_are_called_by_their_folders(runs: list[Path]) -> None:
    tables = read_boards([runs[0], runs[0]]).tables
    assert [c.title for c in tables[0].columns[1:3]] == ["run0", "run0 (2)"]


def test_what_cannot_stand_side_by_side(runs: list[Path]) -> None:
    with pytest.raises(MetaevalError, match="run0 and run2 cannot stand side by side"):
        read_boards([runs[0], runs[2]])
    with pytest.raises(MetaevalError, match="no coefficient 'kendall'"):
        read_boards(runs[:2], ["kendall"])
