"""Both orders of a pair together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import DataError
from metaeval.evaluators.verdicts import (
    OUTCOMES,
    comparisons_of,
    each_order,
    mean_points,
    outcomes,
    points,
    points_of,
)


def verdicts(*rows: tuple[str, str, str]) -> pd.DataFrame:
    """Make a row of each (item, order, winner)."""
    frame = pd.DataFrame(rows, columns=["item_id", "order", "winner"])
    return frame.assign(first="a", second="b", aspect="clear", evaluator="j", status="ok", call="")


@pytest.mark.parametrize(
    ("one", "two", "outcome"),
    [
        ("first", "first", "first"),
        ("second", "second", "second"),
        ("tie", "tie", "tie"),
        ("first", "second", "flip"),
        ("second", "first", "flip"),
        ("first", "tie", "flip"),
        ("tie", "second", "flip"),
        ("", "first", "failed"),
        ("tie", "", "failed"),
        ("", "", "failed"),
    ],
)
def test_a_win_counts_only_if_both_orders_agree(one: str, two: str, outcome: str) -> None:
    (row,) = comparisons_of(verdicts(("i", "second", two), ("i", "first", one))).to_dict("records")
    assert OUTCOMES[row["outcome"]] == outcome


def test_an_order_that_was_not_asked_is_no_verdict() -> None:
    found = comparisons_of(
        verdicts(("i1", "first", "first"), ("i2", "first", "tie"), ("i2", "second", "tie"))
    )
    assert found["item_id"].tolist() == ["i1", "i2"]
    assert [OUTCOMES[o] for o in found["outcome"]] == ["failed", "tie"]
    assert found["shown_second"].tolist() == [-1, 0]


def test_whoever_was_asked_once_about_each_pair_has_one_verdict() -> None:
    people = verdicts(("i1", "first", "first"), ("i2", "second", "tie"), ("i3", "second", ""))
    judge = verdicts(("i1", "first", "first"), ("i2", "first", "tie"), ("i2", "second", "tie"))
    found = comparisons_of(pd.concat([people.assign(evaluator="anna"), judge]))
    assert [OUTCOMES[o] for o in found["outcome"]] == ["first", "tie", "failed", "failed", "tie"]
    assert found["due"].tolist() == [1, 1, 1, 2, 2]
    assert found["shown_first"].tolist() == [1, -1, -1, 1, 0]


def test_points_of_first() -> None:
    codes = outcomes([1, 2, 0, 1, -1], [1, 2, 0, 2, 1])
    np.testing.assert_equal(points(codes), [1, 0, 0.5, 0.5, np.nan])
    np.testing.assert_equal(points(codes, "drop"), [1, 0, 0.5, np.nan, np.nan])


def test_the_share_of_a_verdict_counts_where_points_do() -> None:
    rows = [
        ("i1", "first", "first"),
        ("i1", "second", "second"),
        ("i2", "first", "first"),
        ("i3", "first", ""),
    ]
    frame = verdicts(*rows, ("i2", "second", "first")).assign(share=[0.9, 0.4, 0.8, np.nan, 1.0])
    both = comparisons_of(frame)
    np.testing.assert_allclose(points_of(both), [0.65, 0.9, np.nan])
    np.testing.assert_allclose(points_of(both, "drop"), [np.nan, 0.9, np.nan])
    np.testing.assert_allclose(points_of(each_order(both)), [0.9, 0.8, np.nan, 0.4, 1.0, np.nan])
    np.testing.assert_allclose(mean_points(both), [0.65, 0.9, np.nan])


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (verdicts(("i", "first", "first"), ("i", "first", "tie")), "two verdicts are on item_id 'i'"),
        (verdicts(("i", "first", "A")), "winner 'A'; it may be tie, first, second, empty"),
        (verdicts(("i", "swapped", "tie")), "order 'swapped'; it may be first, second"),
        (verdicts(("i", "first", "tie")).rename(columns={"winner": "winer"}), "no column 'winner'; did you"),
        (verdicts(("i", "first", "tie")).drop(columns="item_id"), "no column before 'first'"),
    ],
)
def test_what_is_wrong_is_said(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(DataError, match=message):
        comparisons_of(frame)


def test_missing_winners_may_be_nan_as_files_have_them() -> None:
    frame = verdicts(("i", "first", "first"), ("i", "second", "first"))
    frame.loc[1, "winner"] = np.nan
    assert [OUTCOMES[o] for o in comparisons_of(frame)["outcome"]] == ["failed"]
