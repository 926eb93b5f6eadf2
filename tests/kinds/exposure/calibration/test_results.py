"""The link in a study: files, sheets and the figure, from judges whose quality is planted."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import StudyError
from metaeval.kinds.exposure.calibration.scores import judge_scores, preferences
from metaeval.kinds.exposure.data.loading import save
from metaeval.kinds.exposure.data.log_set import preferences_of, units_of
from metaeval.kinds.exposure.data.simulated import simulate
from metaeval.kinds.exposure.pairs import matched_pairs
from metaeval.kinds.exposure.propensity.options import PropensityOptions
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.recommenders.options import RecommenderOptions
from metaeval.kinds.exposure.recommenders.sums import Recommended
from metaeval.study.commands.details import details
from metaeval.study.commands.figure_files import write_figures

BOOTSTRAP = {"resamples": 200}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a log with pairs, and verdicts of a judge that is mostly right and of one that is mostly not."""
    data = simulate(users=400, items=120, seed=3).data
    found = matched_pairs(propensities_of(data, PropensityOptions()), floor=1e-6)
    units = units_of(found.frame)
    truth = preferences_of(units, data.log)
    draw = np.random.default_rng(0)
    verdicts = []
    for name, right in (("good", 0.9), ("contrary", 0.1)):
        says = truth["rating"] * np.where(draw.random(len(truth)) < right, 1, -1)
        verdicts.append(truth[["user_id", "pair", "order"]].assign(evaluator=name, score=says))
    profiles = pd.DataFrame({"user_id": sorted(data.log["user_id"].astype("str").unique())})
    profiles["plan"] = np.where(np.arange(len(profiles)) % 2, "free", "paid")
    scores = pd.concat(verdicts, ignore_index=True).assign(aspect="preference")
    made = replace(data, table=units, ratings=truth, scores=scores, profiles=profiles)
    return save(made, tmp_path_factory.mktemp("log") / "data")


def study(folder, **more):
    evaluators = {"good": "Recorded('good')", "contrary": "Recorded('contrary')"}
    return {
        "kind": "exposure",
        "dataset": str(folder),
        "evaluators": evaluators,
        "bootstrap": BOOTSTRAP,
        **more,
    }


def test_a_study_maps_judges_to_recall_and_audits_the_maps(folder, tmp_path) -> None:
    options = {"k": 10, "estimators": ["naive", "ips", "snips", "dr"]}
    groups = ["popularity", "time", "plan"]
    me.run(study(folder, recommenders=options, margin=0.5, transport=groups), out=tmp_path / "run")
    found = pd.read_csv(tmp_path / "run" / "calibration.csv")
    assert set(found["measure"]) == {"Recall@10", "nDCG@10"}
    assert set(found["estimator"]) == {"ips", "snips", "dr"}
    recall = found[(found["measure"] == "Recall@10") & (found["estimator"] == "snips")].set_index("evaluator")
    assert recall["spearman"]["good"] > 0.7
    assert recall["spearman"]["contrary"] < -0.7
    assert recall["spearman_low"]["good"] <= recall["spearman"]["good"] <= recall["spearman_high"]["good"]
    assert recall["r2"]["contrary"] < 0 < recall["r2"]["good"]
    audits = pd.read_csv(tmp_path / "run" / "transport.csv")
    assert set(audits["by"]) == set(groups)
    assert set(audits["outcome"]) <= {"transports", "does not", "inconclusive"}
    # Half of the users are like the other half: no error can be as large as the margin.
    plans = audits[(audits["by"] == "plan") & (audits["evaluator"] == "good")]
    assert plans["outcome"].eq("transports").all()
    # A finished run shows the tables, and draws the curve.
    shown = {sheet.name for sheet in details(tmp_path / "run")}
    assert {"recommenders", "calibration", "transport"} <= shown
    drawn = write_figures(tmp_path / "run", ("csv", "svg"), tmp_path)
    assert {"calibration_curve.csv", "calibration_curve.svg"} <= {path.name for path in drawn}
    assert len(pd.read_csv(tmp_path / "calibration_curve.csv")) == 2 * 6 * 8


def test_too_few_recommenders_are_said_and_no_map_is_drawn(folder, tmp_path) -> None:
    data = me.load(folder)
    few = data.runs[data.runs["system"].isin(["popular", "random", "near-best"])].reset_index(drop=True)
    place = save(replace(data, runs=few), tmp_path / "few")
    me.run(study(place, recommenders={"measures": ["Recall"]}), out=tmp_path / "run")
    found = pd.read_csv(tmp_path / "run" / "calibration.csv")
    assert found["reason"].eq("few_systems").all()
    assert found["spearman"].isna().all()
    points = pd.read_csv(tmp_path / "run" / "calibration_points.csv")
    assert points["fitted"].isna().all()
    assert points["target"].notna().all()
    drawn = {path.name: path for path in write_figures(tmp_path / "run", ("svg",), tmp_path)}
    assert 'line mark" d=' not in drawn["calibration_curve.svg"].read_text()


def test_groups_that_the_data_do_not_have_are_named(folder, tmp_path) -> None:
    with pytest.raises(StudyError, match=r"no groups by 'plans'.*plan"):
        me.run(study(folder, margin=0.1, transport=["plans"]), out=tmp_path / "run")
    with pytest.raises(StudyError, match="margin"):
        me.run(study(folder, margin=0), out=tmp_path / "run")


def test_pairs_that_an_ablation_matches_otherwise_do_not_count(folder) -> None:
    data = me.load(folder)
    extra = np.arange(len(data.table)) % 3 == 0
    more = replace(data, table=data.table.assign(matching=np.where(extra, "price", "")))
    given = propensities_of(data, PropensityOptions())
    found = []
    for one, units in ((data, ~extra), (more, None)):
        of = Recommended.of(one, given, RecommenderOptions(), 1e-6)
        ones = np.ones((len(of.users), 1))
        found.append(judge_scores(of, data.scores)["good"].statistic(units).at(ones))
    assert found[0] == pytest.approx(found[1])


def test_what_a_list_lacks_ranks_below_what_it_has() -> None:
    runs = pd.DataFrame({"system": "s", "user_id": "u", "item_id": ["a", "b"], "rank": [1, 2]})
    pairs = [("a", "b"), ("b", "a"), ("b", "x"), ("x", "a"), ("x", "y")]
    units = pd.DataFrame(pairs, columns=["first", "second"]).assign(user_id="u")
    assert preferences(runs, "s", units).tolist() == [1, -1, 1, -1, 0]
    assert preferences(runs, "s", units.assign(user_id="v")).tolist() == [0] * 5
