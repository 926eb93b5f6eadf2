"""Hub data sets, tried with local folders and with a hub on this machine: no test uses the network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import datasets
import httpx2
import pytest

from data.make_relevance import simulate
from metaeval.base.errors import DataError
from metaeval.data.hub import dataset_table, hub_name, hub_table
from metaeval.kinds.explanations.data import loading
from metaeval.kinds.reading import load as load_any
from metaeval.kinds.relevance.data.loading import save
from metaeval.kinds.slates.data.loading import save as save_slates
from tests.data.hub_server import commit, serving
from tests.kinds.slates.data.folders import small
from tests.tiny import write_study, write_tiny


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
    with pytest.raises(DataError, match=r"^the folder '.*none' could not be loaded") as caught:
        hub_table(str(tmp_path / "none"), cache=tmp_path / "cache")
    assert "\n" not in str(caught.value)


def test_what_is_a_hub_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "sample").mkdir(parents=True)
    assert hub_name("owner/name") == "owner/name"
    assert hub_name("hf://data/sample") == "data/sample"
    assert hub_name("hf://datasets/owner/name") == "owner/name"
    assert hub_name("hf://owner/name@v1") == hub_name("owner/name@v1") == "owner/name@v1"
    assert hub_name(Path("hf://owner/name")) == "owner/name"
    paths = ["data/sample", "data/sampel", "owner/table.csv", "name", "./owner/name", "/owner/name", "a/b/c"]
    for path in (*paths, tmp_path):
        assert hub_name(path) is None


def test_no_connection_is_one_sentence_that_also_says_there_is_no_such_folder(monkeypatch, tmp_path):
    def download(*_, **__):
        raise OSError("no route\nto host.")

    monkeypatch.setattr("huggingface_hub.file_exists", download)
    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "owners" / "named").mkdir(parents=True)
    said = "'owner/name' could not be loaded: no route; there is no folder 'owner/name' either; did you mean"
    with pytest.raises(DataError, match=re.escape(said)):
        loading.load("owner/name")


def test_labels_that_are_kept_as_numbers_become_their_names():
    features = datasets.Features({"who": datasets.ClassLabel(names=["ann", "bob"])})
    made = datasets.Dataset.from_dict({"who": [1, None, 0, -1]}, features=features)
    found = dataset_table(made, "x").frame["who"]
    assert found.dropna().to_dict() == {0: "bob", 2: "ann"}


MAP = """\
name: mapped
aspects: {fit: {statement: It fits}}
scale: {min: 1, max: 5}
units: {item_id: item, generator: by, explanation: text}
ratings:
  - {columns: rated, rater: user, aspect: fit}
"""
SCRIPT = """
import contextlib, io, json, sys
import metaeval as me
from metaeval.cli import main
from metaeval.base.errors import MetaevalError

def tell(name, value):
    print("@", json.dumps([name, value]))

for name in json.loads(sys.argv[1]):
    try:
        data = me.load(name)
        tell(name, [data.name, data.fingerprint])
    except MetaevalError as error:
        tell(name, str(error))
for command in json.loads(sys.argv[2]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = main(command)
        except SystemExit as exit:
            code = exit.code
    tell(" ".join(command), [code, said.getvalue()])
"""
NAMES = [
    "owner/tiny",
    "owner/tiny@v1",
    "owner/none",
    "owner/tiny@v9",
    "owner/plain",
    "owner/films",
    "owner/lists",
    "no name",
]
COMMANDS = {
    "check": ["data", "check", "hf://owner/tiny"],
    "score": ["score", "hf://owner/tiny", "Length()", "--out", "scores.csv"],
    "correlate": ["correlate", "hf://owner/tiny@v1", "scores.csv", "--resamples", "0"],
    "import": ["data", "import", "table", "hf://owner/plain@v2", "--map", "map.yaml", "--out", "mapped"],
    "run": ["run", "study.yaml", "--out", "run"],
    "init": ["init", "hf://owner/plain@v2", "--yes", "--column", "rated=rating", "--out", "started"],
    "run what init wrote": ["run", "started/study.yaml"],
}


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """What a process said that knows only a hub on this machine, and what the hub was asked."""
    here = tmp_path_factory.mktemp("hub")
    new, old, plain = write_tiny(here / "new"), write_tiny(here / "old"), here / "plain"
    text = (old / "dataset.yaml").read_text()
    (old / "dataset.yaml").write_text(text.replace("name: tiny", "name: older"))
    plain.mkdir()
    (plain / "train.csv").write_text("item,by,text,rated\na,g,one,1\nb,g,two,5\n")
    (here / "map.yaml").write_text(MAP)
    write_study(here / "study.yaml", "bootstrap: {resamples: 20}\n", dataset="hf://owner/tiny@v1")
    films = save(simulate(users=3, items=30, history=3), here / "films")
    lists = save_slates(small(), here / "lists")
    repositories = {"owner/tiny": {"main": new, "v1": old}, "owner/plain": {"main": plain, "v2": plain}}
    repositories |= {"owner/films": {"main": films}, "owner/lists": {"main": lists}}
    with serving(repositories) as server:
        environment = {
            **os.environ,
            "HF_ENDPOINT": server.address,
            "HF_HOME": str(here / "home"),
            "HF_HUB_DISABLE_XET": "1",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }
        names = json.dumps([f"hf://{name}" for name in NAMES])
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", SCRIPT, names, json.dumps([*COMMANDS.values()])],
            cwd=here,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said = dict(json.loads(line[2:]) for line in done.stdout.splitlines() if line.startswith("@ "))
        yield here, said, server.asked


@pytest.mark.slow
def test_a_hub_name_and_its_revisions(hub):
    here, said, _ = hub
    assert said["hf://owner/tiny"] == ["tiny", loading.load(here / "new").fingerprint]
    assert said["hf://owner/tiny@v1"][0] == "older"


@pytest.mark.parametrize("name", ["films", "lists"])
def test_data_of_other_kinds_of_the_hub(hub, name):
    here, said, _ = hub
    there = load_any(here / name)
    assert said[f"hf://owner/{name}"] == [there.name, there.fingerprint]


def test_a_file_is_downloaded_once(hub):
    _, _, asked = hub
    explanations = f"GET datasets/owner/tiny/resolve/{commit('v1')}/explanations.csv"
    assert sum(line.startswith(explanations) for line in asked) <= 1
    assert f"GET datasets/owner/tiny/resolve/{commit('main')}/explanations.csv" in asked


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("owner/none", "the hub has none of the name 'owner/none', or it is private"),
        ("owner/tiny@v9", "it has no branch, tag or commit 'v9'"),
        ("owner/plain", "has no dataset.yaml, so it is another kind of table; import it with: metaeval data"),
        ("no name", "Repo id must use alphanumeric chars"),
    ],
)
def test_what_cannot_be_loaded_is_one_sentence(hub, name, sentence):
    _, said, _ = hub
    assert sentence in said[f"hf://{name}"]
    assert "\n" not in said[f"hf://{name}"]


@pytest.mark.parametrize(
    ("command", "code", "shown"),
    [
        ("check", 0, "tiny (simulated): 18 units"),
        ("score", 0, "36 scores of 1 evaluator:"),
        ("correlate", 0, "Length(),fitting,pair,kendall,"),
        ("import", 0, "mapped: 2 units"),
        ("run", 0, "report.html"),
        ("init", 0, "Next: metaeval run started/study.yaml"),
        ("run what init wrote", 0, "report.html"),
    ],
)
def test_hub_names_work_where_a_path_does(hub, command, code, shown):
    _, said, _ = hub
    found, text = said[" ".join(COMMANDS[command])]
    assert found == code, text
    assert shown in text
    assert "Traceback" not in text


def test_a_hub_that_hangs_is_asked_once(monkeypatch):
    """The library of data sets would try again for minutes."""

    def hangs(*_, **__):
        raise httpx2.ReadTimeout("The read operation timed out")

    monkeypatch.setattr("huggingface_hub.file_exists", hangs)
    monkeypatch.setattr("datasets.load_dataset", lambda *_, **__: pytest.fail("it is asked again"))
    with pytest.raises(DataError, match="'some/data' could not be loaded: The read operation timed out"):
        hub_table("some/data")
