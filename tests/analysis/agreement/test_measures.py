"""Measures of evaluators whose agreement is known by construction, or worked out the long way."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from metaeval.analysis.agreement.measures import N_RESAMPLES, are_ratings, measures
from metaeval.analysis.generator_ranking import rank_generators
from metaeval.base.records import Scale
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import prepare
from metaeval.engine.intervals import Bootstrap

SCALE = Scale(1, 5)
ASPECTS = ("clear", "fitting")
KEYS = ["user_id", "item_id", "generator"]


def study(n_users=8, n_items=3, n_generators=4, seed=0):
    """Ratings of all users of all generators' texts on items of their own; generators differ."""
    u, i, g = (v.ravel() for v in np.indices((n_users, n_items, n_generators)))
    rng = np.random.default_rng(seed)
    frames = []
    for aspect in ASPECTS:
        rating = np.clip(np.rint(1 + g + rng.normal(0, 1, u.size)), 1, 5)
        frames.append(
            pd.DataFrame({"user_id": u, "item_id": i, "generator": g, "aspect": aspect, "rating": rating})
        )
    truth = pd.concat(frames, ignore_index=True)
    return truth.astype(dict.fromkeys(KEYS, str))


def scored(truth, **evaluators):
    """Scores of evaluators given as functions of the truth frame."""
    base = truth[[*(k for k in KEYS if k in truth), "aspect"]]
    return pd.concat([base.assign(evaluator=n, score=f(truth)) for n, f in evaluators.items()])


def sheet(truth, scores, missing=None, units="common", levels=("dataset",), **options):
    policy = Policy.of(list(levels), ["pearson"], missing, "skip", units)
    return measures(prepare(scores, truth, policy), scale=options.pop("scale", SCALE), **options)


def rows(found):
    return found.frame.set_index("evaluator")


def by_user(truth, values):
    return values - values.groupby(truth["user_id"]).transform("mean")


def test_a_copy_of_the_truth_agrees_in_everything() -> None:
    truth = study()
    found = rows(sheet(truth, scored(truth, copy=lambda t: t["rating"], off=lambda t: 100 - t["rating"])))
    copy = found.loc["copy"]
    assert all(
        copy[name] == 1 for name in ("pairs_user", "pairs_pair", "soft", "kappa", "alpha", "concordance")
    )
    assert copy["mae"] == 0
    off = found.loc["off"]
    assert off["pairs_user"] < 0.5
    assert off["soft"] < 0.2
    assert np.isnan(off[["kappa", "alpha", "concordance", "mae"]].to_numpy(dtype=float)).all()


def test_values_are_those_of_other_code() -> None:
    truth = study()
    rng = np.random.default_rng(1)
    truth["noisy"] = np.clip(truth["rating"] + rng.integers(-2, 3, len(truth)), 1, 5)
    found = rows(sheet(truth.drop(columns="noisy"), scored(truth, noisy=lambda t: t["noisy"]))).loc["noisy"]
    for aspect in ASPECTS:
        part = truth[truth["aspect"] == aspect]
        x, y = part["noisy"], part["rating"]
        kappa = cohen_kappa_score(x, y, labels=[1, 2, 3, 4, 5], weights="quadratic")
        assert found[f"kappa: {aspect}"] == pytest.approx(kappa)
        u, v = by_user(part, x), by_user(part, y)
        assert found[f"mae: {aspect}"] == pytest.approx((u - v).abs().mean())
        lin = 2 * (u * v).mean() / ((u**2).mean() + (v**2).mean())
        assert found[f"concordance: {aspect}"] == pytest.approx(lin)
    for name in ("kappa", "alpha", "concordance", "mae", "pairs_user", "soft"):
        mean = np.mean([found[f"{name}: {a}"] for a in ASPECTS])
        assert found[name] == pytest.approx(mean)


def test_pairs_equal_pairs_counted_one_by_one() -> None:
    # Two users are two folds: each has the threshold that is best for the other.
    truth = study(n_users=2)
    rng = np.random.default_rng(3)
    truth["x"] = truth["rating"] + rng.normal(0, 1, len(truth))
    found = rows(sheet(truth.drop(columns="x"), scored(truth, e=lambda t: t["x"]))).loc["e"]
    for level, keys in (("user", ["user_id"]), ("pair", ["user_id", "item_id"])):
        for aspect in ASPECTS:
            part = truth[truth["aspect"] == aspect]
            pairs = [
                (p["user_id"], p["x"] - q["x"], p["rating"] - q["rating"])
                for _, group in part.groupby(keys)
                for p, q in itertools.combinations(group.to_dict("records"), 2)
            ]

            def right(pairs, eps):
                return sum(
                    abs(dx) <= eps if dy == 0 else dx * dy > 0 and abs(dx) > eps for _, dx, dy in pairs
                )

            total = 0
            for user in "01":
                others = [p for p in pairs if p[0] != user]
                candidates = sorted({0.0, *(abs(dx) + 1e-9 for _, dx, _ in others)})
                best = max(candidates, key=lambda eps: (right(others, eps), -eps))
                total += right([p for p in pairs if p[0] == user], best)
            assert found[f"pairs_{level}: {aspect}"] == pytest.approx(total / len(pairs))


def test_what_an_evaluator_reaches_that_tells_nothing_apart_is_in_the_notes() -> None:
    truth = study()
    found = sheet(truth, scored(truth, flat=lambda t: 3.0, copy=lambda t: t["rating"]))
    flat = rows(found).loc["flat"]
    text = " ".join(found.notes)
    assert f"{100 * flat['pairs_user']:.1f} % and {100 * flat['pairs_pair']:.1f} %" in text
    assert f"an error of {flat['mae']:.3f}" in text


def test_scores_that_fell_into_the_scale_by_chance_are_no_ratings() -> None:
    truth = study()
    rng = np.random.default_rng(0)
    between = rng.uniform(1, 5, len(truth))
    found = sheet(
        truth,
        scored(truth, between=lambda t: between, half=lambda t: np.minimum(t["rating"] + 0.5, 5)),
    )
    assert rows(found).loc["between", ["kappa", "alpha", "concordance", "mae"]].isna().all()
    half = rows(found).loc["half"]
    assert np.isnan(half["kappa"])
    assert half["alpha"] > 0.9
    only = sheet(truth, scored(truth, between=lambda t: between))
    assert "have no values" in " ".join(only.notes)


@given(
    st.lists(st.lists(st.integers(1, 5), min_size=3, max_size=3), min_size=1, max_size=20),
    st.integers(1, 3),
)
def test_means_of_ratings_are_on_the_scale(ratings, k) -> None:
    values = np.array(ratings, dtype=float)[:, :k].mean(axis=1)
    assert are_ratings(values, SCALE)
    assert not are_ratings(values + 5, SCALE)
    assert not are_ratings(values + np.pi / 10, SCALE)
    assert are_ratings(values, Scale(0, 5.5, integer=False))


def test_filled_scores_are_left_out_of_what_compares_ratings() -> None:
    truth = study()
    scores = scored(truth, judge=lambda t: np.clip(t["rating"] + 1, 1, 5))
    scores.loc[scores.index % 7 == 0, "score"] = np.nan
    filled = sheet(truth, scores, missing={"score": 0})
    dropped = sheet(truth, scores, missing={"score": "drop"})
    for name in ("kappa", "alpha", "concordance", "mae"):
        assert rows(filled).loc["judge", name] == pytest.approx(rows(dropped).loc["judge", name])
    assert "count as 0 elsewhere" in " ".join(filled.notes)
    assert rows(filled).loc["judge", "pairs_user"] < rows(dropped).loc["judge", "pairs_user"]


def test_units_that_are_alone_in_their_pair_have_no_column_and_no_note() -> None:
    truth = study(n_generators=1)
    found = sheet(truth, scored(truth, copy=lambda t: t["rating"]), levels=("dataset", "pair"))
    assert "pairs_user" in found.frame
    assert "pairs_pair" not in found.frame
    assert "nan" not in " ".join(found.notes)


def test_without_users_items_take_their_place() -> None:
    truth = study(n_users=1, n_items=12).drop(columns="user_id")
    found = sheet(truth, scored(truth, copy=lambda t: t["rating"]))
    assert "pairs_pair" not in found.frame
    assert rows(found).loc["copy", "pairs_item"] == 1
    assert [c.title for c in found.columns][1] == "Pairs within items"
    assert "have no users" in " ".join(found.notes)


def test_one_user_and_one_generator_leave_dashes() -> None:
    truth = study(n_users=1, n_generators=1)
    found = sheet(truth, scored(truth, copy=lambda t: t["rating"]))
    assert np.isnan(rows(found).loc["copy", "pairs_user"])
    assert "soft" not in found.frame
    assert "no pairs" in " ".join(found.notes)


def test_an_aspect_without_scores_has_no_value_and_so_the_average() -> None:
    truth = study()
    scores = scored(truth, a=lambda t: t["rating"], b=lambda t: t["rating"])
    scores = scores[~((scores["evaluator"] == "b") & (scores["aspect"] == "clear"))]
    found = rows(sheet(truth, scores)).loc["b"]
    for name in ("pairs_user", "soft", "kappa", "mae"):
        assert np.isnan(found[name])
        assert np.isnan(found[f"{name}: clear"])
        assert not np.isnan(found[f"{name}: fitting"])


def test_soft_accuracy_is_that_of_the_ranking_of_generators() -> None:
    truth = study()
    rng = np.random.default_rng(6)
    x = truth["rating"] + rng.integers(-2, 3, len(truth))
    policy = Policy.of(["dataset"], ["pearson"], None, "skip", "common")
    data = prepare(scored(truth, x=lambda t: x), truth, policy)
    ranked = rank_generators(data, bootstrap=Bootstrap(resamples=N_RESAMPLES, seed=4))
    found = measures(data, scale=SCALE, seed=4).frame.iloc[0]
    by_aspect = [found[f"soft: {a}"] for a in ASPECTS]
    assert by_aspect == pytest.approx([a.soft_pairwise_accuracy for a in ranked.evaluators[0].agreement[1:]])


@pytest.mark.parametrize("n_generators", [1, 3])
@pytest.mark.parametrize("constant", [False, True])
def test_no_note_lacks_its_number(n_generators: int, *, constant: bool) -> None:
    """Alone in its group, a unit has no pair; where all ratings are equal, there is no pair to order."""
    truth = study(n_items=1, n_generators=n_generators)
    truth["rating"] = 3.0 if constant else truth["rating"]
    found = sheet(truth, scored(truth, copy=lambda t: t["rating"]))
    told = " ".join(found.notes) if found else ""
    assert "nan" not in told
    assert not re.search(r"(reach|of)\s*[.;%]", told)
