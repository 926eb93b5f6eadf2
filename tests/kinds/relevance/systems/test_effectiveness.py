"""Values of systems against ir_measures, published numbers and another program."""

from __future__ import annotations

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.base.records import Scale
from metaeval.kinds.relevance.measures import MeasurePair, measure_named
from metaeval.kinds.relevance.systems.decisions import system_values
from metaeval.kinds.relevance.systems.effectiveness import effectiveness
from metaeval.kinds.relevance.systems.systems import Judgements
from metaeval.stats.resampling.bootstrap import Resampler
from tests.examples import examples
from tests.kinds.relevance.systems.conftest import systems_of


def test_published_values_of_the_deep_learning_track(dl21):
    # Runs whose scores are negative, which ranks above what they did not retrieve would be ruined by.
    means = dl21.by_evaluator["human"].means("Compat(p=0.9)")
    by_name = dict(zip(dl21.runs.systems, means, strict=True))
    assert round(by_name["ihsm_colbert64"], 3) == 0.435
    assert round(by_name["uogTrPot5"], 3) == 0.466


ALIKE = (
    "nDCG@10", "nDCG", "nDCG(judged_only=True)@10", "P@10", "P(rel=2)@5", "R@100", "Success@1", "RR", "RR@10",
    "AP", "AP(rel=2)@50", "Bpref", "infAP", "Judged@10", "Rprec", "SetF", "IPrec@0.1",
)  # fmt: skip


@pytest.mark.slow
def test_measures_of_the_deep_learning_track_are_those_of_ir_measures(dl21):
    labels = dl21.judgements.labels["human"]
    found = effectiveness(dl21.runs, labels, [measure_named(name) for name in ALIKE]).of_user
    units = dl21.judgements.units.assign(label=labels).dropna()
    qrels = [ir_measures.Qrel(r.user_id, r.item_id, int(r.label)) for r in units.itertuples()]
    measures = {ir_measures.parse_measure(name): name for name in ALIKE}
    program = ir_measures.evaluator(list(measures), qrels)
    place = {user: u for u, user in enumerate(dl21.runs.users)}
    for system, own in dl21.data.runs.groupby("system"):
        run = list(map(ir_measures.ScoredDoc, own["user_id"], own["item_id"], own["score"]))
        s = dl21.runs.systems.index(system)
        for one in program.iter_calc(run):
            name = measures[one.measure]
            assert found[name][s, place[one.query_id]] == pytest.approx(one.value, abs=1e-9), (name, system)


def test_lists_of_the_java_program(real_data):
    folder = real_data / "topn"
    kinds = {"user": str, "item": str}
    names = {"user": "user_id", "item": "item_id", "Algorithm": "system", "rating": "label"}
    lists = pd.read_csv(folder / "recs.csv.gz", dtype=kinds).rename(columns=names)
    truth = pd.read_csv(folder / "truth.csv", dtype=kinds).rename(columns=names)
    java = pd.read_csv(folder / "metrics.csv", dtype=kinds)
    systems = systems_of({"truth": truth}, Scale(1, 5), lists, [MeasurePair("nDCG(dcg='jk')", "RR")])
    found, runs = systems.by_evaluator["truth"], systems.runs
    at = [runs.systems.index(s) for s in java["Algorithm"]], [runs.users.index(u) for u in java["user"]]
    assert found.of_user["nDCG(dcg='jk')"][at] == pytest.approx(java["Java.nDCG"].to_numpy(), abs=1e-9)
    assert found.of_user["RR"][at] == pytest.approx(java["Java.RecipRank"].to_numpy(), abs=1e-9)


@st.composite
def collections(draw):
    users, items = [f"u{i}" for i in range(3)], [f"i{i}" for i in range(6)]
    pairs = st.tuples(st.sampled_from(users), st.sampled_from(items))
    labels = draw(st.dictionaries(pairs, st.integers(0, 3), min_size=1))
    rows = []
    for system in ("a", "b"):
        for user in draw(st.sets(st.sampled_from([*users, "stranger"]), min_size=1)):
            ranking = draw(st.permutations(items))[: draw(st.integers(1, 6))]
            scores = sorted(draw(st.lists(st.integers(-3, 1), min_size=6, max_size=6)), reverse=True)
            rows += [(system, user, item, r + 1, float(scores[r])) for r, item in enumerate(ranking)]
    runs = pd.DataFrame(rows, columns=["system", "user_id", "item_id", "rank", "score"])
    known = pd.DataFrame([(*k, v) for k, v in labels.items()], columns=["user_id", "item_id", "label"])
    return known, runs


@given(given=collections())
@settings(max_examples=examples(60))
def test_values_are_those_of_ir_measures_for_the_scores_or_the_ranks(given):
    labels, runs = given
    systems = systems_of({"human": labels}, Scale(0, 3), runs)
    ranked = systems.runs
    longest = "Compat(p=0.8,depth='longest')"
    names = ["nDCG@3", "AP", "P@2", "Judged@2", "RR@2", longest]
    found = effectiveness(ranked, systems.judgements.labels["human"], [measure_named(n) for n in names])
    qrels = [ir_measures.Qrel(r.user_id, r.item_id, r.label) for r in labels.itertuples()]
    for s, system in enumerate(ranked.systems):
        own = runs[runs["system"] == system]
        alike = own.groupby("user_id")["score"].transform("nunique") == 1
        by_score = own["score"].where(~alike, 1 / own["rank"])  # equal scores say nothing
        for name in names:
            score = 1 / own["rank"] if name.startswith("Judged") else by_score
            if (
                name == longest
            ):  # the library gives ties, and what is not retrieved, other places in the ideal
                order = own.assign(score=by_score).sort_values(["score", "item_id"], ascending=[False, True])
                score = 1 / (order.groupby("user_id").cumcount() + 1).loc[own.index]
            run = list(map(ir_measures.ScoredDoc, own["user_id"], own["item_id"], score))
            measure = ir_measures.parse_measure("Compat(p=0.8)" if name == longest else name)
            expected = {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, run)}
            for u, user in enumerate(ranked.users):
                assert found.of_user[name][s, u] == pytest.approx(expected.get(user, 0), abs=1e-9), (
                    name,
                    user,
                )


def test_a_user_without_a_list_is_worth_nothing_and_is_counted():
    labels = pd.DataFrame({"user_id": ["u", "v"], "item_id": ["i", "i"], "label": [1, 1]})
    runs = pd.DataFrame({"system": ["a", "a", "b"], "user_id": ["u", "v", "u"], "item_id": "i", "rank": 1})
    pairs = [MeasurePair("RR", "RR")]
    frame = system_values(systems_of({"human": labels}, Scale(0, 1), runs, pairs, Resampler(2, 50)))
    assert frame["value"].tolist() == [1, 0.5]
    assert frame["n_missing"].tolist() == [0, 1]
    assert frame["n_users"].tolist() == [2, 2]
    assert frame["judged"].tolist() == [1, 1]


def test_scores_become_labels_by_a_stated_rule():
    units = pd.DataFrame({"user_id": ["u"] * 4, "item_id": list("abcd")})
    scores = {"mean": [0.5, 1.4, np.nan, 2], "whole": [0, 1, 2, 3], "counts": [0, 1, 2, 500]}
    given = Judgements.of(units, {k: np.array(v, dtype=float) for k, v in scores.items()}, Scale(0, 3))
    assert list(given.labels) == ["mean", "whole"]
    assert given.labels["mean"] == pytest.approx([1, 1, np.nan, 2], nan_ok=True)
    assert given.notes == (
        "2 scores of mean (of 3) are rounded to the nearest label, halves up.",
        (
            "counts cannot measure systems: 1 of its 4 scores lie outside the scale of the labels "
            f"({Scale(0, 3)})."
        ),
    )
