"""Utilities: sums of rescaled ratings, and nDCG as other libraries compute it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from metaeval.kinds.slates.data.sampling import by_position, ndcg, rescaled, total, utilities

GAINS = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]), min_size=2, max_size=9)


@given(GAINS, st.data())
def test_ndcg_of_a_list_is_that_of_scikit_learn(gains: list[float], data: st.DataObject) -> None:
    size = data.draw(st.integers(2, len(gains)))
    shown = data.draw(st.permutations(range(len(gains))))[:size]
    scores = np.zeros(len(gains))
    scores[shown] = np.arange(size, 0, -1)  # the others follow; only the first K count
    wanted = ndcg_score([gains], [scores], k=size)
    assert ndcg(np.array([gains])[:, shown], np.array(gains))[0] == pytest.approx(wanted)


@given(st.lists(st.integers(1, 5), min_size=2, max_size=6), st.randoms())
def test_a_sum_of_rescaled_ratings_lies_in_0_to_1_and_knows_no_order(ratings: list[int], random) -> None:
    shuffled = random.sample(ratings, len(ratings))
    one, other = total(rescaled(np.array([ratings, shuffled], float), 1, 5))
    assert one == other
    assert one == pytest.approx(sum((r - 1) / 4 / len(ratings) for r in ratings))


def test_a_place_in_a_reference_order_gives_a_gain_whatever_its_numbers() -> None:
    users, places = pd.Series([*"aabaa"]), pd.Series([30.0, 7.0, 9.0, 8.0, 7.0])
    assert by_position(users, places).tolist() == pytest.approx([1 / 3, 1, 1, 2 / 3, 1])


def test_an_order_is_measured_by_its_own_items_and_a_list_by_all_candidates() -> None:
    gains = np.array([1.0, 0.5, 0.0, 0.2])
    slates = np.array([[1, 2], [2, 1]])
    assert utilities("T1", gains, slates).tolist() == [0.25, 0.25]
    assert utilities("T2", gains, slates)[0] == 1
    assert utilities("T3", gains, slates)[0] == pytest.approx(0.5 / (1 + 0.5 / np.log2(3)))
    # Of ratings, which have no order, T3 is the sum (appendix A.3 of the source); T2 is not.
    assert utilities("T3", gains, slates, ordered=False).tolist() == [0.25, 0.25]
    assert utilities("T2", gains, slates, ordered=False)[0] == 1
