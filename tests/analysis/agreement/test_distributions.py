"""How often each score is given, counted by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metaeval.analysis.agreement.distributions import distributions, edges_of, on_scale, shares
from metaeval.base.records import Kind, Scale

SCALE = Scale(1, 5)


def frame(**scores: list[float]) -> pd.DataFrame:
    rows = [(str(i), e, "clear", s) for e, values in scores.items() for i, s in enumerate(values)]
    return pd.DataFrame(rows, columns=["item_id", "evaluator", "aspect", "score"])


def truth(*ratings: float) -> pd.DataFrame:
    return pd.DataFrame({"item_id": [*map(str, range(len(ratings)))], "aspect": "clear", "rating": ratings})


def test_every_rating_has_a_bin_and_a_half_counts_half_in_two() -> None:
    sheet = distributions(
        frame(mean=[1, 1.5, 5, np.nan]), truth(1, 2, 2, np.nan), SCALE, kinds={"mean": Kind.ANNOTATOR}
    )
    assert sheet is not None
    of = dict(iter(sheet.frame.groupby("evaluator", sort=False)))
    assert list(of) == ["truth", "mean"]
    assert of["mean"]["low"].tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert of["mean"]["share"].tolist() == pytest.approx([0.5, 1 / 6, 0, 0, 1 / 3])
    assert of["mean"]["truth_share"].tolist() == pytest.approx([1 / 3, 2 / 3, 0, 0, 0])
    assert of["mean"]["n_scores"].tolist() == [3] * 5
    assert of["truth"]["share"].tolist() == of["mean"]["truth_share"].tolist()


def test_other_scales_have_ten_bins_over_their_own_range() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(100, 20, 500).tolist()
    sheet = distributions(frame(length=values), truth(*[3.0] * 500), SCALE, kinds={})
    assert sheet is not None
    own = sheet.frame[sheet.frame["evaluator"] == "length"]
    counts, edges = np.histogram(values, bins=10)
    assert own["share"].tolist() == pytest.approx(counts / 500)
    assert own["low"].tolist() == pytest.approx(edges[:-1])
    assert own["truth_share"].isna().all()


def test_a_constant_has_one_bin_and_who_gave_nothing_is_named() -> None:
    sheet = distributions(frame(same=[7, 7], nothing=[np.nan, np.nan]), truth(1, 2), SCALE, kinds={})
    assert sheet is not None
    own = sheet.frame[sheet.frame["evaluator"] == "same"]
    assert own[["low", "high", "share"]].to_numpy().tolist() == [[6.5, 7.5, 1.0]]
    assert "nothing" not in set(sheet.frame["evaluator"])
    assert any("left out: nothing." in note for note in sheet.notes)
    assert distributions(frame(nothing=[np.nan]), truth(1), SCALE, kinds={}) is None


def test_who_scores_on_the_scale() -> None:
    scores = frame(
        judge=[1, 5, np.nan],
        mean=[1.5, 2.25, 3],
        other=[1.2718, 1.3, 1.4],  # lies on the scale by chance
        low=[0, 3, 4],
        bleu=[2, 3, 4],
        nothing=[np.nan] * 3,
    )
    kinds = {"bleu": Kind.REFERENCE}
    assert on_scale(scores, SCALE, kinds) == ["judge", "mean"]
    assert "other" in on_scale(scores, Scale(1, 5, integer=False), kinds)


def test_long_scales_have_ten_bins() -> None:
    assert len(edges_of(Scale(0, 100))) == 11
    assert edges_of(Scale(0, 1, integer=False)).tolist() == pytest.approx(np.arange(11) / 10)
    assert shares(np.array([0.0, 100.0]), edges_of(Scale(0, 100))).tolist() == [0.5, *[0] * 8, 0.5]
    assert np.isnan(shares(np.empty(0), np.array([0.0, 1.0]))).all()
