"""A log with pairs is run as any other data set; one without pairs says how they are made."""

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import StudyError
from metaeval.kinds.exposure.data.loading import load, log_of, save
from metaeval.kinds.kind import kind_named
from metaeval.kinds.study import make_study
from metaeval.study.commands.details import details
from tests.kinds.exposure.data.test_loading import ABOUT, tables


def study(folder):
    return {"kind": "exposure", "dataset": str(folder), "evaluators": ["Recorded('e')", "Random(seed=0)"]}


def test_a_run_compares_verdicts_with_outcomes(tmp_path) -> None:
    folder = save(log_of(ABOUT, tables()), tmp_path / "shop")
    me.run(study(folder), out=tmp_path / "run")
    found = pd.read_csv(tmp_path / "run" / "pair_auc.csv").query("bin == 'all' and not weighted")
    found = found.set_index("evaluator")["estimate"]
    # Recorded is asked once of the one pair that differs, a above b, and says so the wrong way round.
    assert found["Recorded('e')"] == 0
    assert (tmp_path / "run" / "report.html").exists()
    overlap = pd.read_csv(tmp_path / "run" / "overlap.csv")
    assert overlap["n"][0] == 5
    assert overlap["source"].unique().tolist() == ["logged"]
    # A finished run shows the same as the run itself.
    assert {"means", "overlap", "balance"} <= {sheet.name for sheet in details(tmp_path / "run")}


def test_propensities_of_a_study_may_be_fitted(tmp_path) -> None:
    how = {"source": "fitted", "refits": 2, "folds": 3, "features": ["item_popularity"]}
    content = {**study("data/exposure"), "evaluators": ["Random(seed=0)"], "propensity": how}
    me.run(content, out=tmp_path / "run")
    means = pd.read_csv(tmp_path / "run" / "means.csv").set_index("mean")
    assert means["ci_low"]["snips"] < means["value"]["snips"] < means["ci_high"]["snips"]
    shown = {sheet.name: sheet for sheet in details(tmp_path / "run")}
    assert "area under the ROC curve" in shown["propensity_calibration"].notes[0]
    assert shown["coefficients"].frame["feature"].tolist() == ["intercept", "item_popularity"]
    with pytest.raises(StudyError, match="source"):
        me.run({**content, "propensity": {"source": "guessed"}}, out=tmp_path / "other")


def test_a_study_evaluates_the_policies_that_it_names(tmp_path) -> None:
    mine = tmp_path / "mine.csv"
    items = pd.read_csv("data/exposure/items.csv")["item_id"]
    pd.DataFrame({"item_id": items, "probability": 1 / len(items)}).to_csv(mine, index=False)
    content = {
        **study("data/exposure"),
        "evaluators": ["Random(seed=0)"],
        "policies": ["uniform", str(mine)],
        "estimators": ["naive", "snips", "direct"],
        "clip": [5],
        "bootstrap": {"resamples": 200},
        "propensity": {"refits": 3},
    }
    me.run(content, out=tmp_path / "run")
    found = pd.read_csv(tmp_path / "run" / "off_policy.csv", keep_default_na=False)
    first = "policy,estimator,clip,value,ci_low,ci_high,ess,mean_weight,support,refused,reason"
    assert ",".join(found).startswith(f"{first},")
    uniform, same = (group.drop(columns="policy") for _, group in found.groupby("policy", sort=False))
    for column in ("value", "ci_low", "ci_high"):
        assert uniform[column].astype(float).tolist() == pytest.approx(same[column].astype(float).tolist())
    assert uniform["estimator"].tolist() == ["naive", "snips", "snips", "direct"]
    means = pd.read_csv(tmp_path / "run" / "means.csv").set_index("mean")["value"]
    assert float(found["value"][1]) == means["snips"]
    shown = {sheet.name: sheet for sheet in details(tmp_path / "run")}
    assert "Effective sample size" in {c.title for c in shown["off_policy"].columns}
    assert shown["off_policy"].frame["refused"].tolist() == (found["reason"] != "").tolist()
    assert "Off-policy value of uniform, mine" in (tmp_path / "run" / "details.md").read_text()


def test_a_policy_that_is_not_there_is_said_before_anything_is_scored(tmp_path) -> None:
    content = {**study("data/exposure"), "policies": ["unifrom"]}
    with pytest.raises(StudyError, match=r"no policy and no file 'unifrom'.*did you mean 'uniform'"):
        me.run(content, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_policies_that_came_with_the_data_are_evaluated_without_being_named(tmp_path) -> None:
    folder = save(log_of(ABOUT, tables()), tmp_path / "shop")
    (folder / "policies").mkdir()
    (folder / "policies" / "own.csv").write_text("item_id,probability\na,0.5\nb,0.5\n")
    me.run(study(folder), out=tmp_path / "run")
    found = pd.read_csv(tmp_path / "run" / "off_policy.csv")
    assert set(found["policy"]) == {"own"}
    assert found.set_index("estimator")["refused"].drop("naive").all()
    assert found.loc[found["refused"], "value"].isna().all()


def test_a_floor_of_the_study_reaches_the_weights_of_pairs() -> None:
    data = load("data/exposure")
    kind, content = kind_named("exposure"), study("data/exposure")
    as_made = kind.chosen(make_study(content), data)
    assert as_made.table["weight"].equals(data.table["weight"])
    floored = kind.chosen(make_study({**content, "propensity": {"floor": 0.2}}), data).table
    p = floored[["propensity_first", "propensity_second"]].clip(lower=0.2)
    assert floored["weight"].to_numpy() == pytest.approx((1 / p).sum(axis=1).to_numpy())
    assert (floored["weight"] < data.table["weight"]).any()


def test_without_pairs_the_command_that_makes_them_is_named(tmp_path) -> None:
    folder = save(log_of(ABOUT, {"log": tables()["log"]}), tmp_path / "my shop")
    with pytest.raises(StudyError, match=r"has no pairs to judge; .* metaeval data pairs '.*my shop'"):
        me.run(study(folder), out=tmp_path / "run")
