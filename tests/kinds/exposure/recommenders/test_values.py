"""Values of recommenders in a table: intervals, tests, refusals."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from data.make_exposure import simulate
from metaeval.base.errors import MetaevalError
from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.recommenders.sums import Recommended
from metaeval.kinds.exposure.recommenders.values import recommenders_frame
from metaeval.kinds.exposure.study import PropensityOptions, RecommenderOptions


def frame_of(data, source="logged", *, how, refits=0, **options):
    propensities = propensities_of(data, PropensityOptions(source=source, folds=3, negatives=2))
    recommended = Recommended.of(data, propensities, RecommenderOptions(**options), 1e-6)
    return recommenders_frame(recommended, how, refits=refits)


@pytest.fixture(scope="module")
def data():
    return simulate(users=500, items=80, seed=3).data


def test_values_have_intervals_and_the_best_is_tested_against(data):
    found = frame_of(data, how=Bootstrap(resamples=400), measures=["Recall"], estimators=["naive", "snips"])
    assert found["measure"].unique().tolist() == ["Recall@20"]
    assert ((found["ci_low"] < found["value"]) & (found["value"] < found["ci_high"])).all()
    best = found[found["estimator"] == "snips"].set_index("system")
    assert best["value"].idxmax() == "near-best"
    assert np.isnan(best["p_best"]["near-best"])
    assert best["p_best"]["random"] < 0.05


@pytest.mark.parametrize("refits", [0, 4])
def test_a_difference_has_an_interval_of_the_same_users(data, refits):
    """With a baseline, and else with the best; also where propensities are fitted again."""
    how = {"how": Bootstrap(resamples=400), "measures": ["Recall"], "refits": refits}
    how["estimators"], source = (["naive"], "fitted") if refits else (["ips"], "logged")
    found = frame_of(data, source, baseline="taste-1", **how).set_index("system")
    assert found["baseline"].unique().tolist() == ["taste-1"]
    own = found.drop("taste-1")
    assert np.isnan(found.loc["taste-1", ["delta", "delta_low", "delta_high"]].astype(float)).all()
    assert own["delta"].to_numpy() == pytest.approx(own["value"] - found["value"]["taste-1"])
    assert ((own["delta_low"] < own["delta"]) & (own["delta"] < own["delta_high"])).all()
    best = frame_of(data, source, **how).set_index("system")
    assert best["baseline"].unique().tolist() == [best["value"].idxmax()]
    assert (best["delta"].dropna() < 0).all()
    assert best["value"].to_numpy() == pytest.approx(found["value"].to_numpy())
    with pytest.raises(MetaevalError, match="no recommender that can be measured is called 'popula'"):
        frame_of(data, baseline="popula", **{**how, "how": None})


def test_two_names_of_one_recommender_do_not_differ(data):
    runs = data.runs[data.runs["system"] == "taste-4"]
    twice = replace(data, runs=pd.concat([runs, runs.assign(system="twin")], ignore_index=True))
    found = frame_of(twice, how=Bootstrap(resamples=200), measures=["nDCG"], estimators=["ips"])
    assert len(found) == 2
    assert np.ptp(found["value"]) == 0
    assert found["p_best"].dropna().tolist() == [1.0]


def test_a_recommender_of_what_the_log_never_shows_is_refused(data):
    log = data.log.astype({"item_id": "str"})
    hidden = sorted(data.items["item_id"])[:20]
    every = [(u, item, rank + 1) for u in log["user_id"].unique() for rank, item in enumerate(hidden)]
    lists = pd.DataFrame(every, columns=["user_id", "item_id", "rank"]).assign(system="hidden")
    shown = data.log[~log["item_id"].isin(hidden)].reset_index(drop=True)
    one = replace(data, log=shown, runs=pd.concat([data.runs, lists], ignore_index=True))
    found = frame_of(one, how=None, measures=["Recall"]).set_index(["estimator", "system"])
    for name in ("ips", "snips", "dr"):
        row = found.loc[name, "hidden"]
        assert row["refused"]
        assert np.isnan(row["value"])
        assert "support" in row["reason"]
    assert not found.loc["naive", "hidden"]["refused"]


def test_sound_logs_are_not_refused_and_sweeps_are_rows_of_their_own(data):
    found = frame_of(data, how=None, measures=["Recall"], estimators=["ips"], clip=[2000.0], trim=[2000.0])
    assert not found["refused"].any()
    plain = found[found["clip"].isna() & found["trim"].isna()]["value"].to_numpy()
    assert found[found["clip"] == 2000]["value"].to_numpy() == pytest.approx(plain)
    assert found[found["trim"] == 2000]["value"].to_numpy() == pytest.approx(plain)


@pytest.mark.slow
def test_fitted_propensities_are_fitted_anew_in_each_resample(data):
    few = {"how": Bootstrap(resamples=300), "measures": ["Recall"], "estimators": ["snips"]}
    found = frame_of(data, "fitted", refits=4, **few)
    kept = found[~found["refused"]]
    assert len(kept)
    assert (kept["ci_low"] < kept["value"]).all()
    assert frame_of(data, "fitted", refits=0, **few)["ci_low"].isna().all()
    against = frame_of(replace(data, test=data.test.assign(outcome=1.0)), "fitted", **few)
    assert against["reason"].str.contains("random_sample: weighted by fitted propensities").all()
