import math

import pandas as pd
import pytest

from metaeval.base.records import Kind, ScoreTable
from metaeval.judging.cost import costs_of
from metaeval.reports.sheets import cost_table


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
            "reasoning_tokens": 0.0,
            "call": "key",
        }
    )
    signature = {"model": "openai/m", "prompt": {"name": "multi-aspect"}}
    return ScoreTable(frame, {"a|b": signature}, {"a|b": Kind.JUDGE})


def test_what_one_text_costs_on_all_aspects():
    (row,) = costs_of(table(0.25, "refused")).to_dict("records")
    assert (row["texts"], row["usd_per_text"], row["tokens_per_text"]) == (2, 0.5, 30)
    assert (row["seconds_per_text"], row["usd"]) == (1.0, 1.0)
    assert (
        r"| a\|b | multi-aspect | 2 | 0.0 % | \$0.50 | 30 | — | 1.0 s | 0.0 % | — | — | \$1.00 |"
        in cost_table(costs_of(table(0.25)))
    )


def test_the_share_of_replies_that_were_not_read():
    scores = table(0.25, "refused")
    scores.frame["call"] = ["key1", "key2", "key3", "key4"]
    scores.frame["order"] = ["first", "first", "second", "second"]
    (row,) = costs_of(scores).to_dict("records")
    assert [row["unread"], row["unread_first"], row["unread_second"]] == [0.25, 0.5, 0]
    scores.frame.loc[3, "status"] = "transport"  # which is no reply
    (row,) = costs_of(scores).to_dict("records")
    assert row["unread"] == pytest.approx(1 / 3)


def test_an_unknown_price_is_not_zero():
    (row,) = costs_of(table(math.nan)).to_dict("records")
    assert math.isnan(row["usd"])
    assert "| — | 30 | — | 1.0 s | 0.0 % | — | — | — |" in cost_table(costs_of(table(math.nan)))


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
