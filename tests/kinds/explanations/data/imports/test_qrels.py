"""Labels in TREC's qrels format become a data set: what is used, what is counted, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import metaeval as me
from metaeval.base.errors import DataError
from metaeval.cli.data import data as data_command
from metaeval.kinds.explanations.data.imports.qrels import import_qrels
from metaeval.trust.calibration.calibrating import calibration_of
from metaeval.trust.calibration.sheets import Calibrating

PEOPLE = "q1 0 d1 3\nq1 0 d2 0\nq2 0 d1 1\nq2 0 d3 2\n"
WHOLE = b"\xef\xbb\xbfq2 0 d3 2\r\nq2\t0\td1 1\r\nq1 0 d1 3\nq1 0 d2 0\n"
KNOWN = {  # of the real data's own description, and of its label files, counted with other tools
    "willia-umbrela1": (0.2863, 0.4918),
    "Olz-gpt4o": (0.2625, 0.5020),
    "h2oloo-zeroshot1": (0.2817, 0.4812),
    "TREMA-nuggets": (0.0604, 0.1691),
    "NISTRetrieval-instruct0": (0.1877, 0.3819),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.qrels").write_text(PEOPLE)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "whole.txt").write_bytes(WHOLE)
    (tmp_path / "runs" / "odd.txt").write_text("q1 0 d1 5\nq1 0 d2 x\nq2 0 d1 1.5\nq9 0 d1 1\n\n")
    return tmp_path


def imported(folder: Path, **options):
    given = {"judges": [folder / "runs" / "*.txt"], "scale": (0, 3), **options}
    return import_qrels(folder / "people.qrels", folder / "out", **given)


def test_judges_are_recorded_and_what_is_off_the_scale_is_kept_but_not_used(folder: Path) -> None:
    result = imported(folder)
    data = me.load(folder / "out")
    assert data.fingerprint == result.data.fingerprint
    assert data.keys == ("query", "document")
    assert not data.texts
    assert data.raters == ("assessor",)
    odd = data.scores[data.scores["evaluator"] == "odd"].set_index(["query", "document"])
    assert odd.loc[("q1", "d1"), ["status", "label"]].tolist() == ["out_of_range", "5"]
    assert odd.loc[("q1", "d2"), "status"] == "unparsed"
    assert odd.loc[("q2", "d1"), "status"] == "out_of_range"  # no whole label
    assert odd["score"].isna().all()
    whole = data.scores[data.scores["evaluator"] == "whole"]
    assert whole["score"].tolist() == [2, 1, 3, 0]
    reasons = "2 out_of_range, 1 unparsed, 1 missing, 1 on units without a label of people"
    assert list(result.notes) == [
        f"Recorded('odd'): 0 labels, {reasons}",
        "1 judge with a label on the scale for every unit",
    ]
    assert data.extra["recorded_from"]["odd"]["file"] == "odd.txt"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("q1 0 d1\n", "row 1: has 3 fields"),
        ("q1 0 d1 1\nq1 0 d1 2\n", "row 2: query 'q1' and document 'd1' are in an earlier line"),
        ("q1 0 d1 4\n", "the label '4' is not on the scale; allowed are integers from 0 to 3"),
        ("q1 0 d1 nan\n", "the label 'nan' is not on the scale"),
        ("\n", "has no labels"),
    ],
)
def test_what_is_wrong_with_peoples_labels_is_said_with_its_line(folder: Path, text: str, says: str) -> None:
    (folder / "people.qrels").write_text(text)
    with pytest.raises(DataError, match=says):
        imported(folder)
    assert not (folder / "out").exists()


def test_the_command(folder: Path) -> None:
    def run(*extra: str):
        files = [str(folder / "people.qrels"), "--judges", str(folder / "runs" / "*.txt")]
        return CliRunner().invoke(
            data_command, ["import", "qrels", *files, "--out", str(folder / "new"), *extra]
        )

    done = run("--scale", "0:3", "--name", "mine")
    assert done.exit_code == 0
    assert done.stdout.startswith("mine: 4 units, 2 queries, 3 documents")
    assert "2 out_of_range" in done.stdout
    assert run("--scale", "3-0").exit_code == 2


@pytest.fixture(scope="module")
def challenge(real_data: Path, tmp_path_factory) -> Path:
    folder, out = real_data / "llmjudge", tmp_path_factory.mktemp("llmjudge") / "data"
    import_qrels(
        folder / "human.qrels", out, judges=[folder / "submissions" / "*.txt"], scale=(0, 3), name="llmjudge"
    )
    return out


@pytest.mark.slow
def test_one_leaderboard_of_all_submissions_has_the_known_numbers(challenge: Path) -> None:
    sheets = {s.name: s for s in calibration_of(challenge, Calibrating(resamples=100))}
    board = sheets["labels"].frame.set_index("evaluator")
    assert len(board) == 1 + 33
    for name, (kappa, alpha) in KNOWN.items():
        assert round(board.loc[name, "kappa"], 4) == kappa
        assert round(board.loc[name, "alpha"], 4) == alpha
        assert board.loc[name, "kappa_low"] < kappa < board.loc[name, "kappa_high"]
    never = board.loc["NISTRetrieval-instruct0"]
    assert never["label 3"] == 0
    assert never["cut 3"] == 0.0
    off = board[board["n_off_scale"] > 0]
    assert off["n_off_scale"].to_dict() == {"RMITIR-llama70B": 2, "h2oloo-zeroshot2": 1}
    labels = [f"label {v}" for v in range(4)]
    assert board.loc["(people)", labels].tolist() == [2005, 1233, 808, 377]
    assert board.loc["RMITIR-llama70B", labels].sum() == 4421
    assert (board[labels].sum(axis=1) + board["n_off_scale"] == 4423).all()
    assert board["kappa"].iloc[1:].is_monotonic_decreasing
    assert not any(v == "usable as a gate" for v in sheets["calibration"].frame["verdict"])
