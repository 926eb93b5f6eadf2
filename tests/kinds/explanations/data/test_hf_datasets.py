from __future__ import annotations

import datasets
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import DataError
from metaeval.kinds.explanations.data.hf_datasets import ABOUT
from metaeval.kinds.reading import inspect
from tests.tiny import write_tiny


@pytest.fixture(autouse=True)
def quiet():
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return me.load(write_tiny(tmp_path_factory.mktemp("made") / "tiny"))


def through_memory(tables, _):
    return tables


def through_disk(tables, folder):
    tables.save_to_disk(folder / "saved")
    return datasets.load_from_disk(folder / "saved")


def through_parquet(tables, folder):
    for name, table in tables.items():
        table.to_parquet(folder / f"{name}.parquet")
    read = datasets.Dataset.from_parquet
    return datasets.DatasetDict({n: read(str(folder / f"{n}.parquet"), cache_dir=folder) for n in tables})


WAYS = [through_memory, through_disk, through_parquet]


@pytest.mark.parametrize("way", WAYS)
def test_a_data_set_comes_back(data, way, tmp_path):
    again = me.from_datasets(way(me.to_datasets(data), tmp_path))
    assert again.fingerprint == data.fingerprint
    for name in ("name", "aspects", "scale", "licence", "source", "language", "simulated", "texts", "extra"):
        assert getattr(again, name) == getattr(data, name), name
    pd.testing.assert_frame_equal(again.ratings, data.ratings)


def test_the_sample_and_its_profiles_come_back(sample):
    data = me.load(sample)
    tables = me.to_datasets(data)
    assert list(tables) == ["explanations", "ratings", "users", ABOUT]
    assert tables["ratings"].info.license == "Apache-2.0"
    assert me.from_datasets(tables).fingerprint == data.fingerprint


def test_a_study_without_users_or_texts(data):
    texts = data.explanations.drop_duplicates(["item_id", "generator"]).drop(
        columns=["user_id", "explanation"]
    )
    ratings = data.ratings[data.ratings["user_id"] == "u1"].drop(columns="user_id")
    plain = me.from_frames(texts, ratings, scale=(1, 5), name="line\u2028break: #1")
    again = me.from_datasets(me.to_datasets(plain))
    assert (again.fingerprint, again.name, again.keys) == (plain.fingerprint, plain.name, plain.keys)
    assert not again.texts


def test_what_load_takes(data, tmp_path):
    tables = me.to_datasets(data)
    tables.save_to_disk(tmp_path / "saved")
    assert me.load(tables).fingerprint == data.fingerprint
    assert me.load(tmp_path / "saved").fingerprint == data.fingerprint
    assert me.load(str(tmp_path / "saved")).fingerprint == data.fingerprint
    assert inspect(tmp_path / "saved").problems == ()


def without(name):
    return lambda tables: datasets.DatasetDict({n: t for n, t in tables.items() if n != name})


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (without("ratings"), "with the tables explanations and ratings (see metaeval.to_datasets), not with"),
        (lambda tables: tables["ratings"], "not a Dataset; a table in another layout"),
        (
            lambda tables: {n: datasets.Dataset.from_pandas(tables[n].to_pandas()) for n in list(tables)[:2]},
            "the table 'dataset' with the aspects and the scale is missing",
        ),
        (
            lambda tables: {**tables, ABOUT: datasets.Dataset.from_dict({"yaml": ["name: x\nscal: 3\n"]})},
            "dataset.yaml: the key 'aspects' is missing (and 2 more",
        ),
    ],
)
def test_what_is_no_data_set(data, made, sentence):
    with pytest.raises(DataError) as caught:
        me.from_datasets(made(me.to_datasets(data)))
    assert sentence in str(caught.value)


@pytest.fixture(scope="module")
def scores(data):
    named = {"a": "Length()", "b": "Length()", "j": "Judge('simulated/one')", "r": "Recorded('S* star')"}
    return me.score(data, {**named, "m": "Mean(a, j)"})


def saved(table, folder):
    table.save_to_disk(folder / "saved")
    return datasets.load_from_disk(folder / "saved")


def parquet(table, folder):
    table.to_parquet(folder / "t.parquet")
    return datasets.Dataset.from_parquet(str(folder / "t.parquet"), cache_dir=folder)


@pytest.mark.parametrize("way", [through_memory, saved, parquet])
def test_scores_come_back(scores, way, tmp_path):
    again = me.scores_from_dataset(way(me.to_datasets(scores), tmp_path))
    pd.testing.assert_frame_equal(again.frame, scores.frame, check_dtype=False)
    assert again.frame["score"].dtype == "float64"
    assert again.signatures == scores.signatures
    assert again.kinds == scores.kinds
    assert again.simulated == scores.simulated
    assert again.simulated_evaluators == {"j", "m"}
