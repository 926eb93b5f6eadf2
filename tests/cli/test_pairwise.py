"""``metaeval pairwise`` and ``metaeval verdicts``, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from metaeval.cli import main
from metaeval.cli.frame import command_of
from metaeval.cli.verdicts import verdicts
from metaeval.trust.labelling.pages import label_set
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
    assert done.stdout.startswith("By Pairwise simulated/x")
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
    assert set(found) == {"answer", "pairs", "ranking"}
    assert found["pairs"][0]["pairs"] == 18


@pytest.mark.slow
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


pairwise = command_of("pairwise")


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
def test_everything_that_is_wrong_with_a_table_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("raw.csv").write_text(ROWS.replace("xy,1,1", "xy,7,1"), encoding="utf-8")
    given = ["import", "raw.csv", "--map", "map.yaml", "--winner-of", "shown", "--out", "v.csv"]
    assert main(["verdicts", *given]) == 2
    said = capsys.readouterr().err
    assert "raw.csv, row 2, column 'winner': is '7'" in said
    assert "(and 1 more row: 4)" in said
    assert not Path("v.csv").exists()


def told(folder: Path, lost: int, capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[int, str, str]]:
    """Import 100 replies of which some are not read, all of swapped pairs; say what each command printed."""
    rows = [
        {"q": i, "a": a, "b": b, "reply": f"No mark, {i}." if i < lost and a == "y" else "[[A]]", "gold": "x"}
        for i in range(50)
        for a, b in (("x", "y"), ("y", "x"))
    ]
    Path("r.json").write_text(json.dumps(rows), encoding="utf-8")
    columns = (
        "columns: {group: q, first: a, second: b, reply: reply}\nreply: mt-bench\ngold: {column: gold}\n"
    )
    Path("m.yaml").write_text(columns, encoding="utf-8")
    found = {}
    for command, more in (
        ("import", ["--map", "m.yaml", "--out", "v.csv"]),
        ("coherence", ["--map", "m.yaml", "--resamples", "20"]),
        ("accuracy", ["--map", "m.yaml", "--resamples", "20"]),
    ):
        code = main(["verdicts", command, "r.json", *more])
        out, err = capsys.readouterr()
        found[command] = code, " ".join(out.split()), " ".join(err.split())
    return found


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_what_was_not_read_is_said_with_its_bounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = told(tmp_path, 1, capsys)  # 1 %
    assert all(code == 0 and "could not be read" not in out + err for code, out, err in few.values())
    some = told(tmp_path, 10, capsys)
    for command, (code, out, err) in some.items():
        said = err if command == "import" else out
        assert code == 0
        assert (
            "10.0 % of the replies to judge (10 of 100) could not be read (the pattern matches nothing"
            in said
        )
        assert "'No mark, 0.'; 'No mark, 1.'; 'No mark, 2.'" in said
        assert "The loss depends on the order (0.0 % at first, 20.0 % at second; p: 0.001)" in said
        assert (
            "first position is 100.0 %; it would be 90.0 % if all these had been second and 100.0 % if"
            in said
        )
    frame = read_again(["coherence", "v.csv"]).set_index("axiom")
    columns = ["unread", "unread_unswapped", "unread_swapped", "if_first", "if_second"]
    assert frame.loc["first_position", columns].tolist() == pytest.approx([0.1, 0, 0.2, 1.0, 0.9])
    assert frame.loc["asymmetry", ["estimate", "if_first", "if_second"]].tolist() == [0.0, 0.0, 0.2]
    assert "(10 of 100) could not be read" in " ".join(capsys.readouterr().err.split())  # beside a file, too
    (row,) = read_again(["accuracy", "v.csv"]).to_dict("records")
    assert [row[c] for c in ("accuracy", "if_first", "if_second")] == [0.5, 0.5, 0.6]
    for command, (code, _, err) in told(tmp_path, 45, capsys).items():
        assert code == 3, command
        assert "20 % of verdicts or more were not read: 45.0 % of judge" in err
    assert len(pd.read_csv("v.csv")) == 100


def read_again(given: list[str]) -> pd.DataFrame:
    """Return the first table that a command writes."""
    assert main(["verdicts", *given, "--resamples", "20", "--out", "again.csv"]) == 0
    return pd.read_csv("again.csv")


@pytest.mark.usefixtures("table")
def test_one_order_has_no_number_that_needs_two() -> None:
    rows = [{"q": q, "a": a, "b": b, "w": a} for q, a, b in ((1, "x", "y"), (2, "y", "x"))]
    Path("r.json").write_text(json.dumps(rows), encoding="utf-8")
    Path("m.yaml").write_text("columns: {group: q, first: a, second: b, winner: w}\n", encoding="utf-8")
    frame = read_again(["coherence", "r.json", "--map", "m.yaml"]).set_index("axiom")
    assert frame.loc["asymmetry", "n"] == 0
    assert frame.loc["asymmetry", ["estimate", "ci_low", "ci_high"]].isna().all()


def test_the_named_patterns_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replies", "patterns", "--json"]) == 0
    found = {row["name"]: row for row in json.loads(capsys.readouterr().out)["patterns"]}
    assert {"mt-bench", "arena-hard", "g-eval", "prometheus", "inspect", "letters"} <= set(found)
    assert found["mt-bench"]["values"] == "A first, B second, C tie"
    assert all(row["about"] for row in found.values())
