from __future__ import annotations

import pandas as pd
import pytest

from metaeval.base.errors import DataError
from metaeval.base.records import Scale
from metaeval.kinds.explanations.data import loading

UNITS = pd.DataFrame({"item_id": ["x", "y"], "generator": "g", "explanation": ["one", "two"]})
RATINGS = pd.DataFrame(
    {"item_id": ["x", "y"], "generator": "g", "rater": "1", "aspect": ["b", "a"], "rating": [2, 4]}
)


def test_aspects_and_scale_are_inferred():
    data = loading.from_frames(UNITS, RATINGS)
    assert data.aspects == {"b": "b", "a": "a"}
    assert list(data.aspects) == ["b", "a"]
    assert data.scale == Scale(2, 4, integer=True)
    halves = loading.from_frames(UNITS, RATINGS.assign(rating=[2.5, None]), scale=(0.5, 5))
    assert halves.scale == Scale(0.5, 5, integer=False)


def test_the_caller_keeps_the_frames():
    before = RATINGS.copy()
    data = loading.from_frames(UNITS, RATINGS)
    data.ratings.loc[0, "rating"] = 4
    pd.testing.assert_frame_equal(RATINGS, before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scale": (5, 1)}, "must be below"),
        ({"aspects": {"average": "x", "a": "y", "b": "z"}}, "'average'"),
        ({"aspects": {"a": "y"}}, "unknown aspect 'b'"),
        ({"scale": (3, 5)}, "ratings, row 2, column 'rating'"),
        ({"name": ""}, "name"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(DataError, match=message):
        loading.from_frames(UNITS, RATINGS, **arguments)


@pytest.mark.parametrize("column", ["aspect", "rating", "rater", "item_id"])
def test_a_missing_column(column):
    with pytest.raises(DataError, match=f"column '{column}': is missing"):
        loading.from_frames(UNITS, RATINGS.rename(columns={column: column + "s"}))
