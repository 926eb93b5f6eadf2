from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from metaeval.cli import main
from metaeval.errors import MetaevalError
from metaeval.llm import store_tools
from metaeval.llm.request import CallFailure, Reply
from metaeval.llm.store import Store
from tests.llm.asking import requests

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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


def deep(key: str) -> Callable[[str], str]:
    return lambda line: line.replace(
        f'"{key}": ', f'"{key}": ' + "[" * 200_000 + "]" * 200_000 + ', "x": ', 1
    )


def said(name: str, value: str) -> Callable[[str], str]:
    return lambda line: re.sub(rf'"{name}": ("[^"]*"|[^,}}]*)', lambda _: f'"{name}": {value}', line, count=1)


ATTACKS: dict[str, Callable[[str], str]] = {
    "a line nested deeply": lambda _: "[" * 200_000,
    "an object nested deeply": lambda _: '{"key":' * 100_000,
    "a schema nested deeply": deep("schema"),
    "a refusal nested deeply": deep("refusal"),
    "a schema nested less": lambda line: line.replace('"schema": null', '"schema": ' + "[" * 900 + "]" * 900),
    "tokens beyond SQLite": said("prompt_tokens", "1" + "0" * 30),
    "tokens of 5,000 digits": said("prompt_tokens", "9" * 5000),
    "tokens below zero": said("prompt_tokens", "-1"),
    "tokens as a truth value": said("prompt_tokens", "true"),
    "tokens as text": said("prompt_tokens", '"10"'),
    "seconds that are no number": said("queue_seconds", "NaN"),
    "seconds beyond all": said("queue_seconds", "1e999"),
    "seconds as text": said("queue_seconds", '"1"'),
    "a text that is a list": said("text", "[1]"),
    "a text that is none": said("text", "null"),
    "half of a surrogate pair": said("text", '"\\ud800"'),
    "a reply that is a list": lambda line: line.replace('"reply": {', '"reply": [{', 1),
    "an error of no kind": said("error", '{"kind": "joy", "message": "", "code": ""}'),
    "an error with a number": said("error", '{"kind": "transport", "message": 1, "code": ""}'),
    "a time before all": said("created", '"0001-01-01T00:00:00+14:00"'),
    "a time that is a number": said("created", "17"),
    "cut off": lambda line: line[:-40],
    "nothing but a number": lambda _: "7",
    "null": lambda _: "null",
    "invalid UTF-8": lambda line: line[:50] + "\udcff" + line[50:],
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ATTACKS)
def test_a_line_that_was_made_to_harm(
    filled: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    file, other = tmp_path / "r.jsonl", tmp_path / "other.sqlite"
    store_tools.export_jsonl(filled, file, [a.key for a in ASKED])
    lines = file.read_text(encoding="utf-8").splitlines()
    bad = ATTACKS[kind](lines[1])
    assert bad != lines[1]
    content = "\n".join([lines[0], bad, lines[2], ""])
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert main(["store", "import", str(file), "--store", str(other)]) == 2
    error = capsys.readouterr().err
    assert f"{file}, line 2: " in error
    assert len(error) < 500
    with Store(other) as store:
        assert store_tools.info(store).replies == 0
        # The store can be written to afterwards.
        assert store.put(ASKED[0], Reply("x")) == Reply("x")


def test_a_line_of_a_hundred_megabytes(tmp_path: Path) -> None:
    """It is refused before it is read whole."""
    file = tmp_path / "r.jsonl"
    with file.open("wb") as out:
        for _ in range(100):
            out.write(b"x" * 1_000_000)
    code = (
        "import resource, sys; from metaeval.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "code = main(['store', 'import', sys.argv[1]])\n"
        "assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 500_000\n"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "line 1: is longer than 67,108,864 bytes" in done.stderr


def test_a_file_that_is_no_text(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MetaevalError, match="no text in UTF-8"):
        store_tools.import_jsonl(store, file)


def test_the_commands(filled: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, file = str(filled.path), str(tmp_path / "r.jsonl")
    assert main(["store", "info", "--store", path]) == 0
    assert "openai/m" in capsys.readouterr().out
    assert main(["store", "info", "--store", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["models"][0]["replies"] == 2
    assert main(["store", "export", file, "--store", path]) == 0
    assert main(["store", "import", file]) == 0  # into METAEVAL_STORE
    assert "added 3 replies" in capsys.readouterr().out
    assert main(["store", "prune"]) == 2
    assert main(["store", "prune", "--failures"]) == 0
    assert "deleted 1 reply" in capsys.readouterr().out
    assert main(["store", "prune", "--all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"deleted": 2}


def test_a_store_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "info", "--store", str(tmp_path / "none")]) == 2
    assert "there is no store at" in capsys.readouterr().err
