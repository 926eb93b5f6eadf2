"""A study from file to run folder: content, restarts after a kill, two runs at once."""

from __future__ import annotations

import json
import math
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy import stats

import metaeval as me
from metaeval.base.errors import DataError, RunFolderError, StoppedError, StudyError
from metaeval.cli import main
from metaeval.engine.correlation import Correlation
from metaeval.evaluators.base import BaseEvaluator
from metaeval.runs.folder import DETAILS, OUTPUTS, RATERS, TESTS, RunFolder
from metaeval.study.pipeline import rerun, source_of
from metaeval.study.results import read_back
from tests.study.runs import tiny_in
from tests.tiny import FEW, write_study

EVALUATORS = """
  - Random(seed=1)
  - Length()
  - "Annotator('1')"
  - "Mean(Annotator('1'), Annotator('2'))"
  - "Recorded('*')"
"""


MADE = (*OUTPUTS, RATERS, TESTS, DETAILS)
"""What a run of the tiny study leaves: it has annotators, but no judge."""


def contents(folder: Path) -> dict[str, bytes]:
    """Return what a run wrote, but for the record with its times."""
    return {name: (folder / name).read_bytes() for name in MADE}


def whole_study(folder: Path) -> Path:
    """Write a study of all that a small run has."""
    quick = {"bootstrap": "{resamples: 50}", "tests": "{permutations: 99}"}
    return write_study(folder / "s.yaml", evaluators=EVALUATORS, missing="{truth: 3, score: 0}", **quick)


@pytest.fixture
def study(tiny: Path) -> Path:
    return whole_study(tiny.parent)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> me.Run:
    """A run that tests only read, made where nothing was said of its folder."""
    with tiny_in(tmp_path_factory.mktemp("done")) as folder:
        found = me.run(whole_study(folder))
        assert found.folder == Path("results/s")
        return replace(found, folder=folder / found.folder)


def test_a_run_folder_holds_what_the_contract_says(done: me.Run) -> None:
    names = {p.name for p in done.folder.iterdir()} - {".lock"}
    assert names == {"run.json", *MADE}
    frame = pd.read_csv(done.folder / "correlations.csv")
    assert tuple(frame.columns) == Correlation._fields
    assert set(frame["aspect"]) == {"clear", "fitting", "average"}
    assert set(frame["level"]) == {"dataset", "user", "pair"}
    assert len(frame) == 6 * 3 * 3 * 3
    scores = pd.read_parquet(done.folder / "scores.parquet")
    assert {"user_id", "item_id", "generator", "evaluator", "aspect", "score", "status"} <= set(
        scores.columns
    )
    assert (done.folder / "leaderboard.md").read_text(encoding="utf-8") == done.leaderboard.to_markdown()
    assert "SIMULATED DATA" in (done.folder / "report.html").read_text(encoding="utf-8")


def test_what_is_no_study_is_named(tiny: Path) -> None:
    with pytest.raises(StudyError, match=r"a study is the path of its file, or what it says.* not <Expl"):
        me.run(me.load(tiny))  # type: ignore[arg-type]


def test_a_fill_is_on_the_scale_of_every_aspect(tiny: Path) -> None:
    data = me.from_frames(
        pd.DataFrame({"item_id": ["1", "2"], "generator": "a", "explanation": "text"}),
        pd.DataFrame(
            [(i, "a", "user", aspect, 1) for i in "12" for aspect in ("clear", "sure")],
            columns=["item_id", "generator", "rater", "aspect", "rating"],
        ),
        aspects={"clear": "It is clear.", "sure": {"statement": "I am sure.", "scale": {"min": 0, "max": 1}}},
        scale=(1, 5),
    )
    study = {"dataset": data, "evaluators": ["Length()"], "levels": ["dataset"], "missing": {"truth": 3}}
    with pytest.raises(StudyError, match=r"3 is not on the scale of the ratings .integers from 0 to 1."):
        me.run(study)
    assert me.run({**study, "aspects": ["clear"]}).folder.is_dir()


def test_the_record_traces_the_numbers(done: me.Run, tiny: Path) -> None:
    record = json.loads((done.folder / "run.json").read_text(encoding="utf-8"))
    assert record == done.record
    assert record["status"] == "done"
    assert record["data"]["fingerprint"] == me.load(tiny).fingerprint
    assert record["data"]["simulated"] is True
    assert record["study"]["evaluators"]["Judge & Co_1"] == "Recorded('Judge & Co_1')"
    assert record["study"]["levels"] == ["dataset", "user", "pair"]
    assert record["evaluators"]["Random(seed=1)"]["signature"]["seed"] == 1
    assert record["evaluators"]["Length()"]["scores"] == {"ok": 36}
    assert record["policy"]["missing"] == {"truth": 3, "score": 0}
    assert record["started"] <= record["finished"]
    assert {"numpy", "pandas", "sacrebleu"} <= set(record["libraries"])
    assert set(record["outputs"]) == set(MADE)


def test_the_numbers_are_those_of_scipy(done: me.Run, tiny: Path) -> None:
    frame = done.correlations.frame
    ratings = pd.read_csv(tiny / "ratings.csv", dtype={"rater": str})
    wide = ratings.pivot_table(
        index=["user_id", "item_id", "generator", "aspect"], columns="rater", values="rating", dropna=False
    )
    wide["user"] = wide["user"].fillna(3)
    for aspect, rows in wide.groupby("aspect"):
        for coefficient, of in (("pearson", stats.pearsonr), ("kendall", stats.kendalltau)):
            at = (frame["evaluator"] == "Annotator('1')") & (frame["aspect"] == aspect)
            at &= (frame["level"] == "dataset") & (frame["coefficient"] == coefficient)
            assert math.isclose(
                frame.loc[at, "estimate"].item(), of(rows["1"], rows["user"]).statistic, abs_tol=1e-12
            )


@pytest.mark.slow
def test_the_same_study_gives_the_same_bytes(study: Path) -> None:
    first = contents(me.run(study, out="a").folder)
    assert first == contents(me.run(study, out="b").folder)
    assert first == contents(rerun("a").folder)


@pytest.mark.slow
def test_a_run_of_a_path_beside_the_study_file_is_made_again_from_every_folder(
    study: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    (tmp_path / "started").mkdir()
    tiny.rename(tmp_path / "started" / "data")
    text = study.read_text(encoding="utf-8").replace("dataset: tiny", "dataset: data")
    (tmp_path / "started" / "s.yaml").write_text(text, encoding="utf-8")
    made = me.run("started/s.yaml", out="out")
    assert made.record["data"]["place"] == "../started/data"
    before = contents(tmp_path / "out")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["reparse", "../out"]) == 0
    assert contents(tmp_path / "out") == before
    shutil.rmtree(tmp_path / "started" / "data")  # there is a folder data in the package, which is none
    assert main(["run", "../started/s.yaml"]) == 2
    assert "s.yaml, line 1: there is no data set 'data'" in capsys.readouterr().err


def test_what_missing_scores_take_from_all_evaluators_is_told(
    study: Path, tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ratings = pd.read_csv(tiny / "ratings.csv", dtype="str")
    ratings[~((ratings["rater"] == "2") & (ratings["user_id"] == "u1"))].to_csv(
        tiny / "ratings.csv", index=False
    )
    few = {**FEW, "evaluators": EVALUATORS, "missing": "{truth: drop, score: drop}", "tests": "null"}
    write_study(study, **few)
    assert main(["run", str(study)]) == 0
    mean = "Mean(Annotator('1'), Annotator('2'))"
    told = f"Left out: 12 of 35 ratings, because a score is missing ({mean}: 12)."
    assert f"{told} To keep them, leave those evaluators out" in " ".join(capsys.readouterr().out.split())
    assert told in Path("results/s/leaderboard.md").read_text()
    frame = pd.read_csv("results/s/correlations.csv")
    of_all = frame[(frame["level"] == "dataset") & (frame["aspect"] == "average")]
    assert set(of_all["n_units"]) == {35 - 12}


def test_what_a_run_builds_and_scores_it_does_once(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: dict[str, Counter[str]] = {"written_as": Counter(), "score": Counter()}

    def counted(name: str) -> None:
        method = getattr(BaseEvaluator, name)

        def call(evaluator: BaseEvaluator, *given: Any) -> Any:
            done = method(evaluator, *given)
            counts[name][str(evaluator)] += 1
            return done

        monkeypatch.setattr(BaseEvaluator, name, call)

    counted("written_as")
    counted("score")
    simple = ["User()", "Length()", "Annotator('1')", "Annotator('2')"]
    mean = "Mean(Annotator('1'), Annotator('2'))"
    given = {"dataset": "tiny", "truth": "User()", "evaluators": [*simple[1:3], mean]}
    study = {**given, "levels": ["user"], "coefficients": ["pearson"], "bootstrap": None}
    me.run(study, "out")
    assert counts == {"written_as": Counter([*simple, mean]), "score": Counter(simple)}
    assert me.run(study, "out").already
    assert counts["written_as"] == Counter([*simple, mean] * 2)
    assert counts["score"] == Counter([*simple, "User()"])


def test_a_truth_of_nothing_is_refused(tiny: Path) -> None:
    ratings = pd.read_csv(tiny / "ratings.csv", dtype="str")
    by_one = (ratings["rater"] == "1") == (ratings["user_id"] == "u1")
    ratings[by_one & (ratings["rater"] != "user")].to_csv(tiny / "ratings.csv", index=False)
    study = write_study(tiny.parent / "s.yaml", truth="\"Mean(Annotator('1'), Annotator('2'))\"")
    with pytest.raises(
        DataError, match=r"has no value for any unit.*Mean\(…, skip_missing=True\), and `units: own`"
    ):
        me.run(study)
    assert not Path("results/s").exists()


def test_intervals_tests_and_details_can_be_left_out(tiny: Path) -> None:
    study = write_study(tiny.parent / "s.yaml", bootstrap="null", tests="null", details="false")
    done = me.run(study)
    assert done.correlations.frame["ci_low"].isna().all()
    assert not {TESTS, DETAILS} & {p.name for p in done.folder.iterdir()}
    assert "rank_range" not in done.leaderboard.ranking.frame


def test_a_file_that_the_run_did_not_write_is_refused(done: me.Run, fresh: Callable[[Path], Path]) -> None:
    folder = fresh(done.folder)
    with (folder / "correlations.csv").open("a", encoding="utf-8") as file:
        file.write("\n")
    with pytest.raises(RunFolderError, match="is not the file that the run wrote"):
        read_back(folder)


@pytest.mark.parametrize("content", [{"notes.txt": "mine"}, {"run.json": "{}"}, {"run.json": "no"}])
def test_a_folder_of_something_else_is_left_alone(study: Path, content: dict[str, str]) -> None:
    Path("mine").mkdir()
    for name, text in content.items():
        (Path("mine") / name).write_text(text, encoding="utf-8")
    with pytest.raises(RunFolderError, match="not a run folder"):
        me.run(study, out="mine")
    assert {p.name: p.read_text(encoding="utf-8") for p in Path("mine").iterdir()} == content


def test_an_error_while_scoring_leaves_no_folder(tiny: Path) -> None:
    path = write_study(tiny.parent / "s.yaml", evaluators="[Length(), \"Annotator('9')\"]")
    Path("results").mkdir()
    with pytest.raises(DataError, match="has no ratings of '9'"):
        me.run(path)
    assert list(Path("results").iterdir()) == []


@pytest.mark.slow
def test_parts_of_something_else_are_not_used(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **_named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("metaeval.study.outputs.write_outputs", interrupted)
    with pytest.raises(
        StoppedError, match="of 6 of 6 evaluators are kept in results/s; run the same command again"
    ):
        me.run(study)
    parts = list(Path("results/s/.parts").iterdir())
    assert len(parts) == 6
    for part in parts[:3]:
        part.write_bytes(b"broken")
    monkeypatch.undo()
    monkeypatch.chdir(study.parent)
    assert contents(me.run(study).folder) == contents(me.run(study, out="clean").folder)
    assert not Path("results/s/.parts").exists()


SLOW = textwrap.dedent("""
    import sys, time
    from pathlib import Path
    from metaeval.cli import main
    from metaeval.kinds.registry import register
    from metaeval.kinds.explanations.text.texts import Length

    class Slow(Length):
        def score(self, data, aspects):
            Path(sys.argv[1]).touch()
            time.sleep(float(sys.argv[2]))
            with Path("scored.txt").open("a") as file:
                file.write("slow\\n")
            return super().score(data, aspects)

    class Noted(Length):
        def score(self, data, aspects):
            with Path("scored.txt").open("a") as file:
                file.write("noted\\n")
            return super().score(data, aspects)

    register("Slow", Slow)
    register("Noted", Noted)
    sys.exit(main(["run", "s.yaml", "--out", sys.argv[3]]))
""")


def start(mark: str, seconds: float, out: str = "out") -> subprocess.Popen[str]:
    """Run the study in another process, with an evaluator that takes its time."""
    command = [sys.executable, "-c", SLOW, mark, str(seconds), out]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(mark: str, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 240
    while not Path(mark).exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture
def slow_study(tiny: Path) -> Path:
    return write_study(tiny.parent / "s.yaml", evaluators="[Noted(), Slow(), \"Annotator('1')\"]")


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_stopped(slow_study: Path) -> None:
    first = start("one", 60)
    wait_for("one", first)
    first.kill()
    first.communicate()
    names = {p.name for p in Path("out").iterdir()}
    assert names == {".lock", ".parts", "run.json"}, "nothing half-written"
    assert json.loads(Path("out/run.json").read_text(encoding="utf-8"))["status"] == "running"
    again = start("two", 0)
    out, err = again.communicate(timeout=240)
    assert again.returncode == 0, err
    assert "3 evaluators on 18 units: " in out
    # The first evaluator was scored once, by the run that was killed.
    assert Path("scored.txt").read_text(encoding="utf-8").split() == ["noted", "slow"]
    other = start("three", 0, "other")
    assert other.wait(timeout=240) == 0
    other.communicate()
    assert contents(Path("out")) == contents(Path("other"))
    assert not Path("out/.parts").exists()


def test_an_interrupt_says_how_to_go_on(slow_study: Path) -> None:
    process = start("one", 60)
    wait_for("one", process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 3
    assert out == ""
    assert err == (
        "metaeval: interrupted: the scores of 1 of 3 evaluators are kept in out; "
        "run the same command again to go on\n"
    )
    assert json.loads(Path("out/run.json").read_text(encoding="utf-8"))["status"] == "stopped"


@pytest.mark.slow
def test_the_second_of_two_runs_into_one_folder_is_refused(slow_study: Path) -> None:
    first = start("one", 60)
    try:
        wait_for("one", first)
        second = start("two", 0)
        out, err = second.communicate(timeout=240)
        assert second.returncode == 2
        assert out == ""
        assert err == "metaeval: out is in use by another run; wait until it is done, or give another --out\n"
        assert not Path("two").exists(), "the second run must not score"
    finally:
        first.kill()
        first.communicate()
    # The lock went with the process that held it.
    with RunFolder.claim(Path("out")):
        pass


def test_a_mended_evaluator_of_ones_own_has_another_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_readability.py").write_text("class Mine:\n    worth = 1\n", encoding="utf-8")
    mine = __import__("my_readability").Mine()
    before = source_of(mine)
    (tmp_path / "my_readability.py").write_text("class Mine:\n    worth = 2\n", encoding="utf-8")
    assert before != source_of(mine)
    assert source_of(1) == ""
