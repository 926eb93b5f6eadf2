"""What commands on verdicts say first."""

from __future__ import annotations

import numpy as np
import pandas as pd

from metaeval.analysis.verdict_coherence import coherence, coherence_sheet, orders_of
from metaeval.trust.verdicts.accuracy import accuracy_sheet, with_gold
from metaeval.trust.verdicts.agreement import judges_sheet
from metaeval.trust.verdicts.sentences import accuracy_lines, coherence_lines, ranking_lines
from metaeval.trust.verdicts.strengths import pairwise_sheets


def verdicts(evaluator: str, right: int, of: int = 60) -> pd.DataFrame:
    """Return verdicts in both orders: for a, who is better, on the first ``right`` items."""
    items = np.arange(of)
    one = pd.DataFrame({"item_id": items.astype(str), "winner": np.where(items < right, "first", "second")})
    both = [one.assign(order=order) for order in ("first", "second")]
    return pd.concat(both).assign(first="a", second="b", aspect="", evaluator=evaluator, gold="first")


def test_who_is_ranked_first_and_whether_it_is_shown() -> None:
    said = pd.concat(
        [verdicts("sure", 55), verdicts("too", 54), verdicts("unsure", 31), verdicts("even", 30)]
    )
    _, ranking = pairwise_sheets(said, resamples=200)
    first = "a is ranked first of 2 by Bradley–Terry"
    assert ranking_lines(ranking) == [
        f"By sure and too, {first}, and is shown to be better than the other.",
        f"By unsure, {first}; whether it is better than b cannot be told.",
        "By even, a and b are equal, and ranked first of 2 by Bradley–Terry.",
    ]
    apart = pd.concat([said[said["evaluator"] == "sure"], verdicts("sure", 9).assign(first="c", second="d")])
    (line,) = ranking_lines(pairwise_sheets(apart, resamples=50)[1])
    assert line.endswith("of 4 by Bradley–Terry cannot be told: no pairs connect all of them.")


def test_who_is_right_most_often_and_whether_it_is_shown() -> None:
    said = pd.concat([verdicts("x", 57), verdicts("y", 56), verdicts("z", 20)])

    def lines(frame: pd.DataFrame) -> list[str]:
        judges = judges_sheet(with_gold(frame)[0], "each", resamples=500, seed=0)
        return [*accuracy_lines(accuracy_sheet(frame, resamples=500), judges, "each")]

    (line,) = lines(said)
    assert line.startswith("Of 3 judges, x is right most often (95.0 % [")
    assert line.endswith("]); whether it is better than y cannot be told.")
    (line,) = lines(said[said["evaluator"] != "y"])
    assert line.endswith("]), and is shown to be better than the other.")
    alone = said[said["evaluator"] == "z"].assign(aspect="clear")
    (line,) = accuracy_lines(accuracy_sheet(alone, resamples=500), None, "net")
    assert line.startswith("clear: z is right in 33.3 % [")
    assert line.endswith("] of pairs.")


def test_who_says_the_same_in_both_orders() -> None:
    def lines(*judges: pd.DataFrame) -> list[str]:
        found = coherence(orders_of(pd.concat(judges)), resamples=50)
        return [*coherence_lines(coherence_sheet(found, resamples=50, seed=0))]

    torn = verdicts("torn", 60)
    torn.loc[torn["order"] == "second", "winner"] = ["second"] * 15 + ["first"] * 45
    (line,) = lines(torn)
    assert line.startswith("torn says the same in both orders of 75.0 % [")
    (line,) = lines(torn, verdicts("sure", 60))
    assert line.startswith("sure says the same in both orders of the most pairs (100.0 %")
    assert "), torn of the fewest (75.0 % [" in line
