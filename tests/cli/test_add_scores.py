"""``metaeval data add-scores``, as a user types it."""

from __future__ import annotations

import json

import pytest

from metaeval.cli import main

HEAD = "user_id,item_id,generator,evaluator,score\n"


@pytest.fixture
def table(tiny):
    path = tiny.parent / "t.csv"
    path.write_text(HEAD + "u1,i1,short,mine,2\nu2,i1,short,mine,3\n")
    return path


def test_it_says_what_was_added(tiny, table, capsys):
    assert main(["data", "add-scores", str(tiny), str(table), "--from", "table"]) == 0
    assert capsys.readouterr().out == "Recorded('mine') (all aspects): 2 of 18 units have a score\n"
    assert main(["data", "add-scores", str(tiny), str(table), "--from", "table"]) == 2
    assert "replace them with --replace" in capsys.readouterr().err
    again = ["data", "add-scores", str(tiny), str(table), "--from", "table", "--replace", "--json"]
    assert main(again) == 0
    (evaluator,) = json.loads(capsys.readouterr().out)["evaluators"]
    assert (evaluator["evaluator"], evaluator["scored"], evaluator["units"]) == ("mine", 2, 18)


def test_every_problem_is_a_line(tiny, table, capsys):
    table.write_text(HEAD + "u9,i1,short,mine,2\nu2,i1,short,mine,x\n")
    assert main(["data", "add-scores", "tiny", "t.csv", "--from", "table"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(": is")[0] for line in sorted(said)] == [
        "metaeval: t.csv, row 2, column 'user_id'",
        "metaeval: t.csv, row 3, column 'score'",
    ]
