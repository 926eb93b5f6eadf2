"""Analyses of a finished run, as they are typed: what they print, write, and refuse."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import metaeval as me
from metaeval.cli import main
from metaeval.runs.finished import open_run
from metaeval.trust.analyses import costs_per_text, panel_of
from tests.study.runs import QUICK, WIDE, tiny_in
from tests.tiny import write_study

JUDGES = {"one": "Judge('simulated/one,noise=0.2')", "two": "Judge('simulated/two,noise=0.5')"}
PEOPLE = {"anna": "Annotator('1')", "ben": "Annotator('2')"}
OTHERS = {"panel": "Mean(one, two)", "Length()": "Length()", "kept": "Recorded('Judge & Co_1')"}
STUDY = {**QUICK, **WIDE, "evaluators": json.dumps(JUDGES | PEOPLE | OTHERS)}
FEW = "--resamples 20"
PRINTED = {
    f"biases out --judge anna {FEW}": (
        "## The judges on the leaderboard, and their biases",
        "## Biases of the judges, tested",
        "## Verbosity: the effect of length, given the truth",
        "## Leniency, range use and central tendency",
        "3 users are too few for any test at 5 %",
        "too few to tell",
    ),
    f"calibrate out --by generator --cut 3 {FEW}": (
        "## Agreement with people",
        "## Leaderboard of labels",
        "## Agreement with people by generator",
        "## Confusion tables",
        "## Maps to people's scale, on users they did not see",
    ),
    "compare out later": (
        "| evaluators | one | spec | Judge('simulated/one,noise=0.2') | Judge('simulated/three') |",
        "| aspects |  | nothing changed | — | — |",
        "| one (simulated) |",
    ),
    "compare out": ("## Paired tests",),
    "details out": ("## Further measures", "## What people reach", "## Variance components"),
    f"ensembles out {FEW}": (
        "## Ensembles by size",
        "## Contribution of each judge",
        "## Correlation of the judges' errors",
        "## Accuracy and cost",
        "## Ensembles chosen on some users and evaluated on others",
    ),
    f"generators out {FEW}": (
        "By the users' ratings, of ",
        "## Generators by the users' ratings",
        "20 bootstrap resamples of the 3 users",
    ),
    "power out --studies 100": ("## Studies that compare ", "| 3 |", "| 24 |"),
}
KEYS = {
    f"biases out --judge two --family two=ours --family long=ours --family short=none {FEW}": (
        *("judges", "biases", "verbosity", "self_preference", "scale"),
    ),
    f"calibrate out --evaluator two {FEW}": (
        *("conclusion", "calibration", "labels", "confusion", "maps", "conformal"),
    ),
    "compare out later --all-pairs": ("changes", "runs", "ranking", "tests"),
    "compare out --by clear,user,kendall": ("tests",),
    "details out": ("measures", "people", "annotators", "attenuation", "variance", "orders"),
    f"ensembles out --level user {FEW}": ("sizes", "judges", "errors", "frontier", "choices"),
    f"generators out --evaluator Length() --aspect clear --labelled 2 {FEW}": (
        *("ratings", "evaluators", "agreement", "prediction-powered", "orders"),
    ),
    "power out --evaluators Length() anna --users '2, 3' --units 4,5 --studies 100": ("power",),
}
WRONG = {
    "biases out --judge ana": "did you mean 'anna'",
    "biases out --judge two --family lnog=x": "did you mean 'long'",
    "calibrate out --check out --by generator": "combine it with --evaluator only",
    "compare out none": "there is no run folder none",
    "compare out later --by cleer": "no aspect 'cleer' is in all runs; did you mean 'clear'?",
    "compare out later --permutations 0": "--permutations",
    "ensembles out --judge twoo --judge one": "did you mean 'two'",
    "ensembles out --judge one": "1 judge is given, and an ensemble needs two or more",
    "ensembles out --aspect clean": "no aspect 'clean'; did you mean 'clear'",
    "generators out --aspect cleer": "did you mean 'clear'",
    "generators out --labelled 3": "labelled is 3; give a number of users from 2 to 2",
    "power out --users 10;20": "is not a list of whole numbers",
    "power out --out power.pdf": "its suffix may be .txt, .md, .csv, .tex, .html, .json",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs ``out`` and ``later``, in which another model judges."""
    with tiny_in(tmp_path_factory.mktemp("made")) as folder:
        me.run(write_study(folder / "s.yaml", **STUDY), "out")
        changed = STUDY["evaluators"].replace(JUDGES["one"], "Judge('simulated/three')")
        me.run(write_study(folder / "later.yaml", **{**STUDY, "evaluators": changed}), "later")
        return folder


@pytest.fixture
def typed(
    made: Path, fresh: Callable[[Path], Path], capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Return exit code and what was printed, of a command typed where the runs are."""
    fresh(made)

    def run(line: str, *more: str) -> tuple[int, str, str]:
        code = main([*shlex.split(line), *more])
        return code, *capsys.readouterr()

    return run


@pytest.mark.slow
@pytest.mark.parametrize("line", PRINTED)
def test_tables_are_printed_and_the_same_again(typed, line: str) -> None:
    code, out, err = typed(line, "--format", "md")
    assert code == 0
    for text in PRINTED[line]:
        assert text in out
    assert "SIMULATED" in out
    assert "SIMULATED" in err
    assert typed(line, "--format", "md")[1] == out


@pytest.mark.slow
@pytest.mark.parametrize("line", KEYS)
def test_json_and_files_have_every_table(typed, line: str) -> None:
    code, out, _ = typed(line, "--json")
    assert code == 0
    assert {*json.loads(out)} - {"answer"} == {*KEYS[line]}
    if len(KEYS[line]) > 1:
        assert typed(line, "--out", "t.csv")[0] == 0
        assert {p.name for p in Path().glob("t-*.csv")} == {f"t-{name}.csv" for name in KEYS[line]}
    for suffix in ("tex", "html"):
        assert typed(line, "--out", f"t.{suffix}")[0] == 0
        assert "simulated" in Path(f"t.{suffix}").read_text(encoding="utf-8").lower()


@pytest.mark.slow
@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_is_one_line(typed, line: str) -> None:
    code, out, err = typed(line)
    assert (code, out) == (2, "")
    assert err.startswith("metaeval: ")
    assert WRONG[line] in err
    assert err.count("\n") == 1


def test_a_table_of_a_paper_has_a_label_of_its_own(typed) -> None:
    typed("compare out later", "--out", "c.tex")
    latex = Path("c.tex").read_text(encoding="utf-8")
    assert r"\label{tab:out-later-compare-changes}" in latex
    assert r"\label{tab:out-later-compare-runs}" in latex


def test_options_reach_the_analysis(typed) -> None:
    families = json.loads(typed(next(iter(KEYS)), "--json")[1])
    assert {row["own"] for row in families["self_preference"]} == {"long"}
    options = (
        "--evaluators Length() two --aspect clear --level user --coefficient kendall --seed 1 --users 2,3"
    )
    (rows,) = json.loads(typed(f"power out {options} --units 4,5 --studies 100", "--json")[1]).values()
    assert [(r["users"], r["units"]) for r in rows] == [(2, 4), (3, 4), (2, 5), (3, 5)]
    wanted = {"first": "Length()", "second": "two", "aspect": "clear", "level": "user", "seed": 1}
    assert (wanted | {"coefficient": "kendall", "studies": 100}).items() <= rows[0].items()
    found = json.loads(typed("generators out --evaluator Length() --labelled 2 --aspect clear", "--json")[1])
    assert {row["evaluator"] for row in found["agreement"]} == {"Length()"}
    assert {row["n_labelled_users"] for row in found["prediction-powered"]} == {2}


def test_a_unit_is_said_to_be_off_by_what_its_table_has(typed) -> None:
    """A list says where an evaluator is farthest off; one unit, which tool is."""
    found = json.loads(typed("unit out --evaluator two", "--json")[1])
    (line,), worst = found["answer"]["lines"], found["units"][0]
    aspect = max(
        (name.partition(": ")[2] for name in worst if name.startswith("score: ")),
        key=lambda a: abs(worst[f"score: {a}"] - worst[f"people: {a}"]),
    )
    score, people = worst[f"score: {aspect}"], worst[f"people: {aspect}"]
    assert f"two is farthest from people on user {worst['user_id']}, item {worst['item_id']}" in line
    assert f": {score:.2f} for {aspect}, where people say {people:.2f}" in line
    assert "does not score on people's scale" in typed("unit out --evaluator Length()")[1].replace("\n", " ")
    keys = " ".join(f"--key {key}={worst[key]}" for key in ("user_id", "item_id", "generator"))
    one = json.loads(typed(f"unit out {keys}", "--json")[1])
    assert f"{people:.2f} for {aspect}" in one["answer"]["sentences"][0]
    assert one["answer"]["sentences"][0].endswith(" farthest off.")


def test_ensembles_have_the_numbers_of_the_run(typed) -> None:
    found = json.loads(typed(f"ensembles out --level user {FEW}", "--json")[1])
    (line,) = found["answer"]["lines"]
    assert line.startswith("Of 3 ensembles, ")
    assert "; on held-out users " in line
    both = next(s for s in found["sizes"] if s["n_judges"] == 2 and s["aspect"] == "average")
    run = open_run("out")
    frame = me.correlate(run.scores, run.truth, missing={"truth": 3, "score": 0}).frame
    frame = frame.query("level == 'user' and coefficient == 'pearson' and aspect == 'average'")
    estimate = frame.set_index("evaluator")["estimate"]
    assert both["mean"] == pytest.approx(estimate["panel"])
    assert {c["judge"]: c["alone"] for c in found["judges"]} == pytest.approx(
        {j: estimate[j] for j in JUDGES}
    )
    assert panel_of(run) == [*JUDGES]
    # People have no cost that is known; a free model has the tokens of its calls.
    assert costs_per_text(run.scores, panel_of(run, [*PEOPLE])) is None
    costs = costs_per_text(run.scores, [*JUDGES])
    assert costs is not None
    assert costs.unit == "tokens"
    assert min(costs.of_judge.values()) > 0


def test_a_run_without_judges_says_who_could_stand_in(tiny: Path, capsys) -> None:
    me.run(write_study(Path("s.yaml"), **QUICK), "out")
    for command, names in (("ensembles", "Annotator('1')"), ("biases", "(Annotator('1'), Recorded")):
        assert main([command, "out"]) == 2
        err = capsys.readouterr().err
        assert "--judge" in err
        assert names in err


def test_check_says_which_judges_are_no_longer_those_that_were_calibrated(typed) -> None:
    typed(f"calibrate out {FEW}")
    code, out, _ = typed("calibrate out --check out", "--format", "md")
    assert (code, "| one | calibrated |" in out) == (0, True)
    code, out, _ = typed("calibrate later --check out/calibration.json", "--format", "md")
    assert code == 1
    assert "uncalibrated: the model changed (simulated/one,noise=0.2 → simulated/three)" in out
    before = typed("leaderboard later")
    Path("later/calibration.json").write_bytes(Path("out/calibration.json").read_bytes())
    for command in ("leaderboard", f"disagreements {FEW}"):
        name, *options = command.split()
        code, out, err = typed(f"{name} later", *options)
        assert code == 0
        assert "one is uncalibrated: the model changed" in err
    assert before[1] == typed("leaderboard later")[1]
    assert "uncalibrated" not in before[2]
    assert typed("--quiet leaderboard later")[2] == ""


def test_the_labels_of_a_calibration_are_written(typed) -> None:
    out = json.loads(typed(f"calibrate out --evaluator two {FEW}", "--json")[1])
    assert {r["evaluator"] for r in out["calibration"]} == {"two"}
    assert sum(r["n_units"] for r in out["confusion"] if r["aspect"] == "clear") == 18
    assert typed(f"calibrate out {FEW}", "--out", "c.csv")[0] == 0
    assert {"kappa", "n_units"} <= set(pd.read_csv("c-labels.csv"))
