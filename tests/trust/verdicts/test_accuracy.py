"""Verdicts against gold preferences: by hand, and those of LLMBar."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from metaeval.base.errors import DataError
from metaeval.sources.verdicts import import_verdicts
from metaeval.trust.verdicts.accuracy import accuracy_sheet, preferred_by
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

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


def test_of_people_one_verdict_per_pair_is_due() -> None:
    frame = verdicts(("1", "first", "", "first"), ("2", "second", "", "first")).query("order == 'first'")
    (row,) = accuracy_sheet(frame, resamples=20).frame.to_dict("records")
    assert (row["accuracy"], row["missing"], row["right_first"]) == (0.5, 0, 1)


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


def test_groups_and_evaluators() -> None:
    one = verdicts(("1", "first", "first", "first"), ("2", "second", "second", "first")).assign(
        kind=["x"] * 2 + ["y"] * 2
    )
    other = one.assign(evaluator="k", winner="first")
    found = accuracy_sheet(pd.concat([one, other]), ["kind"], resamples=50).frame
    shown = found[["evaluator", "group", "pairs", "right_both"]].to_numpy().tolist()
    assert shown == [
        ["j", "all", 2, 1], ["j", "x", 1, 1], ["j", "y", 1, 0],
        ["k", "all", 2, 2], ["k", "x", 1, 1], ["k", "y", 1, 1],
    ]  # fmt: skip


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
    """419 pairs, 20 judges: in seconds, and the published counts."""
    started = time.perf_counter()
    found = import_verdicts(real_data / "llmbar" / "verdicts.csv", LLMBAR, winner_of="unswapped")
    sheet = accuracy_sheet(found, ["subset"])
    assert time.perf_counter() - started < 15
    frame = sheet.frame.set_index(["evaluator", "group"])
    assert len(frame) == 20 * 6
    columns = ["pairs", "right_first", "right_second", "right_both", "same_winner", "missing"]
    assert frame.loc[("GPT-4 Vanilla", "Natural"), columns].tolist() == [100, 95, 96, 93, 95, 0]
    every = frame.xs("all", level="group")
    assert every["pairs"].eq(419).all()
    assert every["missing"].sum() == 58
    parts = frame.drop(index="all", level="group")[columns].groupby(level="evaluator").sum()
    pd.testing.assert_frame_equal(parts.sort_index(), every[columns].sort_index(), check_dtype=False)
    # As pandas counts it, pair by pair, of the file itself.
    raw = pd.read_csv(real_data / "llmbar" / "verdicts.csv")
    raw = raw[(raw["judge"] == "PaLM2") & (raw["prompt"] == "CoT")]
    named = raw.dropna(subset="winner")
    for_first = (named["winner"] == named["swapped"].map({False: 1, True: 2})).mean()
    row = every.loc["PaLM2 CoT"]
    assert row["first_share"] == pytest.approx(for_first)
    assert row["missing"] == len(raw) - len(named)
    assert 0.5 < row["first_share_low"] < row["first_share"] < row["first_share_high"]
    # Read the other way, the judges would contradict themselves: that is why it must be said.
    turned = import_verdicts(real_data / "llmbar" / "verdicts.csv", LLMBAR, winner_of="shown")
    other = accuracy_sheet(turned, ["subset"], resamples=10).frame.set_index(["evaluator", "group"])
    assert other.loc[("GPT-4 Vanilla", "Natural"), "same_winner"] == 5
