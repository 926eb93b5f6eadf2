"""``metaeval pairwise`` and ``metaeval verdicts``, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from metaeval.cli import main
from metaeval.cli.pairwise import pairwise
from metaeval.cli.verdicts import verdicts
from metaeval.trust.labelling.label_set import label_set
from tests.study.runs import tiny_run

MAP = """\
units: {item_id: item}
evaluator: judge
pair: [x, y]
order: {column: order, first: xy, second: yx}
winner: {column: winner, first: 1, second: 2, tie: 0}
gold: {column: gold, first: 1, second: 2}
"""
ROWS = """\
item,judge,order,winner,gold
i1,J,xy,1,1
i1,J,yx,1,1
i2,J,xy,1,1
i2,J,yx,2,1
i3,J,xy,0,2
i3,J,yx,,2
"""


def test_pairwise_prints_its_tables(tiny: Path) -> None:
    run = tiny_run(tiny.parent, "run", evaluators="[\"Pairwise('simulated/x,first_bias=0.5')\"]")
    done = CliRunner().invoke(
        pairwise, [str(run), "--resamples", "50", "--format", "md"], catch_exceptions=False
    )
    assert done.exit_code == 0
    assert "## Outcomes of the pairs" in done.stdout
    assert "## Generators, as pairwise judges rank them" in done.stdout
    assert r"none\|such" in done.stdout
    assert "SIMULATED" in done.stderr
    again = CliRunner().invoke(
        pairwise, [str(run), "--resamples", "50", "--format", "md"], catch_exceptions=False
    )
    assert again.stdout == done.stdout
    given = [str(run), "--resamples", "50", "--flips", "drop", "--json"]
    found = json.loads(CliRunner().invoke(pairwise, given, catch_exceptions=False).stdout)
    assert set(found) == {"pairs", "ranking"}
    assert found["pairs"][0]["pairs"] == 18


def test_a_pairwise_judge_is_held_against_people(tiny: Path) -> None:
    run = tiny_run(tiny.parent, "run", evaluators="[\"Pairwise('simulated/x')\"]")
    session = label_set("tiny", rater="anna", aspects=["clear"], pairs=True)
    of_judge = pd.read_parquet(run / "verdicts.parquet").astype(str).query("aspect == 'clear'")
    own = of_judge.query("order == 'first'").set_index(["user_id", "item_id", "first", "second"])["winner"]
    for at, (*pair, order) in enumerate(session.units[:12]):
        winner = own[tuple(pair)]
        label = 0 if winner == "tie" else 1 if winner == order else -1
        session.answer({"do": "label", "at": at, "aspect": "clear", "label": label})
    given = ["accuracy", str(run), "--gold", "tiny/verdicts.csv", "--resamples", "50"]
    done = CliRunner().invoke(verdicts, [*given, "--json"], catch_exceptions=False)
    (row,) = json.loads(done.stdout)["accuracy"]
    assert (row["aspect"], row["pairs"], row["right_first"]) == ("clear", 12, 12)
    assert "(simulated)" in row["evaluator"]
    done = CliRunner().invoke(verdicts, given, catch_exceptions=False)
    assert "24 comparisons without a gold preference" in " ".join(done.stdout.split())


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("map.yaml").write_text(MAP, encoding="utf-8")
    Path("raw.csv").write_text(ROWS, encoding="utf-8")


@pytest.mark.usefixtures("table")
def test_verdicts_are_imported_counted_and_ranked() -> None:
    given = ["import", "raw.csv", "--map", "map.yaml", "--winner-of", "unswapped", "--out", "v.csv"]
    done = CliRunner().invoke(verdicts, given, catch_exceptions=False)
    assert done.stdout == "v.csv: 6 verdicts, 1 of them missing; evaluators: 1\n"
    found = CliRunner().invoke(verdicts, ["accuracy", "v.csv", "--json"], catch_exceptions=False)
    (row,) = json.loads(found.stdout)["accuracy"]
    assert [row[k] for k in ("right_first", "right_second", "right_both", "same_winner", "missing")] == [
        2, 1, 1, 1, 1,
    ]  # fmt: skip
    ranked = CliRunner().invoke(pairwise, ["v.csv", "--resamples", "20", "--json"], catch_exceptions=False)
    pairs = json.loads(ranked.stdout)["pairs"][0]
    assert [pairs[k] for k in ("pairs", "wins", "ties", "flips", "failed")] == [3, 1, 0, 1, 1]
    tables = CliRunner().invoke(verdicts, ["accuracy", "v.csv", "--out", "acc.html"], catch_exceptions=False)
    assert tables.stdout == "acc.html\n"
    assert "Right in both" in Path("acc.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("table")
def test_which_convention_holds_must_be_said() -> None:
    done = CliRunner().invoke(verdicts, ["import", "raw.csv", "--map", "map.yaml", "--out", "v.csv"])
    assert done.exit_code == 2
    assert "Missing option '--winner-of'" in done.stderr
    assert not Path("v.csv").exists()


@pytest.mark.usefixtures("table")
def test_everything_that_is_wrong_with_a_table_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("raw.csv").write_text(ROWS.replace("xy,1,1", "xy,7,1"), encoding="utf-8")
    given = ["import", "raw.csv", "--map", "map.yaml", "--winner-of", "shown", "--out", "v.csv"]
    assert main(["verdicts", *given]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 2
    assert "raw.csv, row 2, column 'winner': is '7'" in said
    assert not Path("v.csv").exists()
