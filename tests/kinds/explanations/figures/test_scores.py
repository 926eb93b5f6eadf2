"""Histograms counted by hand, and bias by user against a few lines of pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metaeval.base.records import Scale
from metaeval.kinds.explanations.figures.scores import bias_by_user, histograms

SCALE = Scale(1, 5)


def study() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    units = [(f"u{u}", f"i{i}", a) for u in range(6) for i in range(5) for a in ("clear", "fitting")]
    truth = pd.DataFrame(units, columns=["user_id", "item_id", "aspect"])
    truth["rating"] = rng.integers(1, 6, len(truth)).astype(float)
    truth.loc[3, "rating"] = np.nan
    scores = pd.concat(
        [
            truth.drop(columns="rating").assign(evaluator=name, score=rng.integers(low, 6, len(truth)) * 1.0)
            for name, low in (("judge", 1), ("kind", 4), ("off", -2))
        ],
        ignore_index=True,
    )
    scores.loc[7, "score"] = np.nan
    return scores, truth


def test_means_by_user_and_what_sums_them_up() -> None:
    scores, truth = study()
    bias, n = bias_by_user(scores, truth, SCALE, {})
    assert bias is not None
    assert len(bias) == n
    assert set(bias["evaluator"]) == {"judge", "kind"}
    both = scores.merge(truth, on=["user_id", "item_id", "aspect"])
    both["bias"] = both["score"] - both["rating"]
    for (name, aspect), rows in bias.groupby(["evaluator", "aspect"]):
        own = both[both["evaluator"] == name]
        wide = own.pivot_table(index="user_id", columns="aspect", values="bias", aggfunc="mean")
        naive = wide.mean(axis=1) if aspect == "average" else wide[aspect]
        assert dict(zip(rows["who"], rows["bias"], strict=True)) == pytest.approx(naive.to_dict())
        assert rows["mean"].unique() == pytest.approx([naive.mean()])
        assert rows["q1"].unique() == pytest.approx([np.quantile(naive, 0.25)])
        assert rows["q3"].unique() == pytest.approx([np.quantile(naive, 0.75)])
    judged = bias[(bias["evaluator"] == "judge") & (bias["aspect"] == "average")]
    assert judged["n_units"].sum() == 2 * 30 - 2  # one score and one rating are missing
    assert bias["aspect"].unique().tolist() == ["average", "clear", "fitting"]


def frame(**scores: list[float]) -> pd.DataFrame:
    rows = [(str(i), e, "clear", s) for e, values in scores.items() for i, s in enumerate(values)]
    return pd.DataFrame(rows, columns=["item_id", "evaluator", "aspect", "score"])


def truth(*ratings: float) -> pd.DataFrame:
    return pd.DataFrame({"item_id": [*map(str, range(len(ratings)))], "aspect": "clear", "rating": ratings})


def test_half_points_have_a_bin_each_and_finer_numbers_ten() -> None:
    for ends, ratings, lows in (
        ((1, 5), (1, 1.5, 1.5, 5), np.arange(0.75, 5, 0.5)),
        ((0, 1), (0, 0.3, 1, 1), np.arange(0, 1, 0.1)),
    ):
        bins = histograms(frame(own=[1, 2]), truth(*ratings), Scale(*ends, integer=False), [])
        assert bins is not None
        assert bins.loc[bins["place"] == 0, "low"].tolist() == pytest.approx(lows)


def test_every_rating_has_a_bin_and_a_half_counts_half_in_two() -> None:
    bins = histograms(frame(mean=[1, 1.5, 5, np.nan]), truth(1, 2, 2, np.nan), SCALE, ["mean"])
    assert bins is not None
    of = dict(iter(bins.groupby("evaluator", sort=False)))
    assert list(of) == ["truth", "mean"]
    assert of["mean"]["low"].tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert of["mean"]["share"].tolist() == pytest.approx([0.5, 1 / 6, 0, 0, 1 / 3])
    assert of["mean"]["truth_share"].tolist() == pytest.approx([1 / 3, 2 / 3, 0, 0, 0])
    assert of["mean"]["n_scores"].tolist() == [3] * 5
    assert of["truth"]["share"].tolist() == of["mean"]["truth_share"].tolist()
