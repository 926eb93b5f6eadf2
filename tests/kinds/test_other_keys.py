"""Data whose units are named by other keys than explanations: answers, by who asked and the question."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import DataError
from metaeval.data.units import summary
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.data.loading import save

KEYS = ["asker", "question"]


@pytest.fixture
def answers() -> ExplanationSet:
    rng = np.random.default_rng(4)
    units = pd.MultiIndex.from_product([list("abcdef"), ["why", "how", "who"]], names=KEYS).to_frame(
        index=False
    )
    ratings = units.assign(rater="asker", aspect="right", rating=rng.integers(1, 6, len(units)) * 1.0)
    noise = np.clip(ratings["rating"] + rng.integers(-1, 2, len(units)), 1, 5)
    scores = units.assign(evaluator="tool", aspect="right", score=noise)
    texts = units.assign(explanation="Because " + units["question"])
    return me.from_frames(texts, ratings, scores=scores, scale=(1, 5), name="answers", keys=KEYS)


def test_the_data_set_says_what_its_units_are_named_by(answers: ExplanationSet, tmp_path) -> None:
    assert answers.keys == ("asker", "question")
    assert answers.cluster == "asker"
    assert answers.nouns == {"asker": "asker", "question": "question"}
    assert summary(answers).startswith("answers: 18 units, 6 askers, 3 questions, 1 aspect")
    assert len(answers.without("asker", ["a", "b"])) == 12
    save(answers, tmp_path / "saved")
    again = me.load(tmp_path / "saved")
    assert (again.keys, again.fingerprint) == (answers.keys, answers.fingerprint)


def test_it_is_scored_and_correlated_at_the_levels_of_its_keys(answers: ExplanationSet) -> None:
    table = me.score(answers, ["Recorded('tool')", "Length()"])
    assert table.keys == ("asker", "question")
    truth = answers.ratings.drop(columns="rater")
    levels = ["dataset", "asker", "question"]
    found = me.correlate(table, truth, levels=levels, coefficients=["pearson"], bootstrap={"resamples": 50})
    assert found.policy["bootstrap"]["cluster"] == "asker"
    tool = {r.level: r for r in found if r.evaluator == "Recorded('tool')" and r.aspect == "right"}
    merged = truth.merge(answers.scores, on=KEYS)
    assert tool["dataset"].estimate == pytest.approx(merged["rating"].corr(merged["score"]))
    within = merged.groupby("asker")[["rating", "score"]].corr().iloc[::2]["score"]
    assert tool["asker"].estimate == pytest.approx(within.mean())
    means = merged.groupby("question")[["rating", "score"]].mean()
    assert tool["question"].estimate == pytest.approx(means["rating"].corr(means["score"]))
    with pytest.raises(DataError, match="'user' is not allowed with the key columns asker, question"):
        me.correlate(table, truth, levels=["user"])
