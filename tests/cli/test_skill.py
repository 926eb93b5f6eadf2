"""The skill for agents: it has the form that agents load, and every command in it is one that there is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from metaeval.cli import main
from tests.conftest import ROOT
from tests.docs.commands import check

SKILL = ROOT / "skills" / "metaeval"


def test_it_is_printed_and_installed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (SKILL / "SKILL.md").read_text(encoding="utf-8")
    assert main(["skill"]) == 0
    assert capsys.readouterr().out == text
    for _ in range(2):  # again, over an older one
        assert main(["skill", "--install", str(tmp_path)]) == 0
    installed = {p.relative_to(tmp_path / "metaeval") for p in (tmp_path / "metaeval").rglob("*.md")}
    assert installed == {p.relative_to(SKILL) for p in SKILL.rglob("*.md")}


def test_it_has_the_form_that_agents_load() -> None:
    _, head, body = (SKILL / "SKILL.md").read_text(encoding="utf-8").split("---\n", 2)
    facts = YAML(typ="safe").load(head)
    assert facts.keys() == {"name", "description"}
    assert facts["name"] == SKILL.name
    assert len(facts["description"]) <= 1024
    assert len(body.splitlines()) < 500
    for link in re.findall(r"\]\((references/[^)]+)\)", body):
        assert (SKILL / link).is_file()


@pytest.mark.parametrize("file", sorted(SKILL.rglob("*.md")), ids=lambda p: p.name)
def test_its_commands_are_there(file: Path) -> None:
    typed = re.findall(r"^\$ (metaeval [^#\n]*)", file.read_text(encoding="utf-8"), re.MULTILINE)
    for command in typed:
        check(command.strip())


def test_its_script_says_what_is_set_up_and_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-test")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    command = [sys.executable, str(SKILL / "scripts" / "status.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert "openai" in found["keys"]
    assert "there is no run" in found["runs"]
    assert "sk-of-a-test" not in done.stdout
