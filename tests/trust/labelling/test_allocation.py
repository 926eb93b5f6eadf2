"""How many units each stratum gets."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.trust.labelling.allocation import equal_shares, proportional_shares

SIZES = st.lists(st.integers(1, 300), min_size=1, max_size=12)


@st.composite
def sizes_and_n(draw: st.DrawFn) -> tuple[list[int], int]:
    sizes = draw(SIZES)
    return sizes, draw(st.integers(len(sizes), sum(sizes)))


@given(sizes_and_n())
def test_all_is_given_every_stratum_is_covered_and_none_is_overdrawn(case: tuple[list[int], int]) -> None:
    sizes, n = case
    for shares in (proportional_shares(sizes, n), equal_shares(sizes, n)):
        assert sum(shares) == n
        assert all(1 <= share <= size for share, size in zip(shares, sizes, strict=True))


@given(sizes_and_n())
def test_a_share_is_its_quota_rounded_down_or_up(case: tuple[list[int], int]) -> None:
    sizes, n = case
    quotas = [Fraction(n * size, sum(sizes)) for size in sizes]
    if min(quotas) >= 1:  # else the small ones get more, at the cost of the others
        for share, quota in zip(proportional_shares(sizes, n), quotas, strict=True):
            assert share in (math.floor(quota), math.ceil(quota))


@given(sizes_and_n())
def test_equal_shares_differ_by_one_unless_a_stratum_is_used_up(case: tuple[list[int], int]) -> None:
    sizes, n = case
    shares = equal_shares(sizes, n)
    left = [share for share, size in zip(shares, sizes, strict=True) if share < size]
    assert not left or max(shares) - min(left) <= 1


@pytest.mark.parametrize(
    ("sizes", "n", "proportional", "equal"),
    [
        ([50, 30, 20], 10, [5, 3, 2], [4, 3, 3]),
        # Hamilton's method: quotas 4.7, 2.8, 1.5, 1.0; the two that are left go to the first two.
        ([47, 28, 15, 10], 10, [5, 3, 1, 1], [3, 3, 2, 2]),
        ([990, 5, 5], 10, [8, 1, 1], [4, 3, 3]),
        ([1, 1, 100], 3, [1, 1, 1], [1, 1, 1]),
        ([2, 100, 100], 50, [1, 25, 24], [2, 24, 24]),
        ([7], 7, [7], [7]),
    ],
)
def test_by_hand(sizes: list[int], n: int, proportional: list[int], equal: list[int]) -> None:
    assert proportional_shares(sizes, n) == proportional
    assert equal_shares(sizes, n) == equal
