"""The workflow of a repository that holds a leaderboard: its steps are typed in such a repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from metaeval.cli import main
from tests.conftest import ROOT
from tests.docs.pages import DOCS
from tests.tiny import write_study, write_tiny

pytestmark = pytest.mark.slow

EXAMPLES = DOCS / "examples"


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    # YAML 1.2, as the service reads it: ``on`` is a name there, not a yes.
    return YAML(typ="safe").load((EXAMPLES / "leaderboard.yml").read_text(encoding="utf-8"))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a pull request brings: data, study, replies and run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("METAEVAL_STORE", str(tmp_path / "private.sqlite"))
    write_tiny(tmp_path / "data")
    (tmp_path / "studies").mkdir()
    write_study(
        tmp_path / "studies" / "films.yaml",
        dataset="data",
        evaluators='["Length()", "Judge(\'simulated/one\')"]',
        bootstrap="{resamples: 20}",
        tests="{permutations: 99}",
        details="false",
        missing="{truth: 3, score: 0}",
    )
    assert main(["-q", "run", "studies/films.yaml", "--out", "runs/films"]) == 0
    (tmp_path / "replies").mkdir()
    assert main(["-q", "store", "export", "replies/films.jsonl", "--run", "runs/films"]) == 0
    shutil.copy(EXAMPLES / "check_run.py", tmp_path)
    return tmp_path


def do(workflow: dict[str, Any], folder: Path) -> tuple[int, str]:
    """Type the commands of the first job as the service does; return the exit code and what was said."""
    job = workflow["jobs"]["site"]
    lines = [step["run"] for step in job["steps"] if "run" in step and not step["run"].startswith("pip")]
    bin_ = folder / ".bin"
    bin_.mkdir()
    for name, words in (("metaeval", "-m metaeval "), ("python", "")):
        (bin_ / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
        (bin_ / name).chmod(0o755)
    path = f"{bin_}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(lines)],
        cwd=folder,
        env={**os.environ, **job["env"], "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_it_has_the_form_of_a_workflow(workflow: dict[str, Any]) -> None:
    assert set(workflow) == {"name", "on", "permissions", "jobs"}
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), step
            assert "uses" not in step or re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]), step


def test_a_run_that_can_be_made_again_is_published(workflow: dict[str, Any], repository: Path) -> None:
    code, said = do(workflow, repository)
    assert code == 0, said
    assert "runs/films: made again, to the digit" in said
    assert (repository / "site" / "studies" / "films" / "report.html").is_file()


def test_a_run_of_other_scores_is_found_out(workflow: dict[str, Any], repository: Path) -> None:
    study = repository / "studies" / "films.yaml"
    text = study.read_text(encoding="utf-8")
    assert "score: 0" in text
    study.write_text(text.replace("score: 0", "score: 1").replace("truth: 3", "truth: 1"), encoding="utf-8")
    code, said = do(workflow, repository)
    assert code == 1, said
    assert "runs/films: differs in correlations.csv" in said
    assert not (repository / "site").exists()
