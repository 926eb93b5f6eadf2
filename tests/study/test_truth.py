"""An evaluator that is the truth, or holds it, is refused; one that is a part of it is marked."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import StudyError
from metaeval.cli import main
from metaeval.kinds.scoring import Scoring
from metaeval.study.plan import plan
from tests.study.test_report import payload_of
from tests.tiny import write_study

PLAIN = {"bootstrap": "null", "tests": "null", "details": "false"}
JUDGE = "- Judge('simulated/any')"


@pytest.mark.parametrize(
    ("truth", "evaluator", "says"),
    [
        ("User()", "User()", "User() is the truth User()"),
        ("User()", "Mean(User(), Annotator('1'))", "Mean(User(), Annotator('1')) holds the truth User()"),
        ("User()", "Median(Mean(User(), Length()), Length())", "holds the truth User()"),
        ("Annotator('1')", 'Annotator("1")', "Annotator('1') is the truth Annotator('1')"),
        ("Annotator('1')", "Mean(Annotator('1'))", "Mean(Annotator('1')) is the truth Annotator('1')"),
        (
            "Mean(Annotator('1'), Annotator('2'))",
            "Mean(Annotator('2'), Annotator('1'))",
            "is the truth Mean(Annotator('1'), Annotator('2'))",
        ),
        ("Recorded('S* star')", "Recorded('S* star')", "is the truth Recorded('S* star')"),
    ],
)
def test_who_is_the_truth_is_refused(tiny: Path, truth: str, evaluator: str, says: str) -> None:
    study = {"dataset": "tiny", "evaluators": ["Length()", evaluator], "truth": truth}
    with pytest.raises(StudyError) as caught:
        me.run(study)
    assert says in str(caught.value)
    assert "leave it out of the evaluators, or choose another truth" in str(caught.value)
    assert not Path("results").exists()


def test_scores_in_a_file(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-q", "score", "tiny", "Length()", "Mean(User(),Annotator('1'))", "--out", "s.csv"]) == 0
    assert main(["correlate", "tiny", "s.csv"]) == 2
    assert "Mean(User(), Annotator('1')) holds the truth User()" in capsys.readouterr().err
    assert main(["-q", "correlate", "tiny", "s.csv", "--truth", "Annotator('2')"]) == 0


def test_a_star_leaves_the_truth_out(tiny: Path) -> None:
    study = {"dataset": "tiny", "evaluators": ["Recorded('*')"], "truth": "Recorded('S* star')"}
    made = me.run({**study, "bootstrap": None, "tests": None, "details": False}, out="out")
    assert list(made.record["evaluators"]) == ["Judge & Co_1"]


def test_a_part_of_the_truth_is_marked_in_its_row(tiny: Path) -> None:
    write_study(
        tiny.parent / "s.yaml",
        evaluators="[Length(), \"Annotator('1')\", \"Mean(Annotator('2'), Length())\"]",
        truth="\"Mean(Annotator('1'), Annotator('2'))\"",
        **PLAIN,
    )
    made = me.run("s.yaml", out="out")
    marked = [e["name"] for e in payload_of(made.folder / "report.html")["evaluators"] if e["inTruth"]]
    assert marked == ["Annotator('1')", "Mean(Annotator('2'), Length())"]
    table = (made.folder / "leaderboard.md").read_text(encoding="utf-8")
    for label in ("Annotator 1", "Evaluators (mean of 2)"):
        assert f"| {label} (part of the truth) |" in table
    assert "These evaluators are part" not in table


def test_on_how_many_units_evaluators_are_compared_is_said(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (tiny / "ratings.csv").open("a", encoding="utf-8") as file:
        file.writelines(f"u{n},i1,short,lena,{a},4\n" for n in (1, 2) for a in ("clear", "fitting"))
    write_study(tiny.parent / "s.yaml", **PLAIN, truth="Annotator('lena')")
    assert main(["run", "s.yaml"]) == 0
    assert "2 evaluators on 2 of 18 units (16 have no rating by Annotator('lena')): " in (
        capsys.readouterr().out
    )
    mean = "Mean(Annotator('1'), Annotator('lena'))"
    write_study(tiny.parent / "s.yaml", **PLAIN, truth=f'"{mean}"')
    assert main(["run", "s.yaml"]) == 0
    more = "; with skip_missing=True one rating is enough): "
    assert f"on 2 of 18 units (16 have no rating by {mean}{more}" in capsys.readouterr().out
    write_study(tiny.parent / "s.yaml", **PLAIN, truth="Annotator('lena')", missing="{truth: 3}")
    assert main(["run", "s.yaml"]) == 0
    assert "2 evaluators on 18 units: " in capsys.readouterr().out


def test_a_truth_that_asks_a_model_is_not_asked_by_a_plan(tiny: Path) -> None:
    truth = plan({"dataset": "tiny", "evaluators": ["Length()"], "truth": "Judge('simulated/any')"}).truth
    assert [str(judge) for judge in truth.judges] == ["Judge('simulated/any')"]
    assert truth.asked() == {}


def test_of_an_aspect_without_a_rating_the_scores_of_the_truth_are_cut(tiny: Path) -> None:
    ratings = tiny / "ratings.csv"
    lines = ratings.read_text(encoding="utf-8").splitlines(keepends=True)
    ratings.write_text("".join(line for line in lines if ",user,clear," not in line), encoding="utf-8")
    todo = plan({"dataset": "tiny", "evaluators": ["Length()"], "truth": "User()"})
    assert todo.truth.aspects == todo.scoring.aspects == ("fitting",)
    anew = Scoring(todo.data, todo.truth.named, ["fitting"]).whole().frame
    pd.testing.assert_frame_equal(todo.truth.whole().frame, anew)


@pytest.mark.slow
def test_an_aspect_that_the_truth_did_not_rate_is_left_out_and_not_asked_about(
    tiny: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    ratings = tiny / "ratings.csv"
    lines = ratings.read_text(encoding="utf-8").splitlines(keepends=True)
    ratings.write_text("".join(line for line in lines if ",user,fitting," not in line), encoding="utf-8")
    assert main(["init", "tiny", "--yes", "--out", "started"]) == 0
    study = Path("started/study.yaml")
    with study.open("a", encoding="utf-8") as file:
        file.write("bootstrap: {resamples: 20}\ntests: {permutations: 20}\n")
    study.write_text(study.read_text(encoding="utf-8").replace("# - \"Judge('openai/gpt-5-mini')\"", JUDGE))
    caplog.clear()
    assert main(["run", str(study), "--out", "out"]) == 0
    assert "fitting is left out: the truth User() has no rating of it" in caplog.text
    assert set(pd.read_parquet("out/scores.parquet")["aspect"]) == {"clear"}
    assert ["Aspects left out", "fitting"] in payload_of(Path("out/report.html"))["facts"]
    capsys.readouterr()
    assert main(["run", str(study), "--out", "other", "--dry-run"]) == 0
    assert "aspects     clear\n" in capsys.readouterr().out
