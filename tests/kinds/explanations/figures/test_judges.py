"""How each judge was asked, costs and the frontier by hand, and the spread of ensembles, subset by subset."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import Prepared, prepare
from metaeval.kinds.explanations.figures.ensembles import ensemble_spread
from metaeval.kinds.explanations.figures.judges import asked_in_ways, cost_accuracy, judge_names


def judge(model: str = "openai/a", examples: str = "none", **changed: Any) -> dict[str, Any]:
    plain = {"model": model, "prompt": {"name": "multi-aspect"}, "examples": examples, "seed": 0}
    return {**plain, "address": "http://here", "temperature": 0, **changed}


def correlations(*names: str) -> pd.DataFrame:
    rows = [
        {"evaluator": n, "aspect": a, "level": v, "coefficient": "pearson", "estimate": len(n) / 10}
        for n in names
        for a in ("clear", "fitting", "average")
        for v in ("dataset", "user")
    ]
    return pd.DataFrame(rows).assign(ci_low=0.0, ci_high=1.0)


SIGNATURES = {
    "plain": judge(),
    "shot": judge(examples="one-shot"),
    "alone": judge("openai/b"),
    "bleu": {"library": "sacrebleu"},
}


def test_only_models_asked_in_two_ways_are_there() -> None:
    frame = asked_in_ways(correlations(*SIGNATURES), SIGNATURES)
    assert frame is not None
    assert set(frame["evaluator"]) == {"plain", "shot"}
    assert set(frame["model"]) == {"openai/a, multi-aspect"}
    assert dict(zip(frame["evaluator"], frame["way"], strict=True)) == {
        "plain": "zero-shot",
        "shot": "one-shot",
    }
    assert frame["estimate"].tolist() == [0.5] * 6 + [0.4] * 6
    without = {n: s for n, s in SIGNATURES.items() if n != "shot"}
    assert asked_in_ways(correlations(*without), without) is None


SHOT, THERE = {"examples": "one-shot"}, "openai/b"


@pytest.mark.parametrize(
    ("judges", "models", "ways"),
    [
        (
            [judge(), judge(temperature=1), judge(**SHOT)],
            [", temperature 0", ", temperature 1", ", temperature 0"],
            ["zero-shot", "zero-shot", "one-shot"],
        ),
        # Options are not named for another model, nor where a judge has none of the name.
        ([judge(), judge(THERE, samples=3), judge(THERE)], ["", ", samples 3", ""], ["zero-shot"] * 3),
        ([judge(), judge(THERE, address="http://there")], ["", ""], ["zero-shot"] * 2),
        ([judge(address="x"), judge(address="y")], [", address x", ", address y"], ["zero-shot"] * 2),
        (
            [judge(), judge(**SHOT, seed=3), judge(**SHOT, seed=4)],
            ["", "", ""],
            ["zero-shot", "one-shot, seed 3", "one-shot, seed 4"],
        ),
    ],
)
def test_what_differs_between_judges_of_a_model_is_named(
    judges: list[dict[str, Any]], models: list[str], ways: list[str]
) -> None:
    names = judge_names({str(i): signature for i, signature in enumerate(judges)}).values()
    assert [model.partition(", multi-aspect")[2] for model, _ in names] == models
    assert [way for _, way in names] == ways


NAMES = ["cheap", "better", "worse", "best", "unknown", "undefined"]
PRICED = {name: judge(f"openai/{name}") for name in NAMES}
ESTIMATE = {"cheap": 0.1, "better": 0.2, "worse": 0.15, "best": 0.3, "unknown": 0.9, "undefined": np.nan}
USD = {"cheap": 0.01, "better": 0.02, "worse": 0.02, "best": 0.5, "unknown": np.nan, "undefined": 0.6}


def costs(usd: dict[str, float], tokens: float = 10.0) -> pd.DataFrame:
    return pd.DataFrame(
        {"evaluator": NAMES, "usd_per_text": [usd[n] for n in NAMES], "tokens_per_text": tokens}
    )


def estimates() -> pd.DataFrame:
    frame = correlations(*NAMES)
    return frame.assign(estimate=frame["evaluator"].map(ESTIMATE))


def test_nobody_on_the_frontier_is_beaten_at_its_price() -> None:
    frame = cost_accuracy(estimates(), costs(USD), PRICED)
    assert frame is not None
    on = frame[frame["frontier"]]
    assert (
        on.groupby(["aspect", "level"])["evaluator"].agg(list).tolist() == [["cheap", "better", "best"]] * 6
    )
    assert dict(zip(frame["evaluator"], frame["cost"], strict=True)) == {
        n: v for n, v in USD.items() if n != "unknown"
    }
    assert set(frame["unit"]) == {"usd"}


def test_a_person_with_a_price_is_on_the_frontier_too() -> None:
    """A person who is better than all judges is on it; one that is worse than a cheaper judge is not."""
    signatures = {**PRICED, "worse": {"usd_per_unit": 0.3}, "best": {"usd_per_unit": 0.5}}
    frame = cost_accuracy(estimates(), costs(USD | {"worse": 0.3}), signatures)
    assert frame is not None
    way = dict(zip(frame["evaluator"], frame["way"], strict=True))
    assert way["best"] == way["worse"] == "no model"
    assert set(frame.loc[frame["frontier"], "evaluator"]) == {"cheap", "better", "best"}


POLICY = Policy.of(["dataset"], ["pearson"], None, "skip", "common")


def data(n_judges: int = 4, n_users: int = 5) -> tuple[Prepared, pd.DataFrame]:
    rng = np.random.default_rng(0)
    units = [(f"u{u}", f"i{i}", "g") for u in range(n_users) for i in range(8)]
    truth = pd.DataFrame(units, columns=["user_id", "item_id", "generator"]).assign(aspect="clear")
    truth["rating"] = rng.normal(size=len(truth))
    scores = pd.concat(
        [
            truth.drop(columns="rating").assign(
                evaluator=f"j{j}", score=truth["rating"] + rng.normal(size=len(truth)) * (1 + j)
            )
            for j in range(n_judges)
        ],
        ignore_index=True,
    )
    wide = scores.pivot_table(index=["user_id", "item_id"], columns="evaluator", values="score")
    wide["truth"] = truth.set_index(["user_id", "item_id"])["rating"]
    return prepare(scores, truth, POLICY), wide


def test_each_size_sums_up_its_subsets() -> None:
    assert ensemble_spread(data(n_judges=1)[0]) is None
    assert ensemble_spread(data(n_users=1)[0]) is None
    prepared, wide = data()
    frame = ensemble_spread(prepared)
    assert frame is not None
    assert frame["n_judges"].tolist() == [1, 2, 3, 4]
    for row in frame.to_dict("records"):
        subsets = combinations([f"j{j}" for j in range(4)], row["n_judges"])
        r = [wide[list(s)].mean(axis=1).corr(wide["truth"]) for s in subsets]
        assert row["n_subsets"] == len(r)
        assert row["mean"] == pytest.approx(np.mean(r))
        found = [row[n] for n in ("minimum", "q1", "median", "q3", "maximum")]
        assert found == pytest.approx(np.quantile(r, [0, 0.25, 0.5, 0.75, 1]))
