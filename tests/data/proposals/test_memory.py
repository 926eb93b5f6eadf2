from __future__ import annotations

import datasets
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import DataError

ABOUT = {"name": "mine", "scale": {"min": 1, "max": 5}, "aspects": {"clear": {"statement": "It is clear."}}}
UNITS = {"user_id": "who", "item_id": "what", "generator": "by", "explanation": "text"}
WIDE = pd.DataFrame(
    {
        "who": [1, 1, 2],
        "what": ["x", "y", "x"],
        "by": "g",
        "text": ["one", "two", "three"],
        "clear by user": [1, 5, 3],
        "gpt score": [0.5, None, 0.25],
    }
)
WIDE_MAP = {
    **ABOUT,
    "units": UNITS,
    "ratings": [{"columns": "{aspect} by {rater}"}],
    "scores": [{"columns": "{evaluator} score"}],
}
LONG = pd.DataFrame(
    {
        "who": ["u1", "u1", "u1"],
        "what": ["x", "x", "y"],
        "by": ["g", "g", "g"],
        "text": ["one", "one", "two"],
        "judged_by": ["user", "ann", "user"],
        "value": [1, 2, 4],
    }
)
LONG_MAP = {
    **ABOUT,
    "units": UNITS,
    "ratings": [{"columns": "value", "rater": {"column": "judged_by"}, "aspect": "clear"}],
}


def test_a_wide_frame():
    data = me.from_table(WIDE, WIDE_MAP)
    assert data.units["user_id"].tolist() == ["1", "1", "2"]
    assert data.ratings["rating"].tolist() == [1, 5, 3]
    assert me.score(data, ["Recorded('gpt')"]).frame["status"].tolist() == ["ok", "missing", "ok"]


@pytest.mark.parametrize("index", [["who"], ["who", "what"]])
def test_names_in_the_index_are_columns(index):
    assert (
        me.from_table(WIDE.set_index(index), WIDE_MAP).fingerprint
        == me.from_table(WIDE, WIDE_MAP).fingerprint
    )


def test_a_long_dataset_with_labels():
    features = {name: datasets.Value("string") for name in LONG} | {"value": datasets.Value("int32")}
    names = datasets.ClassLabel(names=["ann", "user"])
    table = datasets.Dataset.from_pandas(LONG, features=datasets.Features({**features, "judged_by": names}))
    data = me.from_table(table, LONG_MAP)
    assert data.raters == ("ann", "user")
    assert data.fingerprint == me.from_table(LONG, LONG_MAP).fingerprint


def test_a_short_map_in_python_needs_no_name_and_no_statements():
    given = {**WIDE_MAP, "aspects": ["clear"]}
    del given["name"]
    data = me.load(WIDE, map=given)
    assert data.name == "data"
    assert data.aspects == {"clear": "clear"}
    assert data.ratings["rating"].tolist() == [1, 5, 3]


@pytest.mark.parametrize(
    ("table", "given", "sentence"),
    [
        (WIDE.drop(columns="who"), WIDE_MAP, "the map: the column 'who' is not in the table"),
        (WIDE.assign(**{"clear by user": [1, 5, 9]}), WIDE_MAP, "the table, row 4, column 'clear by user'"),
        (WIDE, {**WIDE_MAP, "scale": {"min": 5, "max": 1}}, "the map: scale: min (5) must be below max (1)"),
        (WIDE, {**WIDE_MAP, "rating": []}, "the map: unknown key 'rating'; did you mean 'ratings'?"),
        (WIDE, 3, "the map is a mapping or the path of a map file, not a int"),
        (WIDE, None, "a table without a map has one row per rating and the columns user_id, item_id"),
        (WIDE.to_dict("records"), WIDE_MAP, "takes a DataFrame, a Dataset or a DatasetDict, not a list"),
    ],
)
def test_what_cannot_be_used(table, given, sentence):
    with pytest.raises(DataError) as caught:
        me.from_table(table, given)
    assert sentence in str(caught.value)
