"""Agreement of systems' orders: what is published, what is exact, and whether intervals hold."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy.stats import kendalltau, weightedtau

from benchmarks.system_orders import FAMILIES, UNRELATED, covered
from metaeval.base.records import Scale
from metaeval.kinds.relevance.study import RelevanceStudy
from metaeval.kinds.relevance.systems.agreement import MeasurePair, means_of, system_agreement
from metaeval.kinds.relevance.systems.decisions import (
    clusters,
    decisions,
    favours_popular,
    p_better,
    system_popularity,
)
from metaeval.kinds.relevance.systems.effectiveness import RankedRuns, by_evaluator
from metaeval.kinds.relevance.systems.labels import Judgements
from metaeval.kinds.relevance.systems.measures import measure_named
from metaeval.stats.resampling.bootstrap import Resampler

PAIR = MeasurePair("Compat(p=0.9)", "nDCG@10")
SAME = MeasurePair("nDCG@10", "nDCG@10")
MEASURES = [measure_named(name) for name in PAIR]


@pytest.fixture(scope="module")
def found(dl21):
    judgements, runs = dl21
    return by_evaluator(runs, judgements.labels, MEASURES)


def test_the_file_of_the_deep_learning_track(found):
    frame = system_agreement(found, "human", [PAIR, SAME], Resampler(53, 200))
    columns = "evaluator,measure,truth_measure,tau,ci_low,ci_high,weighted_tau,tau_ap,n_systems"
    assert list(frame)[:9] == columns.split(",")
    by_name = frame.set_index(["measure", "evaluator"])
    assert by_name["tau"]["Compat(p=0.9)"].round(3).to_dict() == {
        "human": 0.916,
        "gpt-4o-umbrela": 0.890,
        "gpt-4o-binary": 0.904,
        "llama3.2-binary": 0.784,
    }
    assert (frame["n_systems"] == 63).all()
    own = by_name.loc["nDCG@10", "human"]
    assert (own[["tau", "ci_low", "ci_high", "weighted_tau", "tau_ap", "tau_top"]] == 1).all()
    x, y = (means_of(found[e], m) for e, m in (("gpt-4o-binary", PAIR.judge), ("human", PAIR.truth)))
    row = by_name.loc["Compat(p=0.9)", "gpt-4o-binary"]
    assert row["tau"] == pytest.approx(kendalltau(x, y).statistic)
    assert row["weighted_tau"] == pytest.approx(weightedtau(x, y, rank=True).statistic)
    assert row["ci_low"] < row["tau_corrected"] < row["ci_high"]
    # Llama keeps the order worse than the best judge, by the tests too.
    p = by_name["p_best"]["Compat(p=0.9)"].dropna()
    assert list(p.index) == ["gpt-4o-umbrela", "llama3.2-binary"]
    assert p["llama3.2-binary"] < 0.05 < p["gpt-4o-umbrela"]


def test_decisions_of_the_truth_itself_agree(found):
    frame = decisions(found, "human", [SAME]).set_index("evaluator")
    assert frame.loc["human", ["agree", "miss", "reversed", "extra"]].tolist() == [1, 0, 0, 0]
    assert (frame[["agree", "miss", "reversed"]].sum(axis=1).round(9) == 1).all()
    assert frame["n_pairs"].eq(63 * 62 // 2).all()


def test_decisions_are_t_tests_with_holms_correction(found):
    from scipy.stats import ttest_rel
    from statsmodels.stats.multitest import multipletests

    values = found["human"].of_user["nDCG@10"]
    some = [0, 5, 9, 14]  # four systems are a family of twelve
    p = np.array(
        [[ttest_rel(values[a], values[b], alternative="greater").pvalue for b in some] for a in some]
    )
    off = ~np.eye(4, dtype=bool)
    expected = multipletests(p[off], method="holm")[1]
    only = dataclasses.replace(found["human"], of_user={"nDCG@10": values[some]})
    assert p_better(only, "nDCG@10")[off] == pytest.approx(expected, abs=1e-12)
    assert clusters(only, "nDCG@10").min() == 1


def test_a_judge_that_likes_what_is_popular_is_seen_to_favour_popular_systems():
    rng = np.random.default_rng(4)
    users, items, systems = 60, 40, 12
    popular = np.linspace(1, 0, items)
    taste = rng.normal(size=(users, items))
    histories = pd.DataFrame(
        {"item_id": [f"i{i}" for i in range(items) for _ in range(1 + int(90 * popular[i]))]}
    )
    rows = []
    for s in range(systems):  # each has some of taste and some of popularity
        score = 0.5 * taste + (s / 4) * popular + rng.normal(size=taste.shape)
        for u, order in enumerate(np.argsort(-score, axis=1)[:, :10]):
            rows += [(f"s{s}", f"u{u}", f"i{i}", r + 1) for r, i in enumerate(order)]
    runs = pd.DataFrame(rows, columns=["system", "user_id", "item_id", "rank"])
    units = pd.DataFrame(
        [(f"u{u}", f"i{i}") for u in range(users) for i in range(items)], columns=["user_id", "item_id"]
    )
    labels = {
        "human": np.digitize(taste, [0, 1]).ravel(),
        "fair": np.digitize(taste + 0.3 * rng.normal(size=taste.shape), [0, 1]).ravel(),
        "biased": np.digitize(taste + 2 * popular - 1, [0, 1]).ravel(),
    }
    judgements = Judgements.of(units, {k: v.astype(float) for k, v in labels.items()}, Scale(0, 2))
    ranked = RankedRuns.of(runs, judgements.units)
    every = by_evaluator(ranked, judgements.labels, [measure_named("nDCG@10")])
    popularity = system_popularity(runs, histories, ranked.systems, 10)
    assert np.argmax(popularity) >= 9
    frame = favours_popular(every, "human", [SAME], popularity, Resampler(users, 300)).set_index("evaluator")
    assert frame.loc["biased", "ci_low"] > 0.3
    assert frame.loc["fair", "ci_low"] < 0 < frame.loc["fair", "ci_high"] + 0.5


@pytest.mark.parametrize("systems", [UNRELATED, FAMILIES], ids=["unrelated", "families"])
def test_intervals_of_tau_hold_the_tau_of_very_many_users(systems):
    found = covered(150, 14, 60, systems, draws=400)
    assert found["held"], found
    assert 0.9 <= found["tau"] <= 0.99
    # Noise lowers tau; corrected, it is off by less.
    assert found["bias_plain"] < -0.01 < found["bias_corrected"] < 0.02


def test_a_measure_keeps_the_name_that_a_study_gives_it():
    keys = {"dataset": "d", "truth": "Labels('human')", "evaluators": ["Random(seed=0)"]}
    study = RelevanceStudy(**keys, measures=["Compat(p=0.95)", "nDCG@10"], families={"ours": ["adapt5"]})
    assert study.measures == ["Compat(p=0.95)", "nDCG@10"]
    with pytest.raises(ValidationError, match=r"did you mean 'nDCG'"):
        RelevanceStudy(**keys, measures=["ndcg@10"])
