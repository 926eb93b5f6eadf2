"""Costs beside correlations, and the frontier, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd

from metaeval.kinds.explanations.cost_accuracy import cost_accuracy
from tests.kinds.explanations.test_prompting import correlations, judge

NAMES = ["cheap", "better", "worse", "best", "unknown", "undefined"]
SIGNATURES = {name: judge(f"openai/{name}") for name in NAMES}
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
    sheet = cost_accuracy(estimates(), costs(USD), SIGNATURES)
    assert sheet is not None
    on = sheet.frame[sheet.frame["frontier"]]
    assert (
        on.groupby(["aspect", "level"])["evaluator"].agg(list).tolist() == [["cheap", "better", "best"]] * 6
    )
    assert dict(zip(sheet.frame["evaluator"], sheet.frame["cost"], strict=True)) == {
        n: v for n, v in USD.items() if n != "unknown"
    }
    assert set(sheet.frame["unit"]) == {"usd"}
    assert "of unknown cost: unknown." in sheet.notes[-1]


def test_tokens_stand_in_where_prices_are_unknown_or_nothing() -> None:
    free = dict.fromkeys(NAMES, 0.0) | {"best": 1.0}
    sheet = cost_accuracy(estimates(), costs(free), SIGNATURES)
    assert sheet is not None
    assert set(sheet.frame["unit"]) == {"tokens"}
    assert set(sheet.frame["cost"]) == {10.0}
    # All cost the same: only the best of them is on the frontier.
    assert set(sheet.frame[sheet.frame["frontier"]]["evaluator"]) == {"unknown"}


def test_two_costs_at_least() -> None:
    one = dict.fromkeys(NAMES, np.nan) | {"best": 1.0}
    assert cost_accuracy(estimates(), costs(one, np.nan), SIGNATURES) is None
    assert cost_accuracy(estimates(), costs(dict.fromkeys(NAMES, np.nan), 0.0), SIGNATURES) is None
