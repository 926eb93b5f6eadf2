"""Which evaluators score alike: numbers against pandas, and the order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metaeval.engine.alignment.aligned import align
from metaeval.kinds.explanations.figures.likeness import pairs_of

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
    pairs = pairs_of(
        align(scores, truth, ["dataset"]), aspects=[*ASPECTS, "average"], coefficients=["pearson", "kendall"]
    )
    assert pairs is not None
    rated = truth.rename(columns={"rating": "score"}).assign(evaluator="truth")
    wide = pd.concat([scores, rated]).pivot_table(
        index=["item_id"], columns=["aspect", "evaluator"], values="score"
    )
    for coefficient in ("pearson", "kendall"):
        naive = {a: wide[a].corr(method=coefficient) for a in ASPECTS}
        naive["average"] = sum(naive.values()) / 2
        for aspect, r in naive.items():
            chosen = (pairs["coefficient"] == coefficient) & (pairs["aspect"] == aspect)
            rows = pairs[chosen]
            assert len(rows) == 10  # five names, two at a time
            for row in rows.to_dict("records"):
                first, second = row["first"], row["second"]
                assert row["r"] == pytest.approx(r.loc[first, second])
                assert row["n_units"] == (35 if "good" in (first, second) else 40) * (
                    1 + (aspect == "average")
                )
    assert "nothing" not in set(pairs["first"])


def test_alike_evaluators_stand_together_and_the_truth_last() -> None:
    scores, truth = study()
    pairs = pairs_of(align(scores, truth, ["dataset"]), aspects=["clear"], coefficients=["spearman"])
    assert pairs is not None
    place = dict(zip(pairs["first"], pairs["first_place"], strict=True))
    place |= dict(zip(pairs["second"], pairs["second_place"], strict=True))
    assert place["truth"] == 5
    assert abs(place["good"] - place["like good"]) == 1
    assert abs(place["noise"] - place["like noise"]) == 1
    assert place["good"] > place["noise"]  # nearer to the truth
