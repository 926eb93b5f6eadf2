"""The map from scores to targets: out of fold, with reasons where it says nothing, and in a study."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from data.make_exposure import simulate
from metaeval.base.errors import StudyError
from metaeval.kinds.exposure.data.loading import save
from metaeval.kinds.exposure.data.log_set import preferences_of, units_of
from metaeval.kinds.exposure.pairs import matched_pairs
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.recommenders.link import judge_scores, link, preferences
from metaeval.kinds.exposure.recommenders.sums import Recommended
from metaeval.kinds.exposure.study import PropensityOptions, RecommenderOptions
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.cluster_sums import mean_of
from metaeval.trust.analyses import details_of, write_figures

USERS = 300
RESAMPLER = Resampler(USERS, resamples=300)


def means(of_systems, noise=0.05, seed=0):
    """Return a value of each system that is a mean over users, as a statistic."""
    draw = np.random.default_rng(seed)
    values = np.asarray(of_systems)[:, None] + noise * draw.normal(size=(len(of_systems), USERS))
    return mean_of(values, np.ones_like(values))


def test_a_rising_target_is_found_and_its_ends_are_outside():
    x = np.linspace(-0.4, 0.6, 9)
    found = link(means(x), means(x**2 / 2 + x / 2 + 0.3, seed=1), USERS, RESAMPLER)
    assert not found.reason
    assert found.spearman.value == pytest.approx(1)
    assert found.kendall.value == pytest.approx(1)
    assert found.spearman.low > 0.9
    assert np.flatnonzero(np.isnan(found.predicted)).tolist() == [0, 8]
    assert 0.7 < found.r2.low <= found.r2.value <= found.r2.high <= 1
    assert (np.diff(found.fitted) >= 0).all()


def test_a_score_that_says_nothing_of_the_target_has_no_r2_above_zero():
    # Targets differ, but not with the score.
    y = np.array([0.3, 0.1, 0.5, 0.2, 0.4, 0.1, 0.3])
    found = link(means(np.linspace(0, 1, 7)), means(y, seed=1), USERS, RESAMPLER)
    assert not found.reason
    assert found.r2.value < 0
    assert found.kendall.low < 0.1


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([0, 0.1, 0.2, 0.3], [0.1, 0.2, 0.3, 0.4], "few_systems"),
        ([0, 0.1, 0.2, 0.3, np.nan], [0.1, 0.2, 0.3, 0.4, 0.5], "few_systems"),
        ([0, 0.1, 0.2, 0.3, 0.4, 0.5], [0.6, 0.8, 0.9, 1.0, 1.0, 1.0], "saturated_target"),
        ([0, 0.1, 0.2, 0.3, 0.4], [0.3] * 5, "flat_target"),
    ],
)
def test_what_says_nothing_has_a_reason_and_no_numbers(x, y, reason):
    noise = 0.0 if reason == "saturated_target" else 0.05
    found = link(means(x), means(y, noise, seed=1), USERS, RESAMPLER)
    assert found.reason == reason
    assert np.isnan([found.spearman.value, found.kendall.value, found.r2.value]).all()
    assert np.isnan(found.fitted).all()


def test_a_judge_that_tells_no_recommender_from_another_has_no_map():
    rising = means(np.linspace(0.1, 0.6, 6), seed=1)
    assert link(means([0.2] * 6, noise=0), rising, USERS, None).reason == "flat_score"
    noisy = link(means([0.0] * 6, noise=0.3), rising, USERS, RESAMPLER)
    assert noisy.reason == "flat_score"
    assert np.isnan(noisy.fitted).all()


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
    about = {"kind": "exposure", "dataset": str(folder), "evaluators": evaluators}
    return {**about, "bootstrap": {"resamples": 200}, **more}


@pytest.mark.slow
def test_a_study_maps_judges_to_recall_and_audits_the_maps(folder, tmp_path):
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
    shown = {sheet.name for sheet in details_of(tmp_path / "run")}
    assert {"recommenders", "calibration", "transport"} <= shown
    drawn = write_figures(tmp_path / "run", ("csv", "svg"), tmp_path)
    assert {"calibration_curve.csv", "calibration_curve.svg"} <= {path.name for path in drawn}
    assert len(pd.read_csv(tmp_path / "calibration_curve.csv")) == 2 * 6 * 8


@pytest.mark.slow
def test_too_few_recommenders_are_said_and_no_map_is_drawn(folder, tmp_path):
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
    drawn = {path.name for path in write_figures(tmp_path / "run", ("svg",), tmp_path)}
    assert "calibration_curve.svg" not in drawn
    assert drawn


def test_groups_that_the_data_do_not_have_are_named(folder, tmp_path):
    with pytest.raises(StudyError, match=r"no groups by 'plans'.*plan"):
        me.run(study(folder, margin=0.1, transport=["plans"]), out=tmp_path / "run")
    with pytest.raises(StudyError, match="margin"):
        me.run(study(folder, margin=0), out=tmp_path / "run")


def test_pairs_that_an_ablation_matches_otherwise_do_not_count(folder):
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


def test_what_a_list_lacks_ranks_below_what_it_has():
    runs = pd.DataFrame({"system": "s", "user_id": "u", "item_id": ["a", "b"], "rank": [1, 2]})
    pairs = [("a", "b"), ("b", "a"), ("b", "x"), ("x", "a"), ("x", "y")]
    units = pd.DataFrame(pairs, columns=["first", "second"]).assign(user_id="u")
    assert preferences(runs, "s", units).tolist() == [1, -1, 1, -1, 0]
    assert preferences(runs, "s", units.assign(user_id="v")).tolist() == [0] * 5
