"""Counts in sentences, and values of frames as Python prints its own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.counts import counted
from metaeval.base.errors import DataError, nearest, shown


def test_one_is_no_plural() -> None:
    assert counted(1, "evaluator") == "1 evaluator"
    assert counted(0, "reply", "replies") == "0 replies"
    assert counted(1200, "unit") == "1,200 units"


@pytest.mark.parametrize("value", [np.int64(3), np.float64(0.5), np.bool_(True), np.str_("a"), 3, "a", None])
def test_no_library_is_named_in_a_value(value: object) -> None:
    assert "np." not in shown([value, {value: (value,)}])
    assert shown([value]) == f"[{shown(value)}]"


def frames(key: object = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    truth = pd.DataFrame({"item_id": [0, 1, 2], "aspect": "x", "rating": [1, 2, 3]})
    return truth.assign(evaluator="e").rename(columns={"rating": "score"}), truth


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda s, t: (s, pd.concat([t, t])), "the truth has more than one row for item_id 0, aspect 'x'"),
        (
            lambda s, t: (pd.concat([s, s]), t),
            "the scores have more than one row for item_id 0, evaluator 'e', aspect 'x'",
        ),
        (lambda s, t: (s, t.drop(columns="rating")), "the truth has no column 'rating'"),
        (lambda s, t: (s.assign(item_id=s["item_id"] + 7), t), "they have 7 (int64), it has 0 (int64)"),
    ],
)
def test_a_frame_with_whole_numbers_for_ids(spoil, says: str) -> None:
    with pytest.raises(DataError) as caught:
        me.correlate(*spoil(*frames()), levels=["dataset"])
    assert says in str(caught.value)
    assert "np." not in str(caught.value)


@pytest.mark.parametrize(
    ("word", "known", "near"),
    [
        (".docx", [".md", ".csv", ".tex", ".html"], ""),
        (".pdf", [".md", ".csv", ".tex", ".html"], ""),
        ("banana", ["dataset", "user", "pair"], ""),
        ("multi", ["single", "multi-aspect"], "multi-aspect"),
        ("7", ["006", "007"], "007"),
        ("evaluator", ["evaluators", "evaluate"], "evaluators"),
        (" Clear ", ["clear"], "clear"),
        ("usr", ["user", "item"], "user"),
    ],
)
def test_the_nearest_word_is_near(word: str, known: list[str], near: str) -> None:
    assert nearest(word, known) == (f"; did you mean {near!r}?" if near else "")
