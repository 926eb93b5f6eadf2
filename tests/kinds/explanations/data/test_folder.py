"""What is saved comes back the same; nothing is half-written or overwritten by surprise."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.base.errors import DataError
from metaeval.base.records import Scale
from metaeval.kinds.explanations.data import loading
from tests.examples import examples
from tests.kinds.saved import assert_same

FORMATS = ("parquet", "csv", "jsonl")
FRAMES = ("explanations", "ratings", "scores", "users")
OTHERS = ("aspects", "scale", "licence", "source", "language", "texts")
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
nasty = texts | st.sampled_from(
    ["\r", "a\rb", '"', "a,b", "\n", "007", "NaN", "null", "é\u2028x", "\x00x", "'", "=1+1", "\ufeffx", "\\N"]
)  # fmt: skip
keys = nasty.filter(lambda t: bool(t.strip()))
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.just(np.nan)
ratings_drawn = st.floats(-1e50, 1e50) | st.just(float("nan"))


@settings(max_examples=examples(25))
@given(st.lists(st.tuples(keys, keys, keys, nasty), min_size=1, max_size=4), st.data())
def test_round_trip(rows, data):
    rows = [(u, i, g, e if e.strip() else "x" + e) for u, i, g, e in rows]
    units = pd.DataFrame(rows, columns=["user_id", "item_id", "generator", "explanation"], dtype=object)
    units = units.drop_duplicates(["user_id", "item_id", "generator"], ignore_index=True)
    units["reference"] = data.draw(st.lists(nasty | st.just(""), min_size=len(units), max_size=len(units)))
    who = units[["user_id", "item_id", "generator"]]
    many = {"min_size": len(units), "max_size": len(units)}
    aspect = data.draw(keys.filter(lambda t: t.strip() == t and t != "average"))
    ratings = who.assign(rater="user", aspect=aspect, rating=data.draw(st.lists(ratings_drawn, **many)))
    scores = who.assign(evaluator=data.draw(keys), aspect="", score=data.draw(st.lists(numbers, **many)))
    users = units[["user_id"]].drop_duplicates(ignore_index=True).assign(age="30")
    made = loading.from_frames(
        units,
        ratings,
        users=users,
        scores=scores,
        scale=Scale(-1e50, 1e50, integer=False),
        aspects={aspect: "statement"},
        simulated=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        for kind in FORMATS:
            target = Path(folder) / kind
            loading.save(made, target, kind)
            assert_same(made, loading.load(target), FRAMES, OTHERS)


def test_big_whole_ids_of_parquet_keep_every_digit(tiny):
    ids = pd.array([4376251640447208384, -4588301458958850024, None], dtype="Int64")
    frame = pd.DataFrame({"user_id": ids[:2], "item_id": 1, "generator": "a", "explanation": "t"})
    (tiny.folder / "explanations.csv").unlink()
    frame.to_parquet(tiny.folder / "explanations.parquet")
    tiny.write(
        "ratings.csv", "user_id,item_id,generator,rater,aspect,rating\n4376251640447208384,1,a,user,trust,3\n"
    )
    data = loading.load(tiny.folder)
    assert data.explanations["user_id"].tolist() == ["4376251640447208384", "-4588301458958850024"]


def test_save_refuses_what_is_in_the_way(tiny, tmp_path):
    data = loading.load(tiny.folder)
    with pytest.raises(DataError, match="holds a data set already; replace it with --force"):
        loading.save(data, tiny.folder)
    before = sorted(p.name for p in tiny.folder.iterdir())
    tiny.write("notes.txt", "mine")
    with pytest.raises(DataError, match=r"holds 'notes\.txt', which is not part of a data set"):
        loading.save(data, tiny.folder, force=True)
    (tiny.folder / "notes.txt").unlink()
    assert sorted(p.name for p in tiny.folder.iterdir()) == before
    loading.save(data, tiny.folder, "jsonl", force=True)
    assert loading.load(tiny.folder).fingerprint == data.fingerprint
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="is a file"):
        loading.save(data, tmp_path / "file")
    with pytest.raises(DataError, match="cannot be made"):
        loading.save(data, tmp_path / "file" / "below")
    (tmp_path / "empty").mkdir()
    loading.save(data, tmp_path / "empty")
    with pytest.raises(DataError, match="did you mean 'parquet'"):
        loading.save(data, tmp_path / "other", "parket")


@pytest.mark.parametrize("name", ["labelling.jsonl", "verdicts.csv", "verdicts.jsonl"])
def test_labels_that_people_gave_are_not_replaced(tiny, name):
    data = loading.load(tiny.folder)
    tiny.write(name, "by hand")
    with pytest.raises(DataError, match=f"{name}', with labels that people gave; give another folder"):
        loading.save(data, tiny.folder, force=True)
    assert (tiny.folder / name).read_text() == "by hand"
    assert loading.load(tiny.folder).fingerprint == data.fingerprint


def test_a_failure_leaves_the_old_data_set_and_nothing_else(tiny, monkeypatch):
    data = loading.load(tiny.folder)
    monkeypatch.setattr("metaeval.data.folder.write_table", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        loading.save(data, tiny.folder, force=True)
    with pytest.raises(ZeroDivisionError):
        loading.save(data, tiny.folder.parent / "new")
    assert [p.name for p in tiny.folder.parent.iterdir()] == ["tiny"]
    assert loading.load(tiny.folder).fingerprint == data.fingerprint
