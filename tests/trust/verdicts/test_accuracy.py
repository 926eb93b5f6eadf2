"""Verdicts against gold preferences: by hand, and those of LLMBar."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

from metaeval.base.errors import DataError
from metaeval.data.verdicts.verdict_table import import_verdicts
from metaeval.evaluators.verdicts import Orders
from metaeval.trust.verdicts.accuracy import accuracy_sheet, against_others, preferred_by, with_gold
from metaeval.trust.verdicts.agreement import judges_sheet, systems_sheet
from tests.conftest import ROOT

LLMBAR = ROOT / "studies" / "maps" / "llmbar.yaml"


def verdicts(*rows: tuple[str, str, str, str]) -> pd.DataFrame:
    """Make two rows of each (item, winner unswapped, winner swapped, gold)."""
    both = [
        {"item_id": item, "order": order, "winner": winner, "gold": gold}
        for item, one, two, gold in rows
        for order, winner in (("first", one), ("second", two))
    ]
    return pd.DataFrame(both).assign(first="a", second="b", aspect="", evaluator="j")


def test_counts_by_hand() -> None:
    frame = verdicts(
        ("1", "first", "first", "first"),  # right in both
        ("2", "first", "second", "first"),  # flips to the first shown
        ("3", "second", "first", "second"),  # and away from it
        ("4", "second", "second", "first"),  # wrong in both, and the same
        ("5", "", "first", "first"),  # a missing verdict is wrong
        ("6", "tie", "tie", "first"),  # and so is a tie
        ("7", "tie", "first", "tie"),  # but where the gold one is a tie
        ("8", "first", "first", ""),  # no gold: left out
    )
    sheet = accuracy_sheet(frame, resamples=200)
    (row,) = sheet.frame.to_dict("records")
    counts = {
        k: row[k] for k in ("pairs", "right_first", "right_second", "right_both", "same_winner", "missing")
    }
    assert counts == {
        "pairs": 7, "right_first": 4, "right_second": 2, "right_both": 1, "same_winner": 2, "missing": 1,
    }  # fmt: skip
    assert row["accuracy"] == pytest.approx(6 / 14)
    # Shown first: 1 of 2, 2 of 2, 0 of 2, 1 of 2, 0 of 1, none of none, 0 of 1.
    assert row["first_share"] == pytest.approx(4 / 10)
    assert row["accuracy_low"] < row["accuracy"] < row["accuracy_high"]
    assert "1 comparison without a gold preference" in " ".join(sheet.notes)


def test_the_majority_of_people_is_the_gold_preference() -> None:
    judge = verdicts(*((item, "first", "second", "tie") for item in "1234567"))
    said = {
        "1": "first first second",
        "2": "second second tie",
        "3": "first second",
        "4": "tie tie first",
        "5": "first tie tie tie",
        "6": "second tie",
    }
    people = [
        {"item_id": item, "order": "second", "winner": winner, "evaluator": who}
        for item, words in said.items()
        for who, winner in zip("abcd", words.split(), strict=False)
    ]
    gold = pd.DataFrame(people).assign(first="a", second="b", aspect="").sort_values("evaluator")
    found = preferred_by(
        gold[["item_id", "first", "second", "aspect", "evaluator", "order", "winner"]], judge
    )
    preferred = dict(zip(found["item_id"], found["gold"], strict=True))
    wanted = {"1": "first", "2": "second", **dict.fromkeys("3456", "tie"), "7": ""}
    assert preferred == wanted
    assert found[judge.columns.drop("gold")].equals(judge.drop(columns="gold"))
    with pytest.raises(DataError, match="name pairs by user_id, item_id, and the verdicts by item_id"):
        preferred_by(gold.assign(user_id="u")[["user_id", "item_id", *gold.columns[1:]]], judge)


PAIRS = (
    ("1", "first", "first", "first"),
    ("2", "first", "second", "first"),
    ("3", "second", "tie", "second"),
    ("4", "", "second", "second"),
    ("5", "tie", "tie", "tie"),
    ("6", "", "", "first"),
)


@pytest.mark.parametrize(
    ("orders", "said"),
    [
        # Of each pair: by hand, as JudgeBench's metrics count, as MT-Bench does, and both alike.
        ("net", ["first", "tie", "second", "second", "tie", ""]),
        ("tie", ["first", "tie", "tie", "", "tie", ""]),
        ("both", ["first", "", "", "", "tie", ""]),
        ("each", ["first", "first", "second", "", "tie", "", "first", "second", "tie", "second", "tie", ""]),
    ],
)
def test_both_orders_come_to_one_verdict_by_each_convention(orders: Orders, said: list[str]) -> None:
    frame = verdicts(*PAIRS)
    (row,) = accuracy_sheet(frame, orders=orders, resamples=200).frame.to_dict("records")
    gold = [pair[3] for pair in PAIRS] * (len(said) // len(PAIRS))
    assert row["accuracy"] == pytest.approx(np.mean([a == b for a, b in zip(said, gold, strict=True)]))
    there = [(a, b) for a, b in zip(said, gold, strict=True) if a]
    assert row["kappa"] == pytest.approx(metrics.cohen_kappa_score(*zip(*there, strict=True)))
    labels = sorted({*gold, *said} - {""})
    how = {"labels": labels, "average": "macro", "zero_division": 0}
    found = [row[name] for name in ("precision", "recall", "f1")]
    assert found == pytest.approx(metrics.precision_recall_fscore_support(gold, said, **how)[:3])
    assert all(
        row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] for name in ("precision", "recall", "f1")
    )
    counts = systems_sheet(with_gold(frame)[0], orders).frame.set_index("evaluator")
    assert counts.loc["gold", ["won", "lost", "ties", "missing"]].tolist() == [3, 2, 1, 0]
    words = ("first", "second", "tie", "")
    assert counts.loc["j", ["won", "lost", "ties", "missing"]].tolist() == [said.count(w) for w in words]


def test_two_judges_are_tested_pair_by_pair() -> None:
    good = verdicts(*((str(i), "first", "first", "first") for i in range(12)))
    poor = good.assign(evaluator="k", winner=["first", "second"] * 12)
    (row,) = judges_sheet(with_gold(pd.concat([good, poor]))[0], "each", resamples=999, seed=0).frame.to_dict(
        "records"
    )
    assert (row["first"], row["second"], row["difference"]) == ("j", "k", 0.5)
    assert row["p"] == row["p_holm"] < 0.01
    same = with_gold(pd.concat([good, good.assign(evaluator="k")]))[0]
    assert judges_sheet(same, "net", resamples=99, seed=0).frame["p"].tolist() == [1.0]


def test_people_are_held_against_the_other_people() -> None:
    judge = verdicts(*((item, "first", "first", "") for item in "123"))
    said = {"a": "first first second", "b": "first second second", "c": "first second first"}
    people = pd.concat(
        pd.DataFrame({"item_id": [*"123"], "winner": words.split(), "evaluator": who})
        for who, words in said.items()
    ).assign(first="a", second="b", aspect="", order="first")
    people = people[["item_id", "first", "second", "aspect", "evaluator", "order", "winner"]]
    others = against_others(people, judge)
    frame = accuracy_sheet(preferred_by(people, judge), people=others, resamples=50).frame
    found = frame.set_index("evaluator")[["against", "accuracy"]].to_numpy().tolist()
    # What the others say of the three pairs, by a: first second tie; b: first tie tie; c: first tie second.
    assert found == [
        ["gold", 1 / 3],
        ["the others", 1 / 3],
        ["the others", 1 / 3],
        ["the others", 1 / 3],
        ["the others", 1 / 3],
    ]
    assert frame["evaluator"].tolist() == ["j", "a", "b", "c", "people"]
    assert frame["pairs"].tolist() == [3, 3, 3, 3, 9]


@pytest.mark.parametrize(
    ("frame", "by", "message"),
    [
        (verdicts(("1", "tie", "tie", "")), [], "no pair has a gold preference"),
        (verdicts(("1", "tie", "tie", "tie")).drop(columns="gold"), [], "no column 'gold'"),
        (verdicts(("1", "tie", "tie", "tie")), ["subset"], "no column 'subset' to count by"),
        (
            verdicts(("1", "tie", "tie", "tie")).assign(gold=["tie", "first"]),
            [],
            "two orders of a pair differ in gold",
        ),
    ],
)
def test_what_is_wrong_is_said(frame: pd.DataFrame, by: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        accuracy_sheet(frame, by, resamples=10)


def test_llmbar(real_data: Path) -> None:
    """419 pairs, 20 judges: the published counts, and the file itself, counted pair by pair."""
    verdicts_ = import_verdicts(real_data / "llmbar" / "verdicts.csv", LLMBAR, winner_of="unswapped")
    frame = accuracy_sheet(verdicts_, ["subset"], resamples=200).frame.set_index(["evaluator", "group"])
    assert len(frame) == 20 * 6
    columns = ["pairs", "right_first", "right_second", "right_both", "same_winner", "missing"]
    assert frame.loc[("GPT-4 Vanilla", "Natural"), columns].tolist() == [100, 95, 96, 93, 95, 0]
    every = frame.xs("all", level="group")
    assert every["pairs"].eq(419).all()
    assert every["missing"].sum() == 58
    raw = pd.read_csv(real_data / "llmbar" / "verdicts.csv")
    raw = raw[(raw["judge"] == "PaLM2") & (raw["prompt"] == "CoT")]
    named = raw.dropna(subset="winner")
    for_first = (named["winner"] == named["swapped"].map({False: 1, True: 2})).mean()
    row = every.loc["PaLM2 CoT"]
    assert row["first_share"] == pytest.approx(for_first)
    assert row["missing"] == len(raw) - len(named)
