"""Scores into a data set on disk: in place or as a new one, whole or not at all."""

from __future__ import annotations

import hashlib

import pytest

from metaeval.base.errors import DataError
from metaeval.evaluators.recorded import origin
from metaeval.kinds.explanations.data import loading
from metaeval.kinds.explanations.data.recorded import add_scores, import_scores
from tests.data.recorded.conftest import PROMPTFOO

TABLE = "user_id,item_id,generator,evaluator,score\nu1,007,a,e,3\nu2,8,a,e,4.5\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    return path


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def test_in_place_two_files_change(tiny, table):
    tiny.replace("dataset.yaml", "name: tiny", "# what we asked\nname: 'tiny'  # for now")
    tiny.write("notes.txt", "mine")
    before = contents(tiny.folder)
    made = import_scores(tiny.folder, table, tool="table")
    after = contents(tiny.folder)
    assert {n for n in after if after[n] != before.get(n)} == {"dataset.yaml", "scores.csv"}
    assert after["dataset.yaml"].startswith(before["dataset.yaml"])
    loaded = loading.load(tiny.folder)
    assert loaded.fingerprint == made.data.fingerprint
    assert origin(loaded, "e") == {
        "tool": "table",
        "file": "table.csv",
        "sha256": hashlib.sha256(TABLE.encode()).hexdigest(),
    }
    assert origin(loaded, "other") == {}


def test_it_says_how_far_the_scores_reach(tiny, table):
    assert import_scores(tiny.folder, table, tool="table").lines() == [
        "Recorded('e') (all aspects): 2 of 3 units have a score"
    ]
    result = import_scores(tiny.folder, PROMPTFOO, tool="promptfoo")
    assert result.lines() == [
        "Recorded('echo judge') (clarity, trust): 3 of 3 units have a score",
        "Recorded('shaky') (clarity, trust): 2 of 3 units have a score, 1 transport",
        "not used, because the data set has no such aspect: 'Brevity'",
    ]
    assert result.to_dict()["evaluators"][1]["statuses"] == {"transport": 1}


def test_an_evaluator_is_replaced_only_if_asked(tiny, table):
    import_scores(tiny.folder, table, tool="table")
    before = contents(tiny.folder)
    table.write_text(TABLE.replace("4.5", "2"))
    with pytest.raises(DataError, match="scores of 'e' already; replace them with --replace"):
        import_scores(tiny.folder, table, tool="table")
    assert contents(tiny.folder) == before
    made = import_scores(tiny.folder, table, tool="table", replace=True)
    assert made.data.scores["score"].tolist() == [3.0, 2.0]
    assert loading.load(tiny.folder).fingerprint == made.data.fingerprint


def test_into_a_new_data_set(tiny, table, tmp_path):
    before = contents(tiny.folder)
    made = import_scores(tiny.folder, table, tool="table", out=tmp_path / "new")
    assert contents(tiny.folder) == before
    assert {p.name for p in (tmp_path / "new").iterdir()} == {
        "dataset.yaml",
        "explanations.csv",
        "ratings.csv",
        "scores.csv",
    }
    assert loading.load(tmp_path / "new").fingerprint == made.data.fingerprint
    with pytest.raises(DataError, match="--force"):
        import_scores(tiny.folder, table, tool="table", out=tmp_path / "new")
    import_scores(tiny.folder, table, tool="table", out=tmp_path / "new", force=True)


def test_a_wrong_file_changes_nothing(tiny, table, tmp_path):
    before = contents(tiny.folder)
    table.write_text(TABLE.replace("u2", "u3"))
    for out in (None, tmp_path / "new"):
        with pytest.raises(DataError):
            import_scores(tiny.folder, table, tool="table", out=out)
    assert contents(tiny.folder) == before
    assert not (tmp_path / "new").exists()


def test_a_write_that_breaks_off_changes_nothing(tiny, table, monkeypatch):
    before = contents(tiny.folder)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("metaeval.kinds.explanations.data.recorded._manifest", full)
    with pytest.raises(OSError, match="No space"):
        import_scores(tiny.folder, table, tool="table")
    assert contents(tiny.folder) == before


def test_what_was_asked_wrongly(tiny, table, tmp_path):
    with pytest.raises(DataError, match="unknown tool 'prompfoo'; did you mean 'promptfoo'"):
        add_scores(loading.load(tiny.folder), table, tool="prompfoo")
    with pytest.raises(DataError, match=r"does not exist; did you mean 'table\.csv'"):
        import_scores(tiny.folder, tmp_path / "tabel.csv", tool="table")
    with pytest.raises(DataError, match="did you mean --replace"):
        import_scores(tiny.folder, table, tool="table", force=True)
    with pytest.raises(DataError, match=r"hub data set 'owner/name' cannot be written to"):
        import_scores("hf://owner/name", table, tool="table")
    with pytest.raises(DataError, match="does not exist"):
        import_scores(tmp_path / "tny", table, tool="table")


def test_several_tables_are_one(tiny, tmp_path):
    rows = {"mine": "u1,007,a,3\nu2,8,a,4\n", "theirs": "u1,007,a,2\n"}
    files = [tmp_path / f"{name}.csv" for name in rows]
    for file in files:
        file.write_text(f"user_id,item_id,generator,score\n{rows[file.stem]}")
    made = import_scores(tiny.folder, files, tool="table", evaluator="{file}")
    assert made.lines() == [
        "Recorded('mine') (all aspects): 2 of 3 units have a score",
        "Recorded('theirs') (all aspects): 1 of 3 units have a score",
    ]
    assert origin(made.data, "theirs")["file"] == "mine.csv + theirs.csv"


def test_files_of_a_tool_have_evaluators_of_their_own(tiny, tmp_path):
    before = contents(tiny.folder)
    again = tmp_path / "again.jsonl"
    again.write_bytes(PROMPTFOO.read_bytes())
    with pytest.raises(DataError, match=r"both have scores of .*; tell them apart with --evaluator"):
        import_scores(tiny.folder, [PROMPTFOO, again], tool="promptfoo")
    assert contents(tiny.folder) == before
