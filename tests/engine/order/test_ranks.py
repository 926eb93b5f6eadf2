"""Ranks of evaluators in a cell: what they are compared with, what is kept of them, and real studies."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.records import Kind, ScoreTable
from metaeval.engine.order.paired_tests import Comparisons
from metaeval.engine.order.ranks import Ranks
from metaeval.evaluators.chance import Random, is_random
from tests.engine.known_judges import judges

DRAWN = {"source": "blake2b of seed, aspect and unit"}


def compared(kinds=None, signatures=None, **options):
    scores, truth = judges()
    table = ScoreTable(scores.assign(status="ok"), signatures or {}, kinds or {})
    return me.compare(table, truth, permutations=200, **options)


def test_the_baseline_is_random_or_else_the_best_baseline():
    base = dict.fromkeys(("weak", "shuffled", "Random"), Kind.BASELINE)
    assert compared().ranks.baseline == ""
    assert compared(base).ranks.baseline == "weak"
    ranks = compared(base, {"Random": DRAWN, "weak": {"source": "other"}}).ranks
    assert ranks.baseline == "Random"
    better = {name: ranks.better_than_baseline(name) for name in ranks.of}
    assert better == {"good": True, "twin": True, "weak": True, "shuffled": False, "Random": None}
    assert compared(base, {"Random": DRAWN, "shuffled": DRAWN}).ranks.baseline in ("Random", "shuffled")


def test_random_is_known_by_its_signature(scored_by_random):
    assert is_random(scored_by_random)
    assert not is_random({"seed": 0})


@pytest.fixture
def scored_by_random():
    class Data:
        scale = "1 to 5"

    return Random().signature(Data())


def test_every_correction_has_the_same_ranges():
    of = [compared(correction=correction).ranks.record() for correction in ("holm", "bh", "none")]
    assert of[0] == of[1] == of[2]
    assert of[0]["of"]["good"][:2] == [1, 2]


def test_what_was_found_is_found_again():
    tests = compared({"Random": Kind.BASELINE}, {"Random": DRAWN})
    policy = json.loads(json.dumps(dict(tests.policy), allow_nan=False))
    again = Comparisons.of_frame(tests.frame, policy)
    assert again.ranks == tests.ranks == Ranks.of_record(policy["ranks"])
    np.testing.assert_allclose(again.half, tests.half)
    row = tests.frame.iloc[0]
    at = (tests.evaluators.index(row["first"]), tests.evaluators.index(row["second"]))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(
        [row["difference"] + sign * tests.half[at] for sign in (-1, 1)]
    )
    # The interval is about as wide as its test is sure.
    frame = tests.frame
    far = (frame["p"] < 0.01) | (frame["p"] > 0.2)
    assert ((frame["ci_low"] > 0) == (frame["p"] < 0.05))[far].all()


def test_few_users_and_orders_of_means_have_no_ranks():
    few = me.compare(*judges(users=5), permutations=100).ranks
    assert few.refused == "fewer than 6 users"
    assert few.may_be_best("good") is None
    order = me.compare(*judges(), level="generator", coefficient="kendall", permutations=100).ranks
    assert "smooth" in order.refused
    assert me.compare(*judges(), level="generator", permutations=100).ranks.refused == ""


def test_evaluators_on_units_of_their_own_have_ranks():
    scores, truth = judges()
    gone = (scores["evaluator"] == "weak") & (scores["item_id"] == 0)
    tests = me.compare(scores[~gone], truth, units="own", missing={"score": "drop"}, permutations=100)
    assert str(tests.ranks.of["weak"]) == "3"


def test_from_files_they_are_the_same(tmp_path):
    scores, truth = judges()
    scores.to_parquet(tmp_path / "s.parquet")
    whole = me.compare(scores, truth, permutations=50).ranks
    parts = me.compare(tmp_path / "s.parquet", truth, permutations=50, engine="duckdb").ranks
    for name, rank in whole.of.items():
        assert rank[:4] == parts.of[name][:4]
        assert rank.p_best == pytest.approx(parts.of[name].p_best, abs=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("metrics", "evaluators", "best"), [(False, 20, 4), (True, 92, 12)])
def test_who_may_be_the_best_of_hanna(real_data, metrics, evaluators, best):
    """The mean of six aspects over all units, a missing score at the evaluator's median."""
    wide = pd.read_csv(real_data / "hanna" / "hanna_wide.csv")
    wide = wide[wide["generator"] != "Human"]
    names = ("Relevance", "Coherence", "Empathy", "Surprise", "Engagement", "Complexity")
    aspects = dict(zip(("RE", "CH", "EM", "SU", "EG", "CX"), names, strict=True))
    unit = wide[["item_id", "generator"]].astype(str)
    rows = []
    for column in wide:
        score = wide[column]
        if column.endswith(("§", "ε", "Δ")) and metrics:
            score = score.fillna(score.median())
            rows += [unit.assign(evaluator=column, aspect=a, score=score) for a in names]
        elif found := re.fullmatch(rf"(\S+) ({'|'.join(aspects)}) (\d)", column):
            judge, aspect, prompt = found.groups()
            score = score.fillna(score.median())
            rows.append(unit.assign(evaluator=f"{judge} {prompt}", aspect=aspects[aspect], score=score))
    truth = pd.concat([unit.assign(aspect=a, rating=wide[a]) for a in names])
    ranks = me.compare(pd.concat(rows), truth, swap="item", permutations=50, correction="none").ranks
    assert (len(ranks.of), ranks.n_clusters, ranks.untested) == (evaluators, 96, 0)
    assert sum(map(bool, map(ranks.may_be_best, ranks.of))) == best
    assert all(rank.low_simultaneous is not None for rank in ranks.of.values())
