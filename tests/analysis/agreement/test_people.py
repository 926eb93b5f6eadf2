"""Lines of people against correlations computed by scipy on frames put together by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr

from metaeval.analysis.agreement.people import people
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.intervals import Bootstrap

ASPECTS = ("clear", "fitting")
KEYS = ["user_id", "item_id", "generator"]
FEW = Bootstrap(resamples=50)


def ratings(raters=("1", "2"), n_users=6, seed=0, users=True):
    """Ratings of the users and of annotators, who see a part of what the users see."""
    rng = np.random.default_rng(seed)
    u, i, g = (v.ravel().astype(str) for v in np.indices((n_users, 2, 4)))
    frames = []
    for aspect in ASPECTS:
        seen = rng.normal(size=u.size)
        for rater in ("user", *raters):
            rating = np.clip(np.rint(3 + seen + rng.normal(size=u.size)), 1, 5)
            keys = {"user_id": u, "item_id": i if users else np.char.add(u, i), "generator": g}
            frames.append(pd.DataFrame({**keys, "rater": rater, "aspect": aspect, "rating": rating}))
    frame = pd.concat(frames, ignore_index=True)
    return frame if users else frame.drop(columns="user_id")


def truth_of(frame, *raters):
    of = frame[frame["rater"].isin(raters)]
    by = [k for k in (*KEYS, "aspect") if k in frame]
    return of.groupby(by, sort=False)["rating"].mean().reset_index()


def policy(*levels, missing=None):
    return Policy.of(list(levels) or ["dataset"], ["pearson", "kendall"], missing, "skip", "common")


def wide(frame):
    return frame.pivot_table(
        index=[*(k for k in KEYS if k in frame), "aspect"], columns="rater", values="rating"
    )


def by_hand(x, y):
    """Return the mean over aspects of Pearson's r."""
    parts = (x.index.get_level_values("aspect") == a for a in ASPECTS)
    return np.mean([pearsonr(x[p], y[p]).statistic for p in parts])


def line(sheet, who, against):
    found = sheet.frame[(sheet.frame["who"] == who) & (sheet.frame["against"] == against)]
    assert len(found) == 1
    return found.iloc[0]


def test_the_lines_of_two_annotators_and_the_users() -> None:
    frame = ratings()
    table = wide(frame)
    sheet = people(truth_of(frame, "user"), frame, policy("dataset", "pair"), bootstrap=FEW)
    assert list(zip(sheet.frame["who"], sheet.frame["against"], strict=True)) == [
        ("1", "the user"),
        ("2", "the user"),
        ("mean of 1 and 2", "the user"),
        ("1", "2"),
    ]
    expected = {
        ("1", "the user"): by_hand(table["1"], table["user"]),
        ("mean of 1 and 2", "the user"): by_hand(table[["1", "2"]].mean(axis=1), table["user"]),
        ("1", "2"): by_hand(table["1"], table["2"]),
    }
    for names, r in expected.items():
        found = line(sheet, *names)
        assert found["dataset"] == pytest.approx(r)
        assert found["dataset"] == pytest.approx(np.mean([found[f"dataset: {a}"] for a in ASPECTS]))
        assert found["dataset_low"] < found["dataset"] < found["dataset_high"]
        assert found["n_units"] == len(table)
    assert [c.name for c in sheet.columns] == ["who", "against", "dataset", "pair", "n_units"]


def test_three_annotators_are_held_against_the_mean_of_the_others() -> None:
    frame = ratings(("a", "b", "c"))
    table = wide(frame)
    sheet = people(truth_of(frame, "user"), frame, policy(), bootstrap=FEW)
    assert len(sheet.frame) == 3 + 1 + 3 + 3
    found = line(sheet, "a", "mean of b and c")["dataset"]
    assert found == pytest.approx(by_hand(table["a"], table[["b", "c"]].mean(axis=1)))


def test_nobody_is_held_against_a_truth_that_holds_his_ratings() -> None:
    frame = ratings(("a", "b", "c"), users=False)
    truth = truth_of(frame, "a", "b")
    sheet = people(truth, frame, policy("item"), truth_raters={"a", "b"}, truth_name="T", bootstrap=FEW)
    assert sheet.frame.loc[sheet.frame["against"] == "T", "who"].tolist() == ["c"]
    text = " ".join(sheet.notes)
    assert "made of ratings of a and b, who are not compared with it" in text
    assert "resamples of items" in text
    whole = people(
        truth_of(frame, "a", "b", "c"), frame, policy(), truth_raters={"a", "b", "c"}, bootstrap=FEW
    )
    assert len(whole.frame) == 6
    assert "slightly too low" in " ".join(whole.notes)


def test_each_line_has_what_both_sides_rated() -> None:
    frame = ratings()
    rng = np.random.default_rng(9)
    kept = (rng.random(len(frame)) < 0.7) | (frame["rater"] == "user")
    table = wide(frame[kept]).dropna(subset=["1", "2"])
    # A rating that was asked for and not given is as one that was not asked for.
    asked = frame.assign(rating=frame["rating"].where(kept))
    lines = [people(truth_of(frame, "user"), f, policy(), bootstrap=FEW) for f in (frame[kept], asked)]
    for sheet in lines:
        found = line(sheet, "1", "2")
        assert found["dataset"] == pytest.approx(by_hand(table["1"], table["2"]))
        assert found["n_units"] == len(table) == line(sheet, "mean of 1 and 2", "the user")["n_units"]
        assert "did not rate everything" in " ".join(sheet.notes)


def test_a_missing_rating_of_the_truth_is_treated_as_in_the_run() -> None:
    frame = ratings()
    truth = truth_of(frame, "user")
    truth.loc[::5, "rating"] = np.nan
    filled = people(truth, frame, policy(missing={"truth": 3}), bootstrap=FEW)
    dropped = people(truth, frame, policy(), bootstrap=FEW)
    three = people(truth.fillna(3), frame, policy(), bootstrap=FEW)
    assert line(filled, "1", "the user")["dataset"] == line(three, "1", "the user")["dataset"]
    assert line(dropped, "1", "the user")["n_units"] < line(filled, "1", "the user")["n_units"]


def test_annotators_who_share_no_unit_have_no_line() -> None:
    frame = ratings()
    apart = frame[(frame["rater"] == "user") | ((frame["rater"] == "1") == (frame["generator"] < "2"))]
    found = line(people(truth_of(frame, "user"), apart, policy(), bootstrap=FEW), "1", "2")
    assert found["n_units"] == 0
    assert np.isnan(found["dataset"])


def test_lines_of_whom_none_has_a_unit_have_no_numbers() -> None:
    frame = ratings()
    apart = frame[(frame["rater"] != "user") & ((frame["rater"] == "1") == (frame["generator"] < "2"))]
    unknown = truth_of(frame, "user").assign(rating=np.nan)
    sheet = people(unknown, apart, policy(), truth_raters={"1", "2"}, bootstrap=FEW)
    assert sheet is not None
    assert set(sheet.frame["n_units"]) == {0}
    assert sheet.frame[["dataset", "dataset_low", "dataset_high"]].isna().all(axis=None)


def test_many_annotators_are_not_paired() -> None:
    frame = ratings([f"p{i}" for i in range(9)], n_users=3)
    sheet = people(truth_of(frame, "user"), frame, policy(), bootstrap=FEW)
    assert len(sheet.frame) == 9 + 1 + 9
    assert "Pairs are not listed" in " ".join(sheet.notes)


def test_without_annotators_there_is_no_sheet() -> None:
    frame = ratings()
    truth = truth_of(frame, "user")
    assert people(truth, None, policy()) is None
    assert people(truth, frame[frame["rater"] == "user"], policy()) is None
    alone = frame[frame["rater"].isin(["user", "1"])]
    assert people(truth, alone, policy(), truth_raters={"1"}) is None
