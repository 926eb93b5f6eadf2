"""The pytest plugin and the script of the action, with a gate that holds and one that does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import metaeval as me
from tests.cli.test_gate import judged, texts
from tests.conftest import ROOT
from tests.tiny import write_study

TEST = """
import pytest

@pytest.mark.metaeval("study.yaml", min=["clear={least}"], evaluator="judge")
def test_quality(metaeval_run):
    assert len(metaeval_run.scores.frame)

def test_any_run(metaeval_gate):
    metaeval_gate("run", min=["clear={least}"], evaluator="judge")

def test_no_study_is_named(metaeval_run):
    raise AssertionError

def test_no_run(metaeval_gate):
    metaeval_gate("nowhere", min=["clear=1"], evaluator="judge")
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study and its run."""
    folder = tmp_path_factory.mktemp("plugin")
    judged(folder, "run", texts())
    (folder / "run.yaml").rename(folder / "study.yaml")
    return folder


def environment(**more: str) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **more}


@pytest.mark.parametrize("least", ["1.1", "4.9"])
def test_a_test_runs_a_study_and_fails_with_the_table_of_the_gate(
    place: Path, tmp_path: Path, least: str
) -> None:
    (tmp_path / "test_it.py").write_text(TEST.format(least=least), encoding="utf-8")
    for name in ("study.yaml", "run"):
        (tmp_path / name).symlink_to(place / name)
    # The entry point makes the plugin known, as for a user.
    plain = ["--strict-markers", "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={tmp_path}"]
    command = [sys.executable, "-m", "pytest", "-q", *plain, "test_it.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    passing = least == "1.1"
    assert ("2 passed" in done.stdout) == passing, done.stdout
    assert ("3 failed, 1 error" in done.stdout) == (not passing)
    assert "name the study of this test" in done.stdout
    assert "there is no run folder nowhere" in done.stdout
    assert "Traceback" not in done.stdout
    if not passing:
        assert "clear" in done.stdout
        assert "fail" in done.stdout


@pytest.mark.parametrize(("least", "code", "verdict"), [("1.1", 0, "pass"), ("4.9", 1, "fail")])
def test_the_script_of_the_action(place: Path, tmp_path: Path, least: str, code: int, verdict: str) -> None:
    (tmp_path / "run").symlink_to(place / "run")
    told = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "GITHUB_OUTPUT": str(tmp_path / "output")}
    given = {"RUN": "run", "OPTIONS": f"--min clear={least} --evaluator judge", **told}
    done = subprocess.run(
        ["bash", str(ROOT / ".github" / "gate.sh")],
        cwd=tmp_path,
        env=environment(**given),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert (tmp_path / "output").read_text() == f"verdict={verdict}\n"
    assert (tmp_path / "summary").read_text() == (tmp_path / "gate.md").read_text()
    assert "clear" in (tmp_path / "gate.md").read_text()


def test_the_action_hands_its_inputs_to_the_script() -> None:
    action = YAML(typ="safe").load((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert action["runs"]["using"] == "composite"
    gate = next(step for step in action["runs"]["steps"] if step.get("id") == "gate")
    script = (ROOT / ".github" / "gate.sh").read_text(encoding="utf-8")
    assert {f"${{{name}" in script or f"${name}" in script for name in gate["env"]} == {True}
    used = {value.split("inputs.")[1].split(" ")[0] for value in gate["env"].values()}
    assert used <= action["inputs"].keys()


def test_the_hooks_are_commands() -> None:
    hooks = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["entry"] for hook in hooks] == ["metaeval prompts check", "metaeval data check"]


def test_a_plugin_costs_nothing_before_it_is_used(tmp_path: Path) -> None:
    code = "import sys, metaeval.integrations.pytest_plugin; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=environment(), check=False).returncode == 0
    assert me.__version__
    assert write_study(tmp_path / "s.yaml").is_file()
