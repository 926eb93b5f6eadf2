"""What the host of the repository reads: each file has its reader's form, and names what there is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.conftest import ROOT

FORMS = {
    ".github/workflows/*.yml": "vendor.github-workflows",
    ".github/ISSUE_TEMPLATE/[!c]*.yml": "vendor.github-issue-forms",
    ".github/ISSUE_TEMPLATE/config.yml": "vendor.github-issue-config",
    ".github/dependabot.yml": "vendor.dependabot",
    "action.yml": "vendor.github-actions",
    "docs/examples/[gl]*.yml": "vendor.github-workflows",
    "compose.yaml": "vendor.compose-spec",
    ".readthedocs.yaml": "vendor.readthedocs",
    "CITATION.cff": "vendor.citation-file-format",
}


def read(path: Path) -> dict[str, Any]:
    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("pattern", FORMS)
def test_it_has_the_form_that_its_reader_states(pattern: str) -> None:
    files = [str(file) for file in sorted(ROOT.glob(pattern))]
    assert files
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", FORMS[pattern], *files]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_workflows_call_what_the_makefile_has() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    called = [
        step["run"].split()[1]
        for file in (ROOT / ".github" / "workflows").glob("*.yml")
        for job in read(file)["jobs"].values()
        for step in job["steps"]
        if step.get("run", "").startswith("make ")
    ]
    assert {"lint", "test", "test-slow", "docs", "reproduce", "release-check"} <= set(called) <= targets


def test_a_release_is_made_of_a_tag_alone_and_keeps_no_token() -> None:
    file = ROOT / ".github" / "workflows" / "release.yml"
    release = read(file)
    assert release["on"] == {"push": {"tags": ["v*"]}}
    assert release["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in file.read_text(encoding="utf-8")


def test_the_workflow_for_others_hands_its_inputs_to_the_action() -> None:
    workflow, action = read(ROOT / ".github" / "workflows" / "gate.yml"), read(ROOT / "action.yml")
    gate = next(step for step in workflow["jobs"]["gate"]["steps"] if step.get("id") == "gate")
    assert gate["with"].keys() <= action["inputs"].keys()
    assert gate["with"].keys() <= workflow["on"]["workflow_call"]["inputs"].keys()


def test_the_image_copies_all_that_the_wheel_needs() -> None:
    """What is not let in cannot be built: the wheel's list is held against the image's."""
    context = (ROOT / ".dockerignore").read_text(encoding="utf-8")
    let_in = set(re.findall(r"^!(.+)$", context, re.MULTILINE))
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    bundled = {
        line.split('"')[1].split("/")[0] for line in project.splitlines() if '= "metaeval/_bundled' in line
    }
    assert bundled | {"metaeval", "pyproject.toml", "README.md", "LICENSE"} == let_in


def test_the_development_container_sets_up_by_the_makefile() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    assert container["postCreateCommand"] == "make install"
