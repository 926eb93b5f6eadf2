import math

import pandas as pd

from metaeval.base.records import Kind, ScoreTable
from metaeval.judging.cost import COLUMNS, costs_of
from metaeval.reports.cost_table import cost_table


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
    assert r"| a\|b | multi-aspect | 2 | 0.0 % | \$0.50 | 30 | — | 1.0 s | 75.0 % | \$1.00 |" in cost_table(
        costs_of(table(0.25, "refused"))
    )


def test_an_unknown_price_is_not_zero():
    (row,) = costs_of(table(math.nan)).to_dict("records")
    assert math.isnan(row["usd"])
    assert "| — | 30 | — | 1.0 s | 100.0 % | — |" in cost_table(costs_of(table(math.nan)))


def test_a_call_without_a_reply_blanks_nothing():
    """One of two texts was lost: what a text costs is what the other one did, and the sum is whole."""
    whole = table(0.25)
    whole.frame["call"] = ["key1", "key1", "key2", "key2"]
    lost = whole.frame["user_id"] == "u2"
    whole.frame.loc[lost, ["status", "tokens", "usd", "seconds"]] = ["transport", 0.0, 0.0, 0.0]
    (row,) = costs_of(whole).to_dict("records")
    assert (row["texts"], row["lost"], row["usd"]) == (2, 0.5, 0.5)
    assert (row["usd_per_text"], row["tokens_per_text"], row["seconds_per_text"]) == (0.5, 20, 1.0)
    whole.frame["status"] = "transport"
    (row,) = costs_of(whole).to_dict("records")
    assert math.isnan(row["usd_per_text"])


def test_without_judges_there_are_no_rows():
    costs = costs_of(ScoreTable(pd.DataFrame({"evaluator": ["x"], "score": [1.0]})))
    assert tuple(costs.columns) == COLUMNS
    assert costs.empty
