"""Parquet files: their rows in order, what errors call them, and what reading them leaves behind."""

import tempfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.errors import DataError
from metaeval.engine import files
from metaeval.engine.files import Parquet
from metaeval.engine.passes import ScoreFile
from tests.engine.test_correlation import study
from tests.engine.test_passes import written


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=40),
    st.integers(1, 4),
    st.integers(1, 9),
)
def test_batches_hold_the_rows_in_order_and_name_them(tmp_path_factory, texts, parts, at_a_time):
    frame = pd.DataFrame({"text": texts, "number": np.arange(len(texts))})
    table = Parquet.of(written(tmp_path_factory.getbasetemp() / "batches", frame, parts), "the scores")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_ROWS", at_a_time)
        read = [(name, batch.to_pandas().astype({"text": str})) for name, batch in table.batches()]
        first = table.first_rows(["text"])
    pd.testing.assert_frame_equal(pd.concat([f for _, f in read], ignore_index=True), table.frame())
    assert max(len(f) for _, f in read) <= at_a_time
    names = [name(row) for name, f in read for row in range(len(f))]
    sizes = [len(part) for part in np.array_split(texts, parts)]
    if parts == 1:
        assert names == list(range(len(texts)))
    else:
        assert names == [f"{row} of {f}" for f, n in zip(table.files, sizes, strict=True) for row in range(n)]
    pd.testing.assert_frame_equal(first, frame.drop_duplicates("text").reset_index(drop=True))
    assert len(table.first_rows(["evaluator"])) == 1  # no such column: the first row


def test_files_need_not_have_the_same_columns(tmp_path):
    scores, truth = study()
    folder = tmp_path / "scores"
    folder.mkdir()
    halves = scores.iloc[: len(scores) // 2], scores.iloc[len(scores) // 2 :].assign(status="ok")
    halves[1].iloc[:3, halves[1].columns.get_loc("status")] = "refused"
    for at, half in enumerate(halves):
        half.astype({"evaluator": "category" if at else "str"}).to_parquet(folder / f"{at}.parquet")
    whole = pd.concat([halves[0].assign(status=None), halves[1]], ignore_index=True)
    expected = me.correlate(whole, truth).frame
    for engine in ("memory", "duckdb"):
        found = me.correlate(folder, truth, engine=engine).frame
        pd.testing.assert_frame_equal(found, expected, rtol=0, atol=1e-12, check_exact=False)
    scores.assign(evaluator="z", score="good").to_parquet(folder / "2.parquet")
    for engine in ("memory", "duckdb"):
        with pytest.raises(DataError, match=r"the scores: .*'good' as a scalar of type double"):
            me.correlate(folder, truth, engine=engine)


def test_a_store_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    store = ScoreFile(10)
    store.add("a", np.array([1, 2]), np.array([0.5, np.nan]))
    store.add("b", np.array([3]), np.array([1.0]))
    store.add("a", np.array([0]), np.array([2.0]))
    places, scores = store.read("a")
    assert places.tolist() == [1, 2, 0]
    np.testing.assert_array_equal(scores, [0.5, np.nan, 2.0])
    assert (store.n_rows["a"], store.n_scored["a"], store.n_rows["c"]) == (3, 2, 0)
    assert not list(tmp_path.iterdir())  # its file has no name


def test_numbers_that_name_folders_are_numbers_of_the_truth(tmp_path):
    scores, truth = study()
    scores, truth = (f.assign(user_id=f["user_id"].str[1:].astype(int)) for f in (scores, truth))
    scores.to_parquet(tmp_path / "scores", partition_cols=["user_id"])
    found = me.correlate(tmp_path / "scores", truth, engine="duckdb").frame.set_index("evaluator")
    expected = me.correlate(scores, truth).frame.set_index("evaluator")
    pd.testing.assert_frame_equal(
        found.loc[expected.index.unique()], expected, rtol=0, atol=1e-12, check_exact=False
    )
