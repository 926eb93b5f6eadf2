"""Hub data sets, tried with local folders: no test uses the network."""

from __future__ import annotations

import shutil

import pytest

from metaeval import sources
from metaeval.errors import DataError
from metaeval.sources.hub import hub_name, hub_table


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "tables"
    made.mkdir()
    (made / "train.csv").write_text("item,value\n1,2.5\n2,\n")
    return made


def test_the_datasets_library_reads_a_local_folder(folder, tmp_path):
    table = hub_table(str(folder), cache=tmp_path / "cache")
    assert table.frame["item"].tolist() == [1, 2]
    assert table.rows.tolist() == [2, 3]


def test_splits(folder, tmp_path):
    (folder / "test.csv").write_text("item,value\n3,1\n")
    with pytest.raises(DataError, match="has the splits train, test; name one as `split`"):
        hub_table(str(folder), cache=tmp_path / "cache")
    with pytest.raises(DataError, match="no split 'tets'; did you mean 'test'"):
        hub_table(str(folder), "tets", cache=tmp_path / "cache")
    assert hub_table(str(folder), "test", cache=tmp_path / "cache").frame["item"].tolist() == [3]


def test_a_folder_without_tables(tmp_path):
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match="could not be loaded") as caught:
        hub_table(str(tmp_path / "none"), cache=tmp_path / "cache")
    assert "\n" not in str(caught.value)


def test_what_is_a_hub_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "sample").mkdir(parents=True)
    assert hub_name("owner/name") == "owner/name"
    assert hub_name("hf://data/sample") == "data/sample"
    assert hub_name("hf://datasets/owner/name") == "owner/name"
    for path in ("data/sample", "data/sampel", "name", "./owner/name", "/owner/name", "a/b/c", tmp_path):
        assert hub_name(path) is None


def test_a_data_set_of_the_hub(sample, tmp_path, monkeypatch):
    asked = []

    def download(name, **options):
        asked.append((name, options["repo_type"]))
        return str(shutil.copytree(sample, tmp_path / "cached"))

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    data = sources.load("hf://owner/name")
    assert data.fingerprint == sources.load(sample).fingerprint
    assert asked == [("owner/name", "dataset")]


def test_no_connection_is_one_sentence(monkeypatch):
    def download(*_, **__):
        raise OSError("no route\nto host.")

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    with pytest.raises(DataError, match=r"^the hub data set 'owner/name' could not be loaded: no route$"):
        sources.load("owner/name")
