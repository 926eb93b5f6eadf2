"""Disagreement of a panel, held against its definitions written out."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.records import Scale
from metaeval.trust.panel_gain import agreement_sheet, disagreements_sheet, split_units, splits

NAN = math.nan
RATINGS = st.lists(st.integers(1, 5), min_size=2, max_size=9)


def leik(ratings: list[int]) -> float:
    """Return Leik's D as he defines it, over the cumulative shares of the categories 1 to 5."""
    shares = [sum(r <= level for r in ratings) / len(ratings) for level in range(1, 6)]
    return 2 * sum(min(f, 1 - f) for f in shares) / 4


@given(ratings=RATINGS, missing=st.integers(0, 3))
def test_every_measure_is_its_definition(ratings: list[int], missing: int) -> None:
    column = np.array([*ratings, *[NAN] * missing])
    found = splits(np.random.default_rng(0).permutation(column)[:, None], 1, 5)
    assert found.n_members[0] == len(ratings)
    assert found.range[0] == max(ratings) - min(ratings)
    assert found.sd[0] == pytest.approx(np.std(ratings))
    most = max(map(ratings.count, ratings))
    assert found.off_majority[0] == pytest.approx(1 - most / len(ratings))
    assert found.split[0] == pytest.approx(leik(ratings))


def test_a_single_member_disagrees_with_nobody() -> None:
    found = splits(np.array([[3.0, NAN, 1.0], [NAN, NAN, 5.0]]), 1, 5)
    assert list(found.n_members) == [1, 0, 2]
    assert np.isnan(found.split[:2]).all()
    assert found.split[2] == 1
    with pytest.raises(ValueError, match="two dimensions"):
        splits(np.array([1.0]), 1, 5)


def scores() -> pd.DataFrame:
    given_ = {"u1": [(1, 5, 3), (3, 3, 3)], "u2": [(2, 2, 3), (1, 1, 5)], "u3": [(4, NAN, NAN), (4, 4, NAN)]}
    return pd.DataFrame(
        [
            {"user_id": u, "item_id": "i", "generator": "g", "evaluator": e, "aspect": a, "score": float(s)}
            for u, aspects in given_.items()
            for a, of_aspect in zip(("clear", "fitting"), aspects, strict=True)
            for e, s in zip("abc", of_aspect, strict=True)
        ]
    )


def test_the_most_disputed_units_come_first_whatever_the_order_of_the_rows() -> None:
    units = split_units(scores(), ["c", "a", "b"], Scale(1, 5))
    assert list(zip(units["user_id"], units["aspect"], strict=True)) == [
        ("u2", "fitting"),
        ("u1", "clear"),
        ("u2", "clear"),
        ("u1", "fitting"),
        ("u3", "fitting"),
    ]
    assert list(units.columns[-3:]) == ["score @ c", "score @ a", "score @ b"]
    assert units.loc[0, "score @ c"] == 5
    again = split_units(scores().sample(frac=1, random_state=1), ["c", "a", "b"], Scale(1, 5))
    pd.testing.assert_frame_equal(units, again)


def test_each_unit_is_listed_once() -> None:
    units = split_units(scores(), ["a", "b", "c"], Scale(1, 5))
    sheet = disagreements_sheet(units, ["a", "b", "c"], 10)
    assert list(sheet.frame["user_id"]) == ["u2", "u1", "u3"]
    assert len(disagreements_sheet(units, ["a", "b", "c"], 2).frame) == 2
    summed = agreement_sheet(units, ["a", "b", "c"]).frame.set_index("aspect")
    assert summed.loc["fitting", "unanimous"] == pytest.approx(2 / 3)
    assert summed.loc["clear", "n_units"] == 2
