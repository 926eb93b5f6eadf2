"""What labels say of the systems of a made-up collection, as tables and as files."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import MetaevalError
from metaeval.base.records import Scale, ScoreTable
from metaeval.kinds.relevance.data.collection import Collection
from metaeval.kinds.relevance.systems.agreement import system_agreement
from metaeval.kinds.relevance.systems.completeness import (
    best_rank,
    judged_shares,
    label_curve,
    left_out,
    sample_places,
    unjudged_items,
)
from metaeval.kinds.relevance.systems.decisions import selection, system_values
from metaeval.kinds.relevance.systems.gains import shared_families
from metaeval.kinds.relevance.systems.systems import Judgements, holes, on_label_scale


@pytest.fixture(scope="module")
def curve(made_up):
    return label_curve(made_up)


@pytest.fixture(scope="module")
def agreement(made_up):
    return system_agreement(made_up)


def test_values_and_agreement(made_up, agreement):
    systems = system_values(made_up)
    assert len(systems) == 2 * 3 * 14
    assert systems["value"].between(systems["ci_low"], systems["ci_high"]).all()
    assert agreement["evaluator"].tolist() == ["human", "noisy"] * 2
    assert agreement["coverage"].eq(1).all()
    own = agreement.set_index(["measure", "evaluator"]).loc["nDCG@10", "human"]
    assert (own["tau"], own["ci_low"], own["ci_high"]) == (1, 1, 1)


def test_more_labels_per_user_keep_the_order_better_and_then_no_longer(curve, agreement):
    for _, rows in curve.groupby("evaluator"):
        taus = rows["tau"].to_numpy()
        assert taus[0] < taus[-1]
        assert taus[-1] - taus[-2] < taus[1] - taus[0]  # it flattens
        assert rows["labels_per_user"].is_monotonic_increasing
    whole = agreement.query("measure != truth_measure").set_index("evaluator")["tau"]
    assert curve.groupby("evaluator")["tau"].last().to_dict() == pytest.approx(whole.to_dict())


def test_systems_left_out_of_the_pool_lose_what_only_they_brought_in(made_up):
    runs, judgements = made_up.data.runs, made_up.judgements
    frame = left_out(made_up).query("measure == 'P@5'").set_index("system")
    ranked_by = runs.groupby(["user_id", "item_id"])["system"].nunique()
    labelled = judgements.units[~np.isnan(judgements.labels["human"])]
    alone = pd.MultiIndex.from_frame(labelled).intersection(ranked_by[ranked_by == 1].index)
    of_system = runs.set_index(["user_id", "item_id"])["system"].loc[alone].value_counts()
    assert frame["n_labels"].to_dict() == {s: of_system.get(s, 0) for s in frame.index}
    assert (frame["value_without"] <= frame["value"]).all()
    assert (frame["value_without"] < frame["value"]).any()


def test_gaps_of_labels(made_up):
    judged = judged_shares(made_up).query("cutoff == 10").groupby("evaluator")["judged"].mean()
    assert judged["noisy"] == 1
    assert 0.85 < judged["human"] < 0.95
    unjudged = unjudged_items(made_up)
    assert {"nDCG@10, judged only", "P@5, judged only", "Bpref", "infAP"} <= set(unjudged["other"])
    complete = unjudged.query("evaluator == 'noisy' and other == 'P@5, judged only' and measure == 'P@5'")
    assert complete[["tau", "places"]].iloc[0].tolist() == [1, 0]


def test_what_each_source_picks(made_up):
    frame = selection(made_up)
    picked = frame.drop_duplicates("source").set_index("source")
    assert picked["best"].to_dict().keys() == {"human", "noisy", "histories"}
    assert picked.loc["human", ["best", "disagreements"]].tolist() == ["s13", 0]
    values = frame.pivot_table(index="system", columns="source", values="value")
    pairs = itertools.combinations(values.to_dict("records"), 2)
    against = sum((a["human"] - b["human"]) * (a["histories"] - b["histories"]) < 0 for a, b in pairs)
    assert picked.loc["histories", "disagreements"] == against > 0


def test_labels_of_what_nobody_labelled_are_a_file_in_the_format_of_trec(made_up, tmp_path):
    import ir_measures

    judgements = made_up.judgements
    files = holes(made_up, {"noisy": "1a2b3c"}, ["noisy", "counts"])
    path = tmp_path / "holes.qrels"
    path.write_text(files["holes.noisy.qrels"], encoding="utf-8")
    read = list(ir_measures.read_trec_qrels(str(path)))
    unlabelled = np.isnan(judgements.labels["human"])
    assert len(read) == unlabelled.sum() > 0
    assert {r.iteration for r in read} == {"noisy:1a2b3c"}
    units = judgements.units[unlabelled]
    assert [(r.query_id, r.doc_id) for r in read] == list(units.itertuples(index=False, name=None))
    assert [r.relevance for r in read] == judgements.labels["noisy"][unlabelled].tolist()
    (row,) = files["holes.csv"].to_dict("records")
    assert row == {
        "file": "holes.noisy.qrels",
        "evaluator": "noisy",
        "signature": "1a2b3c",
        "iteration": "noisy:1a2b3c",
        "n_labels": len(read),
        "n_left_out": 0,
    }


def test_a_judge_of_the_same_family_as_a_system_is_warned_of(made_up):
    renamed = {"s02": "gpt-4o rerank", "s03": "GPT4 zero", "s05": "llama-3-ft", "s06": "adapt5"}
    runs = made_up.data.runs.assign(system=made_up.data.runs["system"].replace(renamed))
    systems = dataclasses.replace(made_up, data=dataclasses.replace(made_up.data, runs=runs))
    (row,) = shared_families(systems, {"noisy": "openai/gpt-5-mini"}, {}).to_dict("records")
    assert (row["family"], row["systems"], row["n_own"]) == ("gpt", "gpt-4o rerank, GPT4 zero", 2)
    assert row["ci_low"] <= row["gain"] <= row["ci_high"]
    own = shared_families(systems, {"noisy": "adapt5-large"}, {"ours": ["adapt5"]})
    assert own["family"].tolist() == ["ours"]


def test_results_do_not_depend_on_the_order_of_rows(made_up, curve, agreement):
    judgements = made_up.judgements
    order = np.random.default_rng(1).permutation(len(judgements.units))
    units = judgements.units.iloc[order].reset_index(drop=True)
    labels = {n: v[order] for n, v in judgements.labels.items()}
    other = dataclasses.replace(made_up, judgements=Judgements(units, labels))
    pd.testing.assert_frame_equal(label_curve(other), curve)
    assert system_agreement(other)["tau"].tolist() == agreement["tau"].tolist()


def test_one_system_one_user_and_no_bootstrap(made_up):
    units = pd.DataFrame({"user_id": ["u"], "item_id": ["i"]})
    judgements = Judgements.of(units, {"human": np.ones(1), "other": np.zeros(1)}, Scale(0, 1))
    data = Collection(units, units, {}, Scale(0, 1), units.assign(system="s", rank=1))
    few = dataclasses.replace(made_up, data=data, judgements=judgements)
    assert system_agreement(few)["no_interval"].unique().tolist() == ["few_clusters"]
    few = dataclasses.replace(few, resampler=None)
    assert system_agreement(few)["tau"].isna().all()
    assert system_values(few)["value"].tolist()[0] == 1


def test_a_truth_that_is_not_on_the_scale_is_reported(made_up):
    with pytest.raises(MetaevalError, match="counts cannot measure systems"):
        dataclasses.replace(made_up, truth="counts")


def test_sums_are_moved_to_the_scale_of_the_labels_and_all_else_stays():
    frame = pd.DataFrame({"evaluator": ["sum"] * 4 + ["label"] * 2, "score": [11, 33, 55, np.nan, 2, 5]})
    moved = on_label_scale(ScoreTable(frame, {"sum": {"score_scale": [11, 55]}, "label": {}}), Scale(1, 5))
    assert moved["score"].fillna(-1).tolist() == [1, 3, 5, -1, 2, 5]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.booleans()), min_size=1), st.integers(0, 99)
)
def test_every_labelled_unit_has_a_place_among_those_of_its_user(units, seed):
    user, depth, there = (np.array(column) for column in zip(*units, strict=True))
    places = sample_places(user, depth, there.astype(bool), np.arange(len(user)), seed=seed)
    for u in set(user[there]):
        assert sorted(places[(user == u) & there]) == list(range(int(((user == u) & there).sum())))
    assert (places[~there] >= len(user)).all()  # what has no label is in no sample


def test_every_sample_has_all_depths_in_proportion():
    user, depth = np.zeros(64, dtype=int), np.repeat(np.arange(8), 8)
    for seed in range(20):
        places = sample_places(user, depth, np.ones(64, dtype=bool), np.arange(64), seed=seed)
        for size in (8, 16, 32):
            taken = np.bincount(depth[places < size], minlength=8)
            assert taken.tolist() == [size // 8] * 8


def test_the_depth_of_a_unit_is_the_best_rank_that_a_system_gives_it(made_up):
    best = made_up.data.runs.groupby(["user_id", "item_id"])["rank"].min()
    units = made_up.judgements.units.to_numpy()
    assert best_rank(made_up.runs).tolist() == [best[tuple(pair)] - 1 for pair in units]
