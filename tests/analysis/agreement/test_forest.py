"""The forest plot's numbers are those of the run, and people's those of a plain correlation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.analysis.agreement.forest import forest, human_reference, without_lone_average
from metaeval.base.records import Kind
from metaeval.engine.alignment.policy import Policy

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
    sheet = forest(frame, kinds, human, intervals="Lines are intervals.")
    assert len(sheet.frame) == len(frame) == 3 * 3 * 2 * 2
    for row in sheet.frame.to_dict("records"):
        cell = frame[(frame[["aspect", "level", "coefficient"]] == [row[c] for c in CELL]).all(axis=1)]
        estimates = cell.set_index("evaluator")["estimate"]
        assert row["estimate"] == estimates[row["evaluator"]]
        assert row["human"] == max(estimates["1"], estimates["2"])
        assert row["human_who"] == estimates[["1", "2"]].idxmax()
    assert sheet.frame["kind"].unique().tolist() == ["annotator", "judge"]


CELL = ["aspect", "level", "coefficient"]


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


def test_two_annotators_are_held_against_each_other() -> None:
    _, raters = study(("1", "2"))
    truth = raters.groupby([*KEYS, "aspect"], as_index=False)["rating"].mean()
    human = human_reference(correlations(truth, raters), {}, truth, raters, POLICY, truth_raters={"1", "2"})
    wide = raters[raters["aspect"] == "fitting"].pivot_table(index=KEYS, columns="rater", values="rating")
    found = human.set_index(CELL)["human"]
    assert found["fitting", "dataset", "spearman"] == pytest.approx(wide["1"].corr(wide["2"], "spearman"))


def test_without_people_there_is_no_line_and_nothing_but_nan_is_named() -> None:
    truth, raters = study()
    frame = correlations(truth, raters)
    frame.loc[frame["evaluator"] == "2", ["estimate", "ci_low", "ci_high"]] = np.nan
    human = human_reference(frame, {}, truth, None, POLICY)
    sheet = forest(frame, {}, human)
    assert sheet.frame["human"].isna().all()
    assert "human" not in [c.name for c in sheet.columns]
    assert "without a dot: 2." in sheet.notes[-1]
    assert set(sheet.frame["evaluator"]) == {"1", "2", "3"}


def test_the_average_of_one_aspect_is_that_aspect() -> None:
    truth, raters = study()
    one = correlations(truth[truth["aspect"] == "clear"], raters)
    assert set(without_lone_average(one)["aspect"]) == {"clear"}
    assert "average" in set(without_lone_average(correlations(truth, raters))["aspect"])
