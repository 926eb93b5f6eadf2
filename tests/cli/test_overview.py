"""``metaeval evaluators``, ``runs`` and ``data show``, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

import metaeval as me
from metaeval.base.spec import EvaluatorSpec
from metaeval.cli import main
from metaeval.kinds.index import KINDS, kind_named
from metaeval.kinds.registry import COMMON
from tests.kinds.toy import YES_NO
from tests.tiny import write_study


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Any:
    """Type a command with ``--json``, and return what it prints, which is read."""

    def typed(*arguments: str) -> Any:
        capsys.readouterr()
        assert main(["--json", *arguments]) == 0
        return json.loads(capsys.readouterr().out)

    return typed


def test_every_evaluator_of_every_kind_is_listed_once(say: Any) -> None:
    rows = say("evaluators")["evaluators"]
    listed = {(row["of"], EvaluatorSpec(row["evaluator"].partition("(")[0]).name) for row in rows}
    assert len(listed) == len(rows)
    for name in KINDS:
        if name != YES_NO.name:  # another test may have registered it
            own = {n for n, f in kind_named(name).evaluators.items() if COMMON.get(n) is not f}
            assert {n for of, n in listed if of == name} == own
    assert {n for of, n in listed if of == "every kind of study"} == set(COMMON)
    assert all(row["does"] and "`" not in row["does"] for row in rows)


def test_what_a_data_set_has_can_be_typed_as_it_is_listed(tiny: Path, say: Any) -> None:
    rows = {row["evaluator"]: row["on"] for row in say("evaluators", "--data", "tiny")["evaluators"]}
    assert {"Annotator('1')", "Annotator('2')", "Recorded('Judge & Co_1')", "Recorded('S* star')"} <= set(
        rows
    )
    fit = [name for name, on in rows.items() if on == "yes" and "…" not in name]
    assert len(me.score(me.load(tiny), fit).evaluators) == len(fit) > 5
    assert rows["Judge(model, …)"] is None


def test_what_a_data_set_lacks_is_said(tiny: Path, say: Any, capsys: pytest.CaptureFixture[str]) -> None:
    data = me.load(tiny)
    bare = me.from_frames(
        data.explanations.drop(columns="reference"), data.ratings[data.ratings["rater"] == "1"]
    )
    bare.save("bare")
    rows = {row["evaluator"]: row["on"] for row in say("evaluators", "--data", "bare")["evaluators"]}
    assert rows["BLEU(…)"].startswith("no: ")
    assert rows["User()"].startswith("no: data set 'unnamed' has no ratings of 'user'")
    assert rows["Recorded(name)"] == "no: it has none"
    assert main(["evaluators", "--data", "bare", "--kind", "slates"]) == 2
    assert "is a data set of kind 'explanations', not 'slates'" in capsys.readouterr().err
    assert main(["evaluators", "--kind", "slate"]) == 2
    assert "did you mean 'slates'" in capsys.readouterr().err


@pytest.mark.slow
def test_runs_are_listed_finished_or_not(tiny: Path, say: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs"]) == 2
    assert "there is no folder results" in capsys.readouterr().err
    (tiny.parent / "results").mkdir()
    assert main(["runs"]) == 2
    assert "there is no run in results" in capsys.readouterr().err
    judges = "\"Judge('simulated/any')\", \"Judge('simulated/any,noise=1')\""
    for name, evaluators in (("plain", "[Length()]"), ("judged", f"[Length(), {judges}]")):
        write_study(
            tiny.parent / f"{name}.yaml",
            "bootstrap: null\ntests: null\ndetails: false",
            evaluators=evaluators,
        )
        assert main(["run", f"{name}.yaml"]) == 0
    for name, change in (("stopped", '"stopped"'), ("running", '"running"')):
        folder = tiny.parent / "results" / "deeper" / name
        folder.mkdir(parents=True)
        record = (tiny.parent / "results" / "plain" / "run.json").read_text()
        (folder / "run.json").write_text(record.replace('"status": "done"', f'"status": {change}'))
    broken = tiny.parent / "results" / "broken"
    broken.mkdir()
    (broken / "run.json").write_text("{")
    with FileLock(folder / ".lock"):
        rows = {row["run"]: row for row in say("runs")["runs"]}
    assert {run.rpartition("/")[2]: row["state"].partition(":")[0] for run, row in rows.items()} == {
        "plain": "finished",
        "judged": "finished",
        "stopped": "broken off",
        "running": "running",
        "broken": "cannot be read",
    }
    judged = rows["results/judged"]
    assert (judged["study"], judged["kind"], judged["data"]) == ("judged", "explanations", "tiny (simulated)")
    assert judged["evaluators"] == 3
    assert judged["usd"] == 0
    assert rows["results/plain"]["usd"] is None
    assert {row["run"]: row for row in say("runs", "results/plain")["runs"]} == {
        "results/plain": rows["results/plain"]
    }
    assert {row["state"] for row in say("runs", "results/deeper")["runs"]} == {"broken off"}
    capsys.readouterr()
    assert main(["runs", "results/deeper"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed[4:6]] == ["running", "stopped"]  # one line per run
    assert printed[2].split()[-1] == "cost"


def test_a_data_set_is_shown(tiny: Path, say: Any) -> None:
    found = say("data", "show", "tiny")
    facts = {row["what"]: row["value"] for row in found["data"]}
    assert (facts["name"], facts["kind"], facts["units"], facts["users"]) == (
        "tiny",
        "explanations",
        "18",
        "3",
    )
    assert [row["aspect"] for row in found["aspects"]] == ["clear", "fitting"]
    assert found["aspects"][0]["scale"] == "integers from 1 to 5"
    raters = {row["rater"]: row for row in found["raters"]}
    given = me.load(tiny).ratings.groupby("rater")["rating"]
    assert {r: (row["n"], row["mean"]) for r, row in raters.items()} == {
        r: (ratings.count(), ratings.mean()) for r, ratings in given
    }
    assert {row["evaluator"] for row in found["recorded"]} == {"Judge & Co_1", "S* star"}
    unit = {row["what"]: row["value"] for row in found["unit"]}
    assert unit["explanation"] == "It is funny."
    assert "It is funny." in unit["user message"]


def test_the_folder_that_init_made_stands_for_the_data_set_in_it(tiny: Path, say: Any) -> None:
    tiny.rename(tiny.with_name("data"))
    made = tiny.with_name("made")
    made.mkdir()
    tiny.with_name("data").rename(made / "data")
    assert say("data", "show", "made") == say("data", "show", "made/data")
    assert main(["data", "check", "made"]) == 0
    tiny.with_name("labels.csv").write_text("user_id,item_id,generator,clear\nu1,i1,short,3\n")
    assert say("golden", "import", "made", "labels.csv", "--rater", "anna")["new"] == 1
    assert "anna" in me.load("made").raters
    assert [p.name for p in made.iterdir()] == ["data"]
