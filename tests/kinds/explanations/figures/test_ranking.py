"""The forest plot's numbers are those of the run, and people's those of a plain correlation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.records import Kind
from metaeval.engine.alignment.policy import Policy
from metaeval.kinds.explanations.figures.ranking import CELL, forest, human_reference

KEYS = ["user_id", "item_id", "generator"]
POLICY = Policy.of(["dataset", "user"], ["pearson", "spearman"], None, "skip", "common")


def study(raters: tuple[str, ...] = ("1", "2", "3")) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    units = [(f"u{u}", f"i{i}", "g", a) for u in range(5) for i in range(8) for a in ("clear", "fitting")]
    truth = pd.DataFrame(units, columns=[*KEYS, "aspect"])
    truth["rating"] = rng.integers(1, 6, len(truth)).astype(float)
    people = []
    for rater in raters:
        heard = (truth["rating"] + rng.integers(-2, 3, len(truth))).clip(1, 5)
        people.append(truth.assign(rater=rater, rating=heard))
    return truth, pd.concat(people, ignore_index=True)


def correlations(truth: pd.DataFrame, raters: pd.DataFrame) -> pd.DataFrame:
    scores = raters.rename(columns={"rater": "evaluator", "rating": "score"})
    return me.correlate(
        scores, truth, levels=POLICY.levels, coefficients=POLICY.coefficients, bootstrap={"resamples": 20}
    ).frame


def test_the_line_is_the_best_annotator_of_each_column() -> None:
    truth, raters = study()
    frame = correlations(truth, raters)
    kinds = {"1": Kind.ANNOTATOR, "2": Kind.ANNOTATOR, "3": Kind.JUDGE}
    human = human_reference(frame, kinds, truth, raters, POLICY)
    ranked = forest(frame, kinds, human)
    assert len(ranked) == len(frame) == 3 * 3 * 2 * 2
    for row in ranked.to_dict("records"):
        cell = frame[(frame[["aspect", "level", "coefficient"]] == [row[c] for c in CELL]).all(axis=1)]
        estimates = cell.set_index("evaluator")["estimate"]
        assert row["estimate"] == estimates[row["evaluator"]]
        assert row["human"] == max(estimates["1"], estimates["2"])
        assert row["human_who"] == estimates[["1", "2"]].idxmax()
    assert ranked["kind"].unique().tolist() == ["annotator", "judge"]


def test_annotators_of_the_truth_are_held_against_the_others() -> None:
    _, raters = study()
    truth = raters.groupby([*KEYS, "aspect"], as_index=False)["rating"].mean()
    frame = correlations(truth, raters).assign(evaluator="judge").drop_duplicates(["evaluator", *CELL])
    human = human_reference(frame, {"judge": Kind.JUDGE}, truth, raters, POLICY, truth_raters={"1", "2", "3"})
    found = human.set_index(CELL)["human"]
    wide = raters[raters["aspect"] == "clear"].pivot_table(index=KEYS, columns="rater", values="rating")
    naive = [wide[r].corr(wide.drop(columns=r).mean(axis=1)) for r in wide]
    assert found["clear", "dataset", "pearson"] == pytest.approx(max(naive))
    assert set(human["coefficient"]) == {"pearson", "spearman"}
    assert "annotator 1 against the mean of 2 and 3" in set(human["human_who"])
