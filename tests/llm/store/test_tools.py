from __future__ import annotations

import json
from pathlib import Path

import pytest

from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from metaeval.llm.calls.request import CallFailure, Reply
from metaeval.llm.store import tools as store_tools
from metaeval.llm.store.replies import Store
from tests.llm.asking import requests

URL = "http://127.0.0.1:9/v1"
ASKED = list(requests(3, URL))
LOST = Reply(error=CallFailure("transport", "lost", "timeout"))


@pytest.fixture
def filled(store: Store) -> Store:
    store.put(ASKED[0], Reply("好", prompt_tokens=10, completion_tokens=1, raw='{"a": 1}'))
    store.put(ASKED[1], Reply("two", prompt_tokens=10, completion_tokens=1))
    store.put(ASKED[2], LOST)
    return store


def test_info(filled: Store) -> None:
    found = store_tools.info(filled)
    assert (found.replies, found.failures) == (2, 1)
    assert found.models == (store_tools.ModelCount("openai/m", 2, 1, 20, 2),)
    assert found.bytes > 0
    assert found.oldest is not None
    assert "openai/m: 2 replies, 1 failure" in store_tools.describe(found)
    assert store_tools.problems(filled) == []


def test_prune(filled: Store) -> None:
    with pytest.raises(MetaevalError, match="nothing says what to delete"):
        store_tools.prune(filled)
    assert store_tools.prune(filled, older_than_days=1) == 0
    assert store_tools.prune(filled, model="openai/other") == 0
    assert store_tools.prune(filled, failures=True) == 1
    assert store_tools.prune(filled, older_than_days=0, model="openai/m") == 2
    assert store_tools.prune(filled, everything=True) == 0


def test_replies_travel(filled: Store, tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    assert store_tools.export_jsonl(filled, file) == 3
    with Store(tmp_path / "other.sqlite") as other:
        assert store_tools.import_jsonl(other, file) == (3, 0)
        # A failure gives way to what is imported, so it counts as new.
        assert store_tools.import_jsonl(other, file) == (1, 2)
        for asked in ASKED:
            assert other.get(asked.key) == filled.get(asked.key)
        again = tmp_path / "again.jsonl"
        store_tools.export_jsonl(other, again)
    assert again.read_bytes() == file.read_bytes()
    assert "好" in file.read_text(encoding="utf-8")


def test_a_copy_is_the_same_and_goes_on_where_it_broke_off(
    filled: Store, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = str(tmp_path / "other.sqlite")
    monkeypatch.setattr(store_tools, "_AT_ONCE", 1)
    first, second, _ = sorted(ASKED, key=lambda asked: asked.key)
    damage = "UPDATE replies SET digest = NULL WHERE key = ?"
    filled.write(lambda connection: connection.execute(damage, (second.key,)))
    with Store(there) as other:
        with pytest.raises(MetaevalError, match="is damaged"):
            store_tools.copy(filled, other)
        assert other.get_many(asked.key for asked in ASKED).keys() == {first.key}
        store_tools.prune(filled, damaged=True)
        assert store_tools.copy(filled, other) == (1, 1)
        assert store_tools.copy(filled, other) == (0, 2)
        assert other.get(first.key) == filled.get(first.key)
        other.put(ASKED[2], Reply("came later"))
        assert store_tools.copy(other, filled).added == (ASKED[2] != second)
        assert filled.get(ASKED[2].key) == other.get(ASKED[2].key)


def test_those_asked_for_in_their_order(filled: Store, tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    keys = [ASKED[2].key, "nowhere", ASKED[0].key, ASKED[0].key]
    assert store_tools.export_jsonl(filled, file, keys) == 2
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["key"] for line in lines] == [ASKED[2].key, ASKED[0].key]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"How is text 0?"', '"How is text 9?"', "line 1: the request was changed"),
        ('"prompt_tokens"', '"tokens"', "line 1: this is no reply"),
        ('{"key"', '{"kee"', "line 1: this is no reply"),
        ("{", "[", "line 1: this is no reply"),
        ('"transport"', "3, 4", "line 3: this is no reply"),
    ],
)
def test_a_file_that_was_changed(filled: Store, tmp_path: Path, old: str, new: str, message: str) -> None:
    file = tmp_path / "replies.jsonl"
    store_tools.export_jsonl(filled, file, [a.key for a in ASKED])
    file.write_text(file.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with Store(tmp_path / "other.sqlite") as other:
        with pytest.raises(MetaevalError, match=message):
            store_tools.import_jsonl(other, file)
        assert store_tools.info(other).replies == 0


def test_the_commands(filled: Store, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, file = place, str(tmp_path / "r.jsonl")
    assert main(["store", "info", "--store", path]) == 0
    assert "openai/m" in capsys.readouterr().out
    assert main(["store", "info", "--store", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["models"][0]["replies"] == 2
    assert main(["store", "export", file, "--store", path]) == 0
    assert main(["store", "import", file]) == 0  # into METAEVAL_STORE
    assert "added 3 replies" in capsys.readouterr().out
    assert main(["store", "copy", path, str(tmp_path / "copy.sqlite")]) == 0
    assert "copied 3 replies; 0 were there" in capsys.readouterr().out
    assert main(["store", "copy", str(tmp_path / "copy.sqlite"), path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"added": 0, "present": 3}
    assert main(["store", "prune"]) == 2
    assert main(["store", "prune", "--failures"]) == 0
    assert "deleted 1 reply" in capsys.readouterr().out
    assert main(["store", "prune", "--all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"deleted": 2}
