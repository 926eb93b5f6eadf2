"""Which judges are the same model and prompt, and how each was asked."""

from __future__ import annotations

from typing import Any

import pandas as pd

from metaeval.base.simulation import Simulation
from metaeval.kinds.explanations.prompting import judge_names, prompting


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
    sheet = prompting(correlations(*SIGNATURES), SIGNATURES)
    assert sheet is not None
    assert set(sheet.frame["evaluator"]) == {"plain", "shot"}
    assert set(sheet.frame["model"]) == {"openai/a, multi-aspect"}
    assert dict(zip(sheet.frame["evaluator"], sheet.frame["way"], strict=True)) == {
        "plain": "zero-shot",
        "shot": "one-shot",
    }
    assert sheet.frame["estimate"].tolist() == [0.5] * 6 + [0.4] * 6
    without = {n: s for n, s in SIGNATURES.items() if n != "shot"}
    assert prompting(correlations(*without), without) is None


def test_options_are_named_where_they_differ() -> None:
    names = judge_names({"cold": judge(), "warm": judge(temperature=1), "shot": judge(examples="one-shot")})
    assert names["cold"][0] == names["shot"][0] == "openai/a, multi-aspect, temperature 0"
    assert names["warm"][0] == "openai/a, multi-aspect, temperature 1"


def test_options_are_not_named_for_another_model_nor_where_there_are_none() -> None:
    names = judge_names(
        {"a": judge(), "drawn": judge("openai/b", samples=3), "once": judge("openai/b"), "rubric": judge("c")}
    )
    assert [model.partition(", multi-aspect")[2] for model, _ in names.values()] == [
        "",
        ", samples 3",
        "",
        "",
    ]


def test_addresses_are_named_where_one_model_answers_at_two() -> None:
    two_models = {"a": judge(), "b": judge("dashscope/b", address="http://there")}
    assert judge_names(two_models)["b"][0] == "dashscope/b, multi-aspect"
    two_servers = {**two_models, "again": judge(address="http://there")}
    assert judge_names(two_servers)["again"][0] == "openai/a, multi-aspect, address http://there"


def test_seeds_are_named_where_they_alone_differ() -> None:
    names = judge_names(
        {"zero": judge(), "x": judge(examples="one-shot", seed=3), "y": judge(examples="one-shot", seed=4)}
    )
    assert [way for _, way in names.values()] == ["zero-shot", "one-shot, seed 3", "one-shot, seed 4"]


def test_simulated_judges_are_said() -> None:
    frame = correlations(*SIGNATURES)
    said = [
        prompting(frame, SIGNATURES, simulated=Simulation(False, who)) for who in (("plain",), ("alone",))
    ]
    assert [bool(sheet.simulated) for sheet in said if sheet] == [True, False]
