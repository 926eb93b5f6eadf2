"""Agreement of systems' orders: what is published, what is exact, and whether intervals hold."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy.stats import kendalltau, ttest_rel, weightedtau

from benchmarks.system_orders import FAMILIES, UNRELATED, covered
from metaeval.base.records import Scale
from metaeval.kinds.relevance.data.collection import Collection
from metaeval.kinds.relevance.measures import MeasurePair
from metaeval.kinds.relevance.scored import RelevanceStudy
from metaeval.kinds.relevance.systems.agreement import system_agreement
from metaeval.kinds.relevance.systems.decisions import decisions, p_better
from metaeval.kinds.relevance.systems.gains import favours_popular, popularity
from metaeval.kinds.relevance.systems.systems import Judgements, Systems
from metaeval.stats.resampling.bootstrap import Resampler
from tests.kinds.relevance.systems.conftest import systems_of

SAME = MeasurePair("nDCG@10", "nDCG@10")


@pytest.mark.slow
def test_the_file_of_the_deep_learning_track(dl21):
    frame = system_agreement(dl21)
    columns = "evaluator,measure,truth_measure,tau_corrected,ci_low,ci_high,tau,weighted_tau,tau_ap,tau_ap_b"
    assert list(frame)[:10] == columns.split(",")
    by_name = frame.set_index(["measure", "evaluator"])
    assert by_name["tau"]["Compat(p=0.9)"].round(3).to_dict() == {
        "human": 0.916,
        "gpt-4o-umbrela": 0.890,
        "gpt-4o-binary": 0.904,
        "gpt-4o-exam-max": 0.863,  # by labels from 0 to 5
        "llama3.2-binary": 0.784,
    }
    assert (frame["n_systems"] == 63).all()
    own = by_name.loc["nDCG@10", "human"]
    ones = ["tau", "ci_low", "ci_high", "weighted_tau", "tau_ap_b", "tau_top"]
    assert own["tau_ap"] < 1  # two systems tie
    assert own[ones].tolist() == pytest.approx([1] * 6)
    x = dl21.by_evaluator["gpt-4o-binary"].means("Compat(p=0.9)")
    y = dl21.by_evaluator["human"].means("nDCG@10")
    row = by_name.loc["Compat(p=0.9)", "gpt-4o-binary"]
    assert row["tau"] == pytest.approx(kendalltau(x, y).statistic)
    assert row["weighted_tau"] == pytest.approx(weightedtau(x, y, rank=True).statistic)
    assert row["ci_low"] < row["tau_corrected"] < row["ci_high"]
    # Llama keeps the order worse than the best judge, by the tests too.
    p = by_name["p_best"]["Compat(p=0.9)"].dropna()
    assert list(p.index) == ["gpt-4o-exam-max", "gpt-4o-umbrela", "llama3.2-binary"]
    assert p["llama3.2-binary"] < 0.05 < p["gpt-4o-umbrela"]


def test_decisions_of_the_truth_itself_agree(dl21):
    frame = decisions(dataclasses.replace(dl21, pairs=[SAME])).set_index("evaluator")
    assert frame.loc["human", ["agree", "miss", "reversed", "extra"]].tolist() == [1, 0, 0, 0]
    assert (frame[["agree", "miss", "reversed"]].sum(axis=1).round(9) == 1).all()
    assert frame["n_pairs"].eq(63 * 62 // 2).all()


def test_decisions_are_t_tests_with_holms_correction(dl21):
    from statsmodels.stats.multitest import multipletests

    effects = dl21.by_evaluator["human"]
    values = effects.of_user["nDCG@10"]
    some = [0, 5, 9, 14]  # four systems are a family of twelve
    p = np.array(
        [[ttest_rel(values[a], values[b], alternative="greater").pvalue for b in some] for a in some]
    )
    off = ~np.eye(4, dtype=bool)
    expected = multipletests(p[off], method="holm")[1]
    only = dataclasses.replace(effects, of_user={"nDCG@10": values[some]})
    assert p_better(only, "nDCG@10")[off] == pytest.approx(expected, abs=1e-12)


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
    data = Collection(units, units, {}, Scale(0, 2), runs, histories=histories)
    ranked = Systems(data, judgements, "human", [], [SAME], Resampler(users, 300))
    assert np.argmax(popularity(ranked)) >= 9
    frame = favours_popular(ranked).set_index("evaluator")
    assert frame.loc["biased", "ci_low"] > 0.3
    assert frame.loc["fair", "ci_low"] < 0 < frame.loc["fair", "ci_high"] + 0.5


@pytest.mark.slow
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


def made(seed=3, users=40, systems=8, items=20):
    """Return labels by the truth and two judges of all users' items, and runs of ten items each."""
    rng = np.random.default_rng(seed)
    names = [f"u{u:02}" for u in range(users)]
    units = pd.DataFrame([(u, f"i{i}") for u in names for i in range(items)], columns=["user_id", "item_id"])
    taste = rng.normal(size=(users, items))
    noisy = {"human": 0.0, "good": 0.6, "bad": 2.0}
    frames = {
        name: units.assign(label=np.digitize(taste + sd * rng.normal(size=taste.shape), [0, 1]).ravel())
        for name, sd in noisy.items()
    }
    rows = []
    for s in range(systems):
        score = taste * s / systems + rng.normal(size=taste.shape)
        for u, order in zip(names, np.argsort(-score, axis=1)[:, :10], strict=True):
            rows += [(f"s{s}", u, f"i{i}", r) for r, i in enumerate(order, 1)]
    return frames, pd.DataFrame(rows, columns=["system", "user_id", "item_id", "rank"])


def test_a_judge_that_lacks_what_systems_rank_first_has_a_reason_in_place_of_tau():
    frames, runs = made()
    frames["few"] = frames["good"].groupby("user_id").head(12)
    systems = systems_of(frames, Scale(0, 2), runs, [SAME], Resampler(40, 50))
    row = system_agreement(systems).set_index("evaluator").loc["few"]
    assert (row["no_tau"], row["n_users"]) == ("low_coverage", 40)
    assert 0.5 < row["coverage"] < 0.7
    assert row[["tau", "tau_corrected", "ci_low", "tau_ap", "rbo", "p_best"]].isna().all()
    allowed = system_agreement(dataclasses.replace(systems, least=0.5)).set_index("evaluator").loc["few"]
    assert allowed["no_tau"] == ""
    assert allowed["tau"] > 0


def test_users_that_the_truth_did_not_judge_change_no_p_value():
    frames, runs = made()
    known = runs["user_id"] < "u20"
    some = {name: frame[frame["user_id"] < "u20"] for name, frame in frames.items()}
    alone = systems_of(some, Scale(0, 2), runs[known], [SAME], Resampler(20, 400))
    # The judges label users without a list, who are 0 for every system.
    foreign = systems_of(
        {**frames, "human": some["human"]}, Scale(0, 2), runs[known], [SAME], alone.resampler
    )
    p = [system_agreement(one).set_index("evaluator")["p_best"]["bad"] for one in (alone, foreign)]
    assert 0 < p[0] < 1
    assert p[0] == p[1]


def test_systems_are_ordered_on_users_that_the_truth_did_not_judge():
    frames, runs = made()
    frames = {name: f[(f["user_id"] < "u20") == (name == "human")] for name, f in frames.items()}
    systems = systems_of(frames, Scale(0, 2), runs, [SAME], Resampler(40, 100))
    frame = system_agreement(systems).set_index("evaluator")
    assert frame.loc["good", ["n_users", "n_own"]].tolist() == [0, 20]
    assert frame["no_tau"].eq("").all()
    x, y = (systems.by_evaluator[name].means("nDCG@10") for name in ("good", "human"))
    assert frame.loc["good", "tau"] == pytest.approx(kendalltau(x, y).statistic)
    assert 0 < frame.loc["bad", "p_best"] <= 1


def test_a_user_without_a_list_can_be_left_out():
    frames, runs = made()
    fewer = runs[(runs["system"] != "s7") | (runs["user_id"] < "u30")]
    zero, skip = (
        systems_of(frames, Scale(0, 2), fewer, [SAME], leave_out=leave_out).by_evaluator["human"]
        for leave_out in (False, True)
    )
    of_user = zero.of_user["nDCG@10"]
    assert skip.means("nDCG@10")[7] == pytest.approx(of_user[7, :30].mean())
    assert zero.means("nDCG@10")[7] == pytest.approx(of_user[7, :30].sum() / 40)
    both = ttest_rel(of_user[7, :30], of_user[0, :30], alternative="greater").pvalue
    others = [s for s in range(8) if s not in (0, 7)]
    two = dataclasses.replace(
        skip,
        of_user={"nDCG@10": np.delete(of_user, others, axis=0)},
        counted=np.delete(skip.counted, others, axis=0),
    )
    assert p_better(two, "nDCG@10")[1, 0] == pytest.approx(2 * both)


def test_labels_on_a_scale_of_its_own_order_systems_as_they_are():
    frames, runs = made()
    frames["wide"] = frames["good"].assign(label=frames["good"]["label"] * 13.5 + 1)
    systems = systems_of(frames, Scale(0, 2), runs, [SAME, MeasurePair("AP", "AP")], own={"wide": 1.0})
    frame = system_agreement(systems).set_index(["measure", "evaluator"])
    assert frame["tau"]["AP", "wide"] == frame["tau"]["AP", "good"]
    assert frame["tau"]["nDCG@10", "wide"] > 0.3
