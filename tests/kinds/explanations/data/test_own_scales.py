"""Aspects with scales of their own, 0 to 1, 1 to 3 and 1 to 5 in one data set."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import DataError
from metaeval.base.records import Scale
from metaeval.kinds.explanations.data.loading import load, save
from metaeval.kinds.explanations.judge.judge import Judge
from metaeval.runs.folder import read_record
from tests.study.test_report import payload_of

ASPECTS = {
    "clear": {"statement": "It is clear", "scale": {"min": 0, "max": 1}},
    "trust": {"statement": "I trust it", "scale": {"min": 1, "max": 3}},
    "fun": "It is fun",
}
SCALES = {"clear": Scale(0, 1), "trust": Scale(1, 3), "fun": Scale(1, 5)}
N = 24


def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    units = pd.DataFrame(
        {
            "user_id": [f"u{i // 4}" for i in range(N)],
            "item_id": [f"i{i % 4 // 2}" for i in range(N)],
            "generator": [f"g{i % 2}" for i in range(N)],
            "explanation": [f"Text number {i} of its kind" for i in range(N)],
        }
    )
    keys = units.drop(columns="explanation")
    ratings = [
        keys.assign(rater=rater, aspect=a, rating=rng.integers(int(s.min), int(s.max) + 1, N))
        for a, s in SCALES.items()
        for rater in ("user", "anna")
    ]
    return units, pd.concat(ratings, ignore_index=True)


@pytest.fixture
def data():
    units, ratings = frames()
    return me.from_frames(units, ratings, aspects=ASPECTS, scale=(1, 5), name="mixed")


def test_a_folder_keeps_them_and_the_fingerprint_depends_on_them(data, tmp_path) -> None:
    assert {a: data.scale.of(a) for a in data.aspects} == SCALES
    assert (data.scale.min, data.scale.max) == (0, 5)
    again = load(save(data, tmp_path / "mixed"))
    assert again.scale == data.scale
    assert again.fingerprint == data.fingerprint
    other = {**ASPECTS, "clear": {"statement": "It is clear", "scale": {"min": 0, "max": 2}}}
    assert me.from_frames(*frames(), aspects=other, scale=(1, 5)).fingerprint != data.fingerprint


def test_each_rating_is_held_against_its_own_scale() -> None:
    units, ratings = frames()
    ratings.loc[ratings.index[0], "rating"] = 2  # on the scale of the others, but not on that of `clear`
    with pytest.raises(DataError, match=r"row 2, .*2 is not on the scale; allowed are integers from 0 to 1"):
        me.from_frames(units, ratings, aspects=ASPECTS, scale=(1, 5))


@pytest.mark.parametrize("aspects", [{"clear": ASPECTS["clear"], "fun": "It is fun"}, {"fun": "It is fun"}])
def test_an_aspect_without_a_scale_is_refused(aspects, tmp_path, data) -> None:
    folder = save(data, tmp_path / "mixed")
    text = json.dumps({"name": "x", "aspects": aspects})
    (folder / "dataset.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"the aspect 'fun' has no scale|the key 'scale' is missing"):
        load(folder)


def test_a_judge_asks_once_per_scale_and_names_it(data) -> None:
    judge = Judge("simulated/one")
    aspects = list(data.aspects)
    questions = list(judge.questions(data, aspects))
    assert [q.aspects for q in questions[:3]] == [(0,), (1,), (2,)]
    assert [q.fields[0].scale for q in questions[:3]] == list(SCALES.values())
    told = ["\n".join(m.content for m in q.request.messages) for q in questions[:3]]
    assert "0 to 1" in told[0]
    assert "1 to 3" in told[1]
    assert "1 to 5" in told[2]


@pytest.mark.slow
def test_a_run_reports_on_them(data, tmp_path) -> None:
    save(data, tmp_path / "mixed")
    (tmp_path / "study.yaml").write_text(
        "kind: explanations\ndataset: mixed\ntruth: User()\n"
        'evaluators: ["Annotator(\'anna\')", "Random(seed=0)", "Judge(\'simulated/one\')", Length()]\n'
        "levels: [dataset]\nbootstrap: {resamples: 20}\n"
        f"judging: {{store: {tmp_path / 'replies.sqlite'}}}\n",
        encoding="utf-8",
    )
    run = me.run(tmp_path / "study.yaml", out=tmp_path / "run")
    record = read_record(tmp_path / "run")
    assert record.data.scale == data.scale
    frame = run.scores.frame
    judged = frame[frame["evaluator"].str.startswith("Judge")]
    for aspect, scale in SCALES.items():
        assert judged.loc[judged["aspect"] == aspect, "score"].between(scale.min, scale.max).all()
    payload = payload_of(tmp_path / "run" / "report.html")
    assert "clear: 0 to 1, whole numbers; trust: 1 to 3, whole numbers" in str(payload["facts"])
    on_scale = {e["spec"]: e["onScale"] for e in payload["evaluators"]}
    assert "an average over aspects weighs each by the length" in str(payload)
    found = run.correlations.frame.query("evaluator == \"Annotator('anna')\" and coefficient == 'pearson'")
    by_aspect = found.set_index("aspect")["estimate"]
    assert by_aspect["average"] == pytest.approx(by_aspect[list(SCALES)].mean())
    assert [on_scale[s] for s in ("Annotator('anna')", "Random(seed=0)", "Length()")] == [True, True, False]
