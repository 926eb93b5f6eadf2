"""Pairs of a user's items: shares, gaps, intervals, ablations; and what is rated too high or too low."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import SpecError
from metaeval.base.records import Scale
from metaeval.base.spec import EvaluatorSpec
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import prepare
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.order import paired_tests
from metaeval.kinds.relevance.agreement import SHARES, PairAgreement, ablation_frame, overrating
from metaeval.kinds.study import Ablation

POLICY = Policy.of(["dataset"], ["kendall"], None, "skip", "common")
OPTIONS = Bootstrap(resamples=200, seed=1)


def made(n_users=12, n_items=15, noises=(0.3, 0.3, 2.0), seed=0):
    rng = np.random.default_rng(seed)
    units = pd.MultiIndex.from_product(
        [[f"u{i:02}" for i in range(n_users)], [f"i{i:02}" for i in range(n_items)]],
        names=["user_id", "item_id"],
    ).to_frame(index=False)
    truth = units.assign(aspect="relevance", rating=rng.integers(0, 4, len(units)).astype(float))
    scores = [
        units.assign(
            aspect="relevance",
            evaluator=f"judge{'' if not k else f', repeat {k + 1}'}",
            score=np.clip(np.rint(truth["rating"] + rng.normal(0, noise, len(units))), 0, 3),
        )
        for k, noise in enumerate(noises)
    ]
    return pd.concat(scores), truth


@pytest.fixture
def pairs():
    scores, truth = made()
    return PairAgreement.of(prepare(scores, truth, POLICY), relevant=2)


def test_shares_are_those_of_a_double_loop(pairs):
    scores, truth = made()
    frame = pairs.frame(None).set_index(["evaluator", "gap"])
    both = truth.merge(scores, on=["user_id", "item_id", "aspect"])
    for evaluator, of_evaluator in both.groupby("evaluator"):
        counts = {}
        for _, of_user in of_evaluator.groupby("user_id"):
            units = of_user[["rating", "score"]].to_numpy()
            for i, one in enumerate(units):
                for other in units[:i]:
                    high, low = (one, other) if one[0] > other[0] else (other, one)
                    if high[0] == low[0]:
                        continue
                    outcome = 1 if high[1] == low[1] else 2 * (high[1] < low[1])
                    gaps = ["all", f"{high[0] - low[0]:g}", *(["relevant"] if low[0] < 2 <= high[0] else [])]
                    for gap in gaps:
                        counts.setdefault(gap, np.zeros(3))[int(outcome)] += 1
        assert {gap for name, gap in frame.index if name == evaluator} == counts.keys()
        for gap, outcomes in counts.items():
            row = frame.loc[(evaluator, gap)]
            assert row["n_pairs"] == outcomes.sum()
            np.testing.assert_allclose(row[[*SHARES]].astype(float), outcomes / outcomes.sum())


def test_intervals_hold_the_estimates_and_narrow_with_users():
    widths = []
    for n_users in (10, 200):
        scores, truth = made(n_users=n_users)
        frame = PairAgreement.of(prepare(scores, truth, POLICY), 2).frame(OPTIONS)
        for name in SHARES:
            assert (frame[f"{name}_low"] <= frame[name]).all()
            assert (frame[name] <= frame[f"{name}_high"]).all()
        of_all = frame[frame["gap"] == "all"]
        widths.append((of_all["agreement_high"] - of_all["agreement_low"]).mean())
    assert widths[1] < widths[0] / 2


def test_a_truth_of_one_label_has_no_pairs():
    scores, truth = made()
    assert PairAgreement.of(prepare(scores, truth.assign(rating=1.0), POLICY), 1) is None


def test_variants_change_one_argument_and_have_repeats():
    ablation = Ablation(base="judge", vary={"history": [10], "fields": [["title", "genres"], []]}, repeats=2)
    variants = list(ablation.variants(EvaluatorSpec.parse("Relevance('m', history=100)")))
    assert [next(iter(v.specs)) for v in variants] == [
        "judge", "judge, history 10", "judge, fields title + genres", "judge, fields none",
    ]  # fmt: skip
    assert dict(variants[2].specs) == {
        "judge, fields title + genres": "Relevance('m', history=100, fields=('title', 'genres'))",
        "judge, fields title + genres, repeat 2": (
            "Relevance('m', history=100, fields=('title', 'genres'), replicate=1)"
        ),
    }
    with pytest.raises(SpecError, match="an argument must be"):
        list(Ablation(base="judge", vary={"a": [{}]}).variants(EvaluatorSpec("Relevance")))


def test_a_worse_variant_is_found_and_repeats_count_together():
    scores, truth = made(n_users=40, noises=(0.3, 0.3, 2.0, 2.0))
    names = ["judge", "judge, repeat 2", "judge, history 1", "judge, history 1, repeat 2"]
    scores["evaluator"] = np.repeat(names, len(truth))
    pairs = PairAgreement.of(prepare(scores, truth, POLICY), 2)
    ablation = Ablation(base="judge", vary={"history": [1]}, repeats=2)
    specs = {"judge": "Relevance('m')"}
    frame = ablation_frame(ablation, pairs, specs, OPTIONS, paired_tests.Tests(permutations=499))
    base, worse = frame.to_dict("records")
    each = pairs.frame(None).set_index(["evaluator", "gap"])["agreement"].xs("relevant", level="gap")
    assert base["agreement"] == pytest.approx(each[names[:2]].mean())  # each repeat has the same pairs
    assert worse["agreement"] == pytest.approx(each[names[2:]].mean())
    assert worse["agreement_change"] == pytest.approx(worse["agreement"] - base["agreement"])
    assert worse["agreement_change_high"] < 0
    assert worse["p"] < 0.01
    assert np.isnan(base["p"])
    assert worse["repeats_low"] < worse["agreement"] < worse["repeats_high"]
    alone = ablation_frame(Ablation(base="judge"), pairs, specs, None, None)
    assert len(alone) == 1
    assert np.isnan(alone["repeats_low"][0])


def scored(scores, truth, options):
    matched, study = (
        SimpleNamespace(prepared=prepare(scores, truth, POLICY)),
        SimpleNamespace(bootstrap=options),
    )
    return SimpleNamespace(matched=matched, study=study, scale=Scale(0, 3))


@pytest.mark.parametrize("options", [None, Bootstrap(resamples=50)])
def test_differences_are_counted_by_label(options):
    units = pd.DataFrame({"user_id": list("aabb"), "item_id": list("xyxy"), "aspect": "relevance"})
    truth = units.assign(rating=[0.0, 2.0, 0.0, 2.0])
    good = units.assign(evaluator="good", score=[1.0, 2.0, 0.0, 1.0])
    off = units.assign(evaluator="off", score=[0.1, 0.2, 7.0, 0.3])
    frame = overrating(scored(pd.concat([good, off]), truth, options))
    rows = frame.set_index(["evaluator", "label"])[["bias", "over", "under", "n_units"]]
    assert rows.to_dict("index") == {
        ("good", "0"): {"bias": 0.5, "over": 0.5, "under": 0.0, "n_units": 2},
        ("good", "2"): {"bias": -0.5, "over": 0.0, "under": 0.5, "n_units": 2},
    }
    assert overrating(scored(off, truth, options)).empty
