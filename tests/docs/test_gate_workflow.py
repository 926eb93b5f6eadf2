"""The workflow of the docs: it is valid, and what it types is what the command line takes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.docs.commands import check
from tests.docs.pages import DOCS

pytestmark = pytest.mark.slow

FILE = DOCS / "examples" / "gate.yml"


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    # YAML 1.2, as the service reads it: ``on`` is a name there, not a yes.
    return YAML(typ="safe").load(FILE.read_text(encoding="utf-8"))


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return workflow["jobs"]["gate"]["steps"]


def test_it_has_the_form_of_a_workflow(workflow: dict[str, Any]) -> None:
    assert set(workflow) == {"name", "on", "permissions", "jobs"}
    assert workflow["on"]["pull_request"]["paths"]
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    assert {"runs-on", "steps"} <= set(job)
    for step in job["steps"]:
        assert ("run" in step) != ("uses" in step), step
        assert set(step) <= {"name", "run", "uses", "with", "env", "if"}, step
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]), step


def test_every_command_is_one_that_there_is(workflow: dict[str, Any]) -> None:
    typed = [s["run"].strip() for s in steps(workflow) if "run" in s]
    ours = [command for command in typed if command.startswith("metaeval")]
    assert [c.split()[1] for c in ours] == ["data", "run", "gate"]
    for command in ours:
        check(command)  # raises what the command line would


def test_what_one_step_writes_another_reads(workflow: dict[str, Any]) -> None:
    text = {i: s.get("run", "") + str(s.get("with", "")) for i, s in enumerate(steps(workflow))}

    def those_with(word: str) -> list[int]:
        return [i for i, t in text.items() if word in t]

    for word in ("data/candidate", "results/candidate", "gate.md", "gate.xml"):
        assert len(those_with(word)) >= 2, word
    gate = next(i for i, t in text.items() if t.startswith("metaeval gate"))
    assert all("always()" in s.get("if", "") for s in steps(workflow)[gate + 1 :])  # it may well have failed
    store = workflow["jobs"]["gate"]["env"]["METAEVAL_STORE"]
    assert any(
        store.startswith(s["with"]["path"] + "/") for s in steps(workflow) if "cache" in s.get("uses", "")
    )


def test_no_secret_but_by_its_name(workflow: dict[str, Any]) -> None:
    given = [v for s in steps(workflow) for k, v in s.get("env", {}).items() if k.endswith("_KEY")]
    assert given == ["${{ secrets.OPENAI_API_KEY }}"]
