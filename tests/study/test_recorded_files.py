"""Runs whose recorded scores stay in their file, against those of memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.engine import files
from metaeval.runs.finished import open_run
from metaeval.study.results import read_board
from tests.tiny import write_study

TABLES = ("correlations.csv", "leaderboard.csv", "tests.csv", "ranking.csv")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return the folder of a data set with recorded scores: some missing, one evaluator of all aspects."""
    data = me.load("data/sample")
    rng = np.random.default_rng(0)
    scored = me.score(data, ["Length()", "Annotator('1')", "Annotator('2')"]).frame
    names = {"Length()": "length", "Annotator('1')": "one", "Annotator('2')": "two"}
    frame = scored.assign(evaluator=scored["evaluator"].map(names)).drop(columns="status")
    length = frame["evaluator"] == "length"
    every = frame[length].drop_duplicates(list(data.keys)).assign(aspect="")
    frame = pd.concat([frame[~length], every]).sample(frac=1, random_state=0)
    frame = frame[rng.random(len(frame)) > 0.05]
    frame.loc[rng.random(len(frame)) < 0.05, "score"] = np.nan
    folder = tmp_path_factory.mktemp("recorded") / "data"
    return replace(data, scores=frame.reset_index(drop=True)).save(folder)


def study_of(place, file, **keys):
    given = {
        "evaluators": """{length: "Recorded('length')", a: "Recorded('one')", b: "Recorded('two')"}""",
        "bootstrap": "{resamples: 50}",
        "tests": "{permutations: 200}",
        "missing": "{truth: drop, score: drop}",
    }
    return write_study(file, dataset=str(place), **(given | keys))


@pytest.mark.slow
@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"missing": "{truth: 3, score: 0}", "order_by": "{coefficient: kendall}"},
        {
            "evaluators": "[\"Recorded('*')\"]",
            "order_by": "{level: user}",
            "aspects": "[accuracy, satisfaction]",
            "exclude": "{user_id: [u01]}",
        },
    ],
)
def test_tables_are_those_of_memory(tmp_path, place, keys):
    study = study_of(place, tmp_path / "study.yaml", **keys)
    whole = me.run(study, tmp_path / "memory", engine="memory")
    found = me.run(study, tmp_path / "duckdb", engine="duckdb")
    for name in TABLES:
        pair = (pd.read_csv(run.folder / name) for run in (found, whole))
        pd.testing.assert_frame_equal(*pair, rtol=1e-9, atol=1e-9, obj=name)
    frames = [pd.read_parquet(run.folder / "scores.parquet") for run in (whole, found)]
    order = [*me.load(place).keys, "evaluator", "aspect"]
    expected, there = (f.sort_values(order).reset_index(drop=True) for f in frames)
    pd.testing.assert_frame_equal(there, expected)
    counts = [[e["scores"] for e in run.record["evaluators"].values()] for run in (whole, found)]
    assert counts[0] == counts[1]
    assert found.record["policy"]["engine"] == "duckdb"
    assert "The scores were too large to read into memory" in (found.folder / "leaderboard.md").read_text()
    assert "too large to read" not in (whole.folder / "leaderboard.md").read_text()
    assert me.run(study, tmp_path / "duckdb", engine="duckdb").already


@pytest.mark.slow
def test_many_scores_stay_in_their_file(tmp_path, place, monkeypatch):
    study = study_of(place, tmp_path / "study.yaml")
    folder = me.run(study, tmp_path / "few").folder
    assert "engine" not in open_run(folder).record.policy
    monkeypatch.setattr(files, "BYTES_PER_ROW", 10**12)
    found = me.run(study, tmp_path / "many")
    assert found.record["policy"]["engine"] == "duckdb"
    assert read_board(found.folder).to_markdown() == found.leaderboard.to_markdown()
    assert me.run(study, tmp_path / "many").already
    with pytest.raises(MetaevalError, match=r"scores of .*many do not fit in memory, and this command"):
        open_run(found.folder)
    monkeypatch.undo()
    assert len(open_run(found.folder).scores) == len(open_run(folder).scores)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        (
            {"evaluators": "[Length(), \"Recorded('one')\"]"},
            r"do not fit in memory, and Length\(\) is not one",
        ),
        (
            {"evaluators": "[\"Mean(Recorded('one'), Recorded('two'))\"]"},
            "is not one of them: score it first",
        ),
        ({"evaluators": "[\"Recorded('one')\"]", "truth": "Recorded('two')"}, "so they are no truth"),
        ({"evaluators": "[\"Recorded('tow')\"]"}, "no scores of 'tow'; .* did you mean 'two'"),
    ],
)
def test_what_takes_other_scores_is_refused(tmp_path, place, keys, sentence):
    study = study_of(place, tmp_path / "study.yaml", **keys)
    with pytest.raises(MetaevalError, match=sentence):
        me.run(study, tmp_path / "out", engine="duckdb")
    assert not (tmp_path / "out").exists()


def test_without_a_file_of_scores_it_is_refused(tmp_path):
    study = write_study(tmp_path / "study.yaml", dataset="data/sample", evaluators="[Length()]")
    with pytest.raises(
        MetaevalError, match=r"from scores.parquet, and .*sample has none; leave the engine out"
    ):
        me.run(study, tmp_path / "out", engine="duckdb")
