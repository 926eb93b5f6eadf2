"""``metaeval prompts``, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metaeval.cli import main
from metaeval.llm.prompts.template import bundled_prompts, load_prompt

UNIT = ("--unit", "u01,f01,popular")


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["prompts", *arguments]) == code
    out, err = capsys.readouterr()
    assert bool(err) == (code == 2)
    return err if code == 2 else out


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "list", "--format", "csv").splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == list(bundled_prompts())
    assert "rubric-reference" in said(capsys, "list")
    found = json.loads(said(capsys, "list", "--json"))
    assert found[0]["sha256"] == load_prompt("multi-aspect").hash


def test_show_the_template(capsys: pytest.CaptureFixture[str]) -> None:
    assert "{{ explanation | fenced" in said(capsys, "show", "multi-aspect")
    path = str(bundled_prompts()["multi-aspect"])
    assert said(capsys, "show", path) == said(capsys, "show", "multi-aspect")


def test_show_a_unit(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    data = ("--data", str(sample))
    text = said(capsys, "show", "multi-aspect", *UNIT, *data)
    assert "<item>\nThe Salt Ledger\n</item>" in text
    assert "{{" not in text
    more = ("--aspect", "accuracy", "--example", "u01,f02,popular", "--profile", "--reply", "text")
    text = said(capsys, "show", "single-aspect", *UNIT, *data, *more)
    assert "accuracy: ...\n" in text
    assert "persuasiveness" not in text
    assert "accuracy = 4\n" in text
    assert "favourite_genre: thriller" in text


def test_check(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    good = str(bundled_prompts()["multi-aspect"])
    assert said(capsys, "check", good) == f"{good}: no problems\n"
    assert said(capsys, "check", good, "--quiet") == ""
    bad = tmp_path / "bad.md"
    bad.write_text("no header")
    assert f"{bad}: has no header" in said(capsys, "check", good, str(bad), code=1)
    found = json.loads(said(capsys, "check", good, str(bad), "--json", code=1))
    assert found[good] == []
    assert len(found[str(bad)]) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("show multi", "there is no prompt 'multi'; did you mean 'multi-aspect'?"),
        ("show none.md", "there is no prompt file none.md"),
        ("show multi-aspect --unit u1,i1,g", "give its folder with --data"),
        ("show multi-aspect --profile", "name the unit"),
        ("show multi-aspect --unit u1 --data SAMPLE", "write it as user_id,item_id,generator"),
        ("show multi-aspect --unit u01,f01,populr --data SAMPLE", "did you mean 'popular'?"),
        ("show single-aspect --unit u01,f01,popular --data SAMPLE", "choose one with --aspect"),
        (
            "show multi-aspect --unit u01,f01,popular --data SAMPLE --aspect acuracy",
            "did you mean 'accuracy'?",
        ),
        ("shw", "did you mean 'show'?"),
    ],
)
def test_wrong_input(capsys: pytest.CaptureFixture[str], sample: Path, arguments: str, says: str) -> None:
    err = said(capsys, *arguments.replace("SAMPLE", str(sample)).split(), code=2)
    assert says in err
    assert err.count("\n") == 1
