"""Which evaluators score alike: numbers against pandas, and the order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metaeval.analysis.agreement import likeness as module
from metaeval.analysis.agreement.likeness import likeness
from metaeval.engine.alignment.aligned import align

ASPECTS = ["clear", "fitting"]


def study(n_units: int = 40) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    scores, ratings = [], []
    for aspect in ASPECTS:
        truth = rng.normal(size=n_units)
        ratings += [(str(i), aspect, v) for i, v in enumerate(truth)]
        good, noise = truth + rng.normal(size=n_units), rng.normal(size=n_units)
        of = {"good": good, "noise": noise, "like noise": noise + 0.1 * rng.normal(size=n_units)}
        of |= {"like good": good + 0.1 * rng.normal(size=n_units), "nothing": np.full(n_units, np.nan)}
        of["good"] = np.where(np.arange(n_units) < 5, np.nan, good)
        scores += [(str(i), e, aspect, v) for e, values in of.items() for i, v in enumerate(values)]
    return (
        pd.DataFrame(scores, columns=["item_id", "evaluator", "aspect", "score"]),
        pd.DataFrame(ratings, columns=["item_id", "aspect", "rating"]),
    )


def test_each_pair_is_what_pandas_says() -> None:
    scores, truth = study()
    sheet = likeness(
        align(scores, truth, ["dataset"]), aspects=[*ASPECTS, "average"], coefficients=["pearson", "kendall"]
    )
    assert sheet is not None
    rated = truth.rename(columns={"rating": "score"}).assign(evaluator="truth")
    wide = pd.concat([scores, rated]).pivot_table(
        index=["item_id"], columns=["aspect", "evaluator"], values="score"
    )
    for coefficient in ("pearson", "kendall"):
        naive = {a: wide[a].corr(method=coefficient) for a in ASPECTS}
        naive["average"] = sum(naive.values()) / 2
        for aspect, r in naive.items():
            chosen = (sheet.frame["coefficient"] == coefficient) & (sheet.frame["aspect"] == aspect)
            rows = sheet.frame[chosen]
            assert len(rows) == 10  # five names, two at a time
            for row in rows.to_dict("records"):
                first, second = row["first"], row["second"]
                assert row["r"] == pytest.approx(r.loc[first, second])
                assert row["n_units"] == (35 if "good" in (first, second) else 40) * (
                    1 + (aspect == "average")
                )
    assert "nothing" in " ".join(sheet.notes)


def test_alike_evaluators_stand_together_and_the_truth_last() -> None:
    scores, truth = study()
    sheet = likeness(align(scores, truth, ["dataset"]), aspects=["clear"], coefficients=["spearman"])
    assert sheet is not None
    place = dict(zip(sheet.frame["first"], sheet.frame["first_place"], strict=True))
    place |= dict(zip(sheet.frame["second"], sheet.frame["second_place"], strict=True))
    assert place["truth"] == 5
    assert abs(place["good"] - place["like good"]) == 1
    assert abs(place["noise"] - place["like noise"]) == 1
    assert place["good"] > place["noise"]  # nearer to the truth


def test_very_many_pairs_have_one_coefficient_and_aspect(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, truth = study()
    options = {"aspects": ["average", *ASPECTS], "coefficients": ["kendall", "pearson"]}
    monkeypatch.setattr(module, "MOST_ROWS", 45)
    sheet = likeness(align(scores, truth, ["dataset"]), **options)
    assert sheet is not None
    assert (set(sheet.frame["coefficient"]), sheet.frame["aspect"].nunique()) == ({"kendall"}, 3)
    monkeypatch.setattr(module, "MOST_ROWS", 10)
    sheet = likeness(align(scores, truth, ["dataset"]), **options)
    assert sheet is not None
    assert set(sheet.frame["aspect"]) == {"average"}
    assert "metaeval figures" in sheet.notes[-1]


def test_one_evaluator_is_like_nobody() -> None:
    scores, truth = study()
    one = scores[scores["evaluator"].isin(["good", "nothing"])]
    assert likeness(align(one, truth, ["dataset"]), aspects=["clear"], coefficients=["pearson"]) is None


def test_an_aspect_that_the_truth_lacks_is_left_out() -> None:
    scores, truth = study()
    aligned = align(scores, truth[truth["aspect"] == "clear"], ["dataset"])
    sheet = likeness(aligned, aspects=[*ASPECTS, "average"], coefficients=["pearson"])
    assert sheet is not None
    assert set(sheet.frame["aspect"]) == {"clear", "average"}
    assert likeness(aligned, aspects=["fitting"], coefficients=["pearson"]) is None
