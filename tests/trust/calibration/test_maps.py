"""Maps to people's scale: what they mend of judges whose faults are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metaeval.base.records import Scale
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import prepare
from metaeval.engine.intervals import Bootstrap
from metaeval.trust.calibration.maps import conformal_sheet, half_widths, map_fits, map_sheet

SCALE = Scale(1, 5)


def fits(seed=0):
    """A judge that is two points too harsh, one that knows nothing, and users who differ by a point."""
    u, i = (v.ravel() for v in np.indices((30, 8)))
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 1, u.size)
    rating = np.clip(np.rint(3.5 + quality + rng.normal(0, 1, 30)[u]), 1, 5)
    units = pd.DataFrame({"user_id": u, "item_id": i, "generator": 0}).astype(str)
    truth = units.assign(aspect="clear", rating=rating)
    judges = {"harsh": np.clip(1.5 + quality, 1, 5), "blind": rng.integers(1, 6, u.size), "big": 50 * quality}
    scores = pd.concat([units.assign(aspect="clear", evaluator=n, score=s) for n, s in judges.items()])
    data = prepare(scores, truth, Policy.of(["dataset"], ["spearman"], None, "skip", "own"))
    return {f.evaluator: f for f in map_fits(data, scale=SCALE, bootstrap=Bootstrap(resamples=300))}


def test_a_harsh_judge_is_mended_and_a_blind_one_adds_nothing() -> None:
    found = fits()
    harsh, blind = found["harsh"], found["blind"]
    assert harsh.mended.low > 0.5
    assert harsh.added.low > 0
    assert harsh.mended.value == pytest.approx(harsh.rmse["raw"] - harsh.rmse["map"])
    assert harsh.rmse["own_map"] < harsh.rmse["map"] < harsh.rmse["raw"]
    assert harsh.added_to_own.low > 0
    assert blind.added.value == pytest.approx(0, abs=0.05)
    assert blind.added.low < 0.01
    assert blind.pearson["own_map"] > 0.3  # by the user's own labels alone, as without a judge
    assert (np.diff(harsh.map.y) >= 0).all()


def test_the_sheet_has_a_row_an_evaluator() -> None:
    found = fits()
    sheet = map_sheet(list(found.values()), seed=0)
    row = sheet.frame.set_index("evaluator").loc["harsh"]
    assert row["mae_map"] == found["harsh"].mae["map"]
    assert row["added_to_own_low"] == found["harsh"].added_to_own.low
    assert {c.name for c in sheet.columns} <= set(sheet.frame.columns)
    assert map_sheet([]) is None


def test_intervals_of_single_ratings_are_about_the_score_the_map_and_the_mean() -> None:
    sheet = conformal_sheet(list(fits().values()))
    assert sheet is not None
    rows = sheet.frame.set_index("evaluator")
    assert rows.loc["harsh", "within_map"] < rows.loc["harsh", "within_raw"]
    assert rows.loc["harsh", "within_map"] < rows.loc["harsh", "within_mean"]
    assert np.isnan(rows.loc["big", "within_raw"])  # not on the scale
    assert (rows[["coverage_map", "coverage_mean"]] > 0.85).all(axis=None)
    assert half_widths([sheet]) == {n: {"clear": rows.loc[n, "within_raw"]} for n in ("harsh", "blind")}
    assert conformal_sheet([]) is None
