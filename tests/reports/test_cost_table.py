import math

import pandas as pd

from metaeval.reports.cost_table import cost_table
from metaeval.study.costs import COLUMNS, costs_of
from metaeval.types import Kind, ScoreTable


def table(usd: float, status: str = "ok") -> ScoreTable:
    frame = pd.DataFrame(
        {
            "user_id": ["u1", "u1", "u2", "u2"],
            "item_id": "i",
            "generator": "g",
            "evaluator": "a|b",
            "aspect": ["x", "y", "x", "y"],
            "status": ["ok", status, "ok", "ok"],
            "tokens": [10.0, 10.0, 20.0, 20.0],
            "usd": usd,
            "seconds": 0.5,
            "call": "key",
        }
    )
    signature = {"model": "openai/m", "prompt": {"name": "multi-aspect"}}
    return ScoreTable(frame, {"a|b": signature}, {"a|b": Kind.JUDGE})


def test_what_one_text_costs_on_all_aspects():
    (row,) = costs_of(table(0.25, "refused")).to_dict("records")
    assert (row["texts"], row["usd_per_text"], row["tokens_per_text"]) == (2, 0.5, 30)
    assert (row["seconds_per_text"], row["parse_rate"], row["usd"]) == (1.0, 0.75, 1.0)
    assert r"| a\|b | multi-aspect | 2 | 0.5 | 30 | 1.00 | 75.0% | 1.00 |" in cost_table(
        costs_of(table(0.25, "refused"))
    )


def test_an_unknown_price_is_not_zero():
    (row,) = costs_of(table(math.nan)).to_dict("records")
    assert math.isnan(row["usd"])
    assert "| — | 30 | 1.00 | 100.0% | — |" in cost_table(costs_of(table(math.nan)))


def test_without_judges_there_are_no_rows():
    costs = costs_of(ScoreTable(pd.DataFrame({"evaluator": ["x"], "score": [1.0]})))
    assert tuple(costs.columns) == COLUMNS
    assert costs.empty
