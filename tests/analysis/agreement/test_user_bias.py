"""Bias by user against a few lines of pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metaeval.analysis.agreement import user_bias as module
from metaeval.analysis.agreement.user_bias import user_bias
from metaeval.base.records import Scale

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
    sheet = user_bias(scores, truth, SCALE, kinds={})
    assert sheet is not None
    assert set(sheet.frame["evaluator"]) == {"judge", "kind"}
    both = scores.merge(truth, on=["user_id", "item_id", "aspect"])
    both["bias"] = both["score"] - both["rating"]
    for (name, aspect), rows in sheet.frame.groupby(["evaluator", "aspect"]):
        own = both[both["evaluator"] == name]
        wide = own.pivot_table(index="user_id", columns="aspect", values="bias", aggfunc="mean")
        naive = wide.mean(axis=1) if aspect == "average" else wide[aspect]
        assert dict(zip(rows["who"], rows["bias"], strict=True)) == pytest.approx(naive.to_dict())
        assert rows["mean"].unique() == pytest.approx([naive.mean()])
        assert rows["q1"].unique() == pytest.approx([np.quantile(naive, 0.25)])
        assert rows["q3"].unique() == pytest.approx([np.quantile(naive, 0.75)])
    judged = sheet.frame[(sheet.frame["evaluator"] == "judge") & (sheet.frame["aspect"] == "average")]
    assert judged["n_units"].sum() == 2 * 30 - 2  # one score and one rating are missing
    assert sheet.frame["aspect"].unique().tolist() == ["average", "clear", "fitting"]


def test_items_take_the_place_of_users() -> None:
    scores, truth = (f[f.get("user_id") == "u1"].drop(columns="user_id") for f in study())
    sheet = user_bias(scores, truth[truth["aspect"] == "clear"], SCALE, kinds={})
    assert sheet is not None
    assert set(sheet.frame["who"]) == {f"i{i}" for i in range(5)}
    assert set(sheet.frame["aspect"]) == {"clear"}
    assert "Bias by items" in sheet.title


def test_of_very_many_users_some_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, truth = study()
    whole = user_bias(scores, truth, SCALE, kinds={})
    monkeypatch.setattr(module, "MOST_GROUPS", 3)
    sheet = user_bias(scores, truth, SCALE, kinds={})
    assert sheet is not None
    assert whole is not None
    assert (sheet.frame.groupby(["evaluator", "aspect"]).size() == 3).all()
    ends = [f.frame.groupby(["evaluator", "aspect"])["bias"].agg(["min", "max"]) for f in (whole, sheet)]
    pd.testing.assert_frame_equal(*ends)
    assert set(sheet.frame["mean"]) == set(whole.frame["mean"])
    assert "at even steps" in sheet.notes[-1]


def test_nobody_is_on_the_scale() -> None:
    scores, truth = study()
    assert user_bias(scores[scores["evaluator"] == "off"], truth, SCALE, kinds={}) is None
