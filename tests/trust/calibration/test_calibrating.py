"""The calibration of a finished run: its numbers, its file, and what a later run is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, roc_auc_score

import metaeval as me
from metaeval.base.errors import MetaevalError, RunFolderError
from metaeval.runs.finished import open_run
from metaeval.runs.folder import check_usable
from metaeval.stats.agreement.raters import cohen_kappa
from metaeval.trust.calibration.calibrating import calibration_of, states_of, uncalibrated_note
from metaeval.trust.calibration.record import read_calibration
from metaeval.trust.calibration.sheets import Calibrating
from tests.study.runs import tiny_in
from tests.tiny import write_study

JUDGE = "Judge('simulated/one,noise=0.2')"
FEW = {"resamples": 50}


def run_of(judge: str = JUDGE, out: str = "out", **keys: str) -> Path:
    evaluators = {"judge": judge, "anna": "Annotator('1')", "long": "Length()"}
    listed = ", ".join(f'{k}: "{v}"' for k, v in evaluators.items())
    write_study(Path("s.yaml"), evaluators=f"{{{listed}}}", missing="{truth: 3, score: 0}", **keys)
    return me.run("s.yaml", out).folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with tiny_in(tmp_path_factory.mktemp("made")) as folder:
        run_of()
        return folder


@pytest.fixture
def run(made: Path, fresh: Callable[[Path], Path]) -> Path:
    return fresh(made) / "out"


def by_name(sheets):
    return {s.name: s for s in sheets}


@pytest.mark.slow
def test_its_numbers_are_of_the_units_that_people_rated_and_nothing_is_filled_in(run: Path) -> None:
    sheets = by_name(calibration_of(run, Calibrating(**FEW)))
    opened = open_run(run)
    both = opened.truth.merge(opened.scores.frame.query("evaluator == 'anna'")).dropna(subset=["rating"])
    frame = sheets["calibration"].frame.set_index(["aspect", "evaluator"])
    for aspect, part in both.groupby("aspect"):
        expected = cohen_kappa(part["score"], part["rating"], "quadratic", labels=[1, 2, 3, 4, 5])
        assert frame.loc[(aspect, "anna"), "quadratic"] == pytest.approx(expected)
        assert frame.loc[(aspect, "anna"), "n_units"] == len(part)
    assert frame.loc[("fitting", "anna"), "n_units"] == 17  # one question was not answered
    assert frame.loc[("clear", "long"), "by"] == "Spearman"
    assert set(sheets) == {"conclusion", "calibration", "labels", "confusion", "maps", "conformal"}
    assert all(sheet.simulated for sheet in sheets.values())


def test_the_calibration_lies_in_the_folder_and_is_no_foreign_file_there(run: Path) -> None:
    calibration_of(run, Calibrating(**FEW))
    file = run / "calibration.json"
    first = file.read_bytes()
    calibration_of(run, Calibrating(**FEW))
    assert file.read_bytes() == first
    kept = read_calibration(run)
    record = json.loads((run / "run.json").read_text())
    assert kept["data"]["fingerprint"] == record["data"]["fingerprint"]
    assert kept["scores"] == record["outputs"]["scores.parquet"]
    assert (
        kept["evaluators"]["judge"]["identity"]["prompt"]["sha256"]
        == record["evaluators"]["judge"]["signature"]["prompt"]["sha256"]
    )
    assert kept["evaluators"]["judge"]["identity"]["models"]
    assert kept["evaluators"]["judge"]["aspects"]["clear"]["map"]["rating"] == sorted(
        kept["evaluators"]["judge"]["aspects"]["clear"]["map"]["rating"]
    )
    (run / "run.json").unlink()
    check_usable(run)


@pytest.mark.slow
def test_a_later_run_is_told_when_the_judge_changed(run: Path) -> None:
    calibration_of(run, Calibrating(**FEW))
    assert set(states_of(run).values()) == {"calibrated"}
    assert uncalibrated_note(run) is None
    later = run_of("Judge('simulated/one,noise=0.2', prompt='single-aspect')", "later")
    states = states_of(later, run)
    assert states["judge"].startswith("uncalibrated: the prompt changed (multi-aspect ")
    assert states["anna"] == "calibrated"
    assert uncalibrated_note(later) is None  # nobody calibrated there
    (later / "calibration.json").write_bytes((run / "calibration.json").read_bytes())
    assert "judge is uncalibrated: the prompt changed" in str(uncalibrated_note(later))
    (later / "calibration.json").write_text("{")
    assert "is not JSON; it is not a calibration" in str(uncalibrated_note(later))
    with pytest.raises(MetaevalError, match="did you mean 'judge'"):
        states_of(later, run, only=["juge"])


def test_a_part_of_the_truth_is_not_held_to_it(tiny: Path) -> None:
    run = run_of(truth="\"Mean(Annotator('1'), Annotator('2'))\"")
    sheet = by_name(calibration_of(run, Calibrating(**FEW)))["calibration"]
    assert set(sheet.frame["evaluator"]) == {"judge", "long"}
    assert any("Left out" in n and "anna" in n for n in sheet.notes)
    with pytest.raises(MetaevalError, match="would agree with itself"):
        calibration_of(run, Calibrating(evaluators=("anna",)))


def test_a_data_set_is_calibrated_with_what_is_recorded_in_it(tiny: Path) -> None:
    sheets = by_name(calibration_of(tiny, Calibrating(by="generator", **FEW)))
    names = {"Judge & Co_1", "S* star", "Annotator('1')", "Annotator('2')"}
    assert set(sheets["calibration"].frame["evaluator"]) == names
    assert len(sheets["strata"].frame) == 4 * 2 * 3
    assert not (tiny / "calibration.json").exists()
    against = by_name(calibration_of(tiny, Calibrating(truth="Annotator('1')", **FEW)))["calibration"].frame
    assert "Annotator('1')" not in set(against["evaluator"])
    ratings = pd.read_csv(tiny / "ratings.csv")
    ratings[ratings["rater"] != "user"].to_csv(tiny / "ratings.csv", index=False)
    with pytest.raises(MetaevalError, match="say which is the truth"):
        calibration_of(tiny, Calibrating(**FEW))


def test_wrong_input_is_said(run: Path, tmp_path: Path) -> None:
    for how, says in (
        (Calibrating(evaluators=("jugde",)), "did you mean 'judge'"),
        (Calibrating(aspects=("cleer",)), "did you mean 'clear'"),
        (Calibrating(cuts=(9,)), "does not split the scale"),
        (Calibrating(bands="1"), "two rising numbers"),
        (Calibrating(measure="f1"), "not known"),
        (Calibrating(truth="User()"), "a run has the truth of its study"),
    ):
        with pytest.raises(MetaevalError, match=says):
            calibration_of(run, how)
    with pytest.raises(RunFolderError, match="is not a run folder"):
        calibration_of(tmp_path)


def test_strata_of_a_data_set_are_columns_of_its_users_too(tiny: Path) -> None:
    (tiny / "users.csv").write_text("user_id,age\nu1,20\nu2,\nu3,30\n", encoding="utf-8")
    found = by_name(calibration_of(tiny, Calibrating(by="age", **FEW)))["strata"].frame
    assert set(found["stratum"]) == {"20", "(none)", "30"}
    with pytest.raises(MetaevalError, match=r"no column 'agee'; did you mean 'age'"):
        calibration_of(tiny, Calibrating(by="agee", **FEW))


def test_a_cut_shows_who_finds_what_passes(run: Path) -> None:
    [sheet] = [s for s in calibration_of(run, Calibrating(cuts=(3, 4), **FEW)) if s.name == "detection"]
    opened = open_run(run)
    both = opened.truth.merge(opened.scores.frame).dropna(subset=["rating", "score"])
    rows = sheet.frame.set_index(["evaluator", "aspect", "cut"])
    assert set(rows.index.get_level_values("cut")) == {3, 4}
    for (evaluator, aspect), part in both.groupby(["evaluator", "aspect"], observed=True):
        true, row = part["rating"] >= 4, rows.loc[(evaluator, aspect, 4)]
        assert row["prevalence"] == pytest.approx(true.mean())
        assert row["auc"] == pytest.approx(roc_auc_score(true, part["score"]))
        if evaluator == "anna":
            assert row["f1"] == pytest.approx(f1_score(true, part["score"] >= 4))
    assert np.isnan(rows.loc[("long", "clear", 3), "f1"])  # its scores are not on the scale
    assert not any(s.name == "detection" for s in calibration_of(run, Calibrating(**FEW)))


def test_weights_show_agreement_beyond_chance(run: Path) -> None:
    Path("own.csv").write_text(
        pd.DataFrame(np.eye(5), index=range(1, 6), columns=range(1, 6)).to_csv(), encoding="utf-8"
    )
    by = {}
    for weights in ("identity", "own.csv", "linear"):
        sheets = by_name(calibration_of(run, Calibrating(weights=weights, **FEW)))
        by[weights] = sheets["chance"].frame.set_index(["aspect", "evaluator"])
    assert by["identity"].equals(by["own.csv"])
    frame = sheets["calibration"].frame.set_index(["aspect", "evaluator"])
    at = ("fitting", "anna")
    assert by["linear"].loc[at, "conger"] == pytest.approx(frame.loc[at, "linear"])
    assert by["identity"].loc[at, "conger"] == pytest.approx(frame.loc[at, "kappa"])
    assert ("fitting", "long") not in by["linear"].index  # its scores are no labels
    with pytest.raises(MetaevalError, match="did you mean 'linear'"):
        calibration_of(run, Calibrating(weights="linaer", **FEW))
    Path("own.csv").write_text("label,1,2\n1,1,0\n2,0,1\n", encoding="utf-8")
    with pytest.raises(MetaevalError, match="a row and a column for each label: 1, 2, 3, 4, 5"):
        calibration_of(run, Calibrating(weights="own.csv", **FEW))
