"""A log with pairs is run as any other data set; one without pairs says how they are made."""

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import StudyError
from metaeval.kinds.exposure.data.loading import log_of, save
from metaeval.trust.analyses import details_of
from tests.kinds.exposure.data.test_loading import ABOUT, tables


def study(folder):
    return {"kind": "exposure", "dataset": str(folder), "evaluators": ["Recorded('e')", "Random(seed=0)"]}


def test_a_run_compares_verdicts_with_outcomes_and_evaluates_the_policies_of_the_data(tmp_path):
    folder = save(log_of(ABOUT, tables()), tmp_path / "shop")
    (folder / "policies").mkdir()
    (folder / "policies" / "own.csv").write_text("item_id,probability\na,0.5\nb,0.5\n")
    me.run(study(folder), out=tmp_path / "run")
    found = pd.read_csv(tmp_path / "run" / "pair_auc.csv").query("bin == 'all' and not weighted")
    found = found.set_index("evaluator")["estimate"]
    # Recorded is asked once of the one pair that differs, a above b, and says so the wrong way round.
    assert found["Recorded('e')"] == 0
    assert (tmp_path / "run" / "report.html").exists()
    overlap = pd.read_csv(tmp_path / "run" / "overlap.csv")
    assert (overlap["n"][0], overlap["source"].unique().tolist()) == (5, ["logged"])
    values = pd.read_csv(tmp_path / "run" / "off_policy.csv")
    assert set(values["policy"]) == {"own"}
    assert values.set_index("estimator")["refused"].drop("naive").all()
    assert values.loc[values["refused"], "value"].isna().all()
    # A finished run shows the same as the run itself.
    assert {"means", "overlap", "balance"} <= {sheet.name for sheet in details_of(tmp_path / "run")}


@pytest.mark.slow
def test_a_study_fits_propensities_and_evaluates_the_policies_that_it_names(tmp_path):
    mine = tmp_path / "mine.csv"
    items = pd.read_csv("data/exposure/items.csv")["item_id"]
    pd.DataFrame({"item_id": items, "probability": 1 / len(items)}).to_csv(mine, index=False)
    content = {
        **study("data/exposure"),
        "evaluators": ["Random(seed=0)"],
        "bootstrap": {"resamples": 200},
        "policies": ["uniform", str(mine)],
        "estimators": ["naive", "snips", "direct"],
        "clip": [5],
        "propensity": {"source": "fitted", "refits": 2, "folds": 3, "features": ["item_popularity"]},
    }
    me.run(content, out=tmp_path / "run")
    means = pd.read_csv(tmp_path / "run" / "means.csv").set_index("mean")
    assert means["ci_low"]["snips"] < means["value"]["snips"] < means["ci_high"]["snips"]
    found = pd.read_csv(tmp_path / "run" / "off_policy.csv", keep_default_na=False)
    first = "policy,estimator,clip,value,ci_low,ci_high,ess,mean_weight,support,refused,reason"
    assert ",".join(found).startswith(f"{first},")
    uniform, same = (group.drop(columns="policy") for _, group in found.groupby("policy", sort=False))
    for column in ("value", "ci_low", "ci_high"):
        assert uniform[column].astype(float).tolist() == pytest.approx(same[column].astype(float).tolist())
    assert uniform["estimator"].tolist() == ["naive", "snips", "snips", "direct"]
    assert float(found["value"][1]) == pytest.approx(means["value"]["snips"], rel=1e-12)
    shown = {sheet.name: sheet for sheet in details_of(tmp_path / "run")}
    assert "area under the ROC curve" in shown["propensity_calibration"].notes[0]
    assert shown["coefficients"].frame["feature"].tolist() == ["intercept", "item_popularity"]
    assert "Effective sample size" in {c.title for c in shown["off_policy"].columns}
    assert shown["off_policy"].frame["refused"].tolist() == (found["reason"] != "").tolist()
    assert "Off-policy value of uniform, mine" in (tmp_path / "run" / "details.md").read_text()
    with pytest.raises(StudyError, match="source"):
        me.run({**content, "propensity": {"source": "guessed"}}, out=tmp_path / "other")


def test_a_policy_that_is_not_there_is_said_before_anything_is_scored(tmp_path):
    content = {**study("data/exposure"), "policies": ["unifrom"]}
    with pytest.raises(StudyError, match=r"no policy and no file 'unifrom'.*did you mean 'uniform'"):
        me.run(content, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_without_pairs_the_command_that_makes_them_is_named(tmp_path):
    folder = save(log_of(ABOUT, {"log": tables()["log"]}), tmp_path / "my shop")
    with pytest.raises(StudyError, match=r"has no pairs to judge; .* metaeval data pairs '.*my shop'"):
        me.run(study(folder), out=tmp_path / "run")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"predictions": "q.csv"}, "there is no file of predictions 'q.csv'"),
        ({"on_policy": {"unifrom": 0.3}}, "the policy 'unifrom' is not evaluated; did you mean 'uniform'"),
        ({"on_policy": {"uniform": "nowhere"}}, "'nowhere' is neither a number nor the folder of a log"),
    ],
)
def test_what_policies_are_held_against_is_checked_before_anything_is_scored(tmp_path, more, says):
    with pytest.raises(StudyError, match=says):
        me.run({**study("data/exposure"), "policies": ["uniform"], **more}, out=tmp_path / "run")


def test_a_study_holds_policies_against_known_values_and_takes_own_predictions(tmp_path):
    items = pd.read_csv("data/exposure/items.csv")["item_id"]
    pd.DataFrame({"item_id": items, "prediction": 0.25}).to_csv(tmp_path / "q.csv", index=False)
    more = {
        "predictions": str(tmp_path / "q.csv"),
        "estimators": ["naive", "direct", "sndr"],
        "subsamples": 5,
    }
    known = {
        "policies": ["uniform"],
        "on_policy": {"uniform": 0.2},
        "bootstrap": {"resamples": 50},
        "subsamples": 5,
    }
    content = {**study("data/exposure"), "evaluators": ["Random(seed=0)"], **more, **known}
    me.run(content, out=tmp_path / "run")
    found = pd.read_csv(tmp_path / "run" / "off_policy.csv").set_index("estimator")
    assert found.loc["direct", ["value", "error", "error_mean"]].tolist() == pytest.approx([0.25] * 3)
    assert found["relative"]["naive"] == 1
    assert found["error_sd"]["sndr"] > 0
    assert found["random_sample"].eq(found["random_sample"]["naive"]).all()
