"""A collection that is saved comes back the same; what is wrong with one on disk is named cell by cell."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.make_relevance import simulate
from metaeval.base.errors import DataError
from metaeval.kinds.relevance.data.loading import collection_of, load, save
from tests.examples import examples
from tests.kinds.saved import assert_same, nasty, replace

FRAMES = ("table", "ratings", "runs", "items", "histories", "profiles")
OTHERS = ("aspects", "scale", "labels", "relevant", "depth", "models")


def made(about=None, **tables):
    given = {"name": "d", "scale": {"min": 0, "max": 3}, **(about or {})}
    return collection_of(given, tables)


@settings(max_examples=examples(12))
@given(st.data())
def test_round_trip(data) -> None:
    pairs = data.draw(st.lists(st.tuples(nasty, nasty), min_size=1, max_size=5, unique=True))
    many = {"min_size": len(pairs), "max_size": len(pairs)}
    keys = pd.DataFrame(pairs, columns=["user_id", "item_id"], dtype="str")
    labels = st.sampled_from([0.0, 1.0, 3.0, np.nan])
    items = keys[["item_id"]].drop_duplicates()
    collection = made(
        {"labels": {"0": data.draw(nasty).strip()}, "depth": data.draw(st.integers(0, 2)), "models": ["m"]},
        labels=keys.assign(rater=data.draw(nasty), label=data.draw(st.lists(labels, **many))),
        runs=keys.assign(system=data.draw(nasty), rank=keys.groupby("user_id").cumcount() + 1),
        items=items.assign(
            title=data.draw(st.lists(nasty | st.just(""), min_size=len(items), max_size=len(items)))
        ),
        histories=keys.assign(rating=data.draw(st.lists(st.floats(-9, 9), **many))),
        profiles=keys[["user_id"]].drop_duplicates().assign(age="30"),
    )
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("parquet", "csv", "jsonl"):
            assert_same(collection, load(save(collection, Path(folder) / kind, kind)), FRAMES, OTHERS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save(simulate(users=4, items=30, history=3, pool=2, length=3), tmp_path / "data", "csv")


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("labels.csv", ",human,", ",human,7", "labels.csv, row 2, column 'label': the label 7"),
        ("labels.csv", ",human,0", ",human,0.5", "the label 0.5 is not on the scale; allowed are"),
        ("labels.csv", ",human,", ",,", "labels.csv, row 2, column 'rater': is empty"),
        ("labels.csv", "label\n", "lable\n", "column 'label': is missing; did you mean 'lable'?"),
        ("runs.csv", ",2\n", ",1\n", "row 3, column 'rank': the rank 1 is in the user's list twice"),
        ("runs.csv", ",3\n", ",9\n", "row 4, column 'rank': the rank is 9, and there are fewer"),
        ("runs.csv", ",1\n", ",0\n", "row 2, column 'rank': the rank 0 is not a whole number"),
        ("runs.csv", "random,u1", "random,u9", "row 2, column 'user_id': the user 'u9' has no labels"),
        ("items.csv", "i02,", "i01,", "items.csv, row 3: the item (item_id 'i01') is already in row 2"),
        ("dataset.yaml", "max: 3", "max: 3.5", "the scale of labels has whole numbers"),
        ("dataset.yaml", "'3':", "'9':", "labels: 9 is not on the scale; allowed are integers from 0 to 3"),
        ("dataset.yaml", "models:", "modles:", "unknown key 'modles'; did you mean 'models'?"),
    ],
)
def test_what_is_wrong_is_named_cell_by_cell(folder: Path, file: str, old: str, new: str, says: str) -> None:
    replace(folder / file, old, new)
    with pytest.raises(DataError) as caught:
        load(folder)
    assert any(says in str(p) for p in caught.value.problems), [str(p) for p in caught.value.problems]


def test_a_data_set_of_another_kind_is_said_in_one_sentence(folder: Path) -> None:
    replace(folder / "dataset.yaml", "kind: relevance", "kind: explanations")
    with pytest.raises(DataError, match="of kind 'explanations'; give one of relevance") as caught:
        load(folder)
    assert not caught.value.problems


def test_what_a_model_said_beside_the_scale_is_kept_and_no_problem(folder: Path) -> None:
    replace(folder / "labels.csv", ",judge,", ",judge,9")
    ratings = load(folder).ratings
    assert ratings.loc[ratings["rating"] > 3, "rater"].tolist() == ["judge"]


def test_the_first_of_each_list_are_units_though_nobody_labelled_them() -> None:
    labels = pd.DataFrame({"user_id": ["u"], "item_id": ["a"], "rater": "h", "label": [1]})
    runs = pd.DataFrame(
        {"system": "s", "user_id": ["u", "u", "u", "v"], "item_id": [*"bacx"], "rank": [1, 2, 3, 1]}
    )
    units = made({"depth": 2}, labels=labels, runs=runs).units
    assert units.to_numpy().tolist() == [["u", "a"], ["u", "b"], ["v", "x"]]


def test_what_a_study_depends_on_is_in_the_fingerprint() -> None:
    labels = pd.DataFrame({"user_id": ["u", "u"], "item_id": [*"ab"], "rater": "h", "label": [1, 2]})
    plain = made(labels=labels).fingerprint
    assert made(labels=labels[::-1]).fingerprint == plain
    for about in (
        {"relevant": 2},
        {"labels": {"1": "dull"}},
        {"models": ["h"]},
        {"scale": {"min": 0, "max": 4}},
    ):
        assert made(about, labels=labels).fingerprint != plain
