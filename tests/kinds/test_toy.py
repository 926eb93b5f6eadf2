"""A kind of study that the package has never heard of, through the command line in another process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kinds import toy

STUDY = """\
kind: yes-no
dataset: data
truth: Asker()
evaluators: {always: Yes(), judge: "Judge('simulated/one')", other: "Judge('simulated/two')"}
bootstrap: {resamples: 200}
tests: {permutations: 200}
judging: {store: replies.sqlite}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the module of the kind, a data set and a study."""
    folder = tmp_path_factory.mktemp("toy")
    (folder / "toy.py").write_text(Path(toy.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "data").mkdir()
    rows = [f"a{n // 6},Is number {n} even?,{(n + 1) % 2}" for n in range(48)]
    (folder / "data" / "answers.csv").write_text("\n".join(["asker,question,answer", *rows]) + "\n")
    (folder / "s.yaml").write_text(STUDY, encoding="utf-8")
    return folder


def told(place: Path, *words: str, code: int = 0) -> str:
    """Run a command there and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "metaeval", *words],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(Path.cwd()), "METAEVAL_KINDS": "toy:YES_NO"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_every_step_from_dry_run_to_gate(place: Path) -> None:
    planned = told(place, "run", "s.yaml", "--out", "out", "--dry-run")
    assert "48 calls to make" in planned
    assert "Is number 0 even?" in planned
    told(place, "run", "s.yaml", "--out", "out")
    record = json.loads((place / "out" / "run.json").read_text(encoding="utf-8"))
    assert record["data"]["keys"] == ["asker", "question"]
    assert record["data"]["cluster"] == "asker"
    assert "Finished already" not in told(place, "run", "s.yaml", "--out", "other", "--offline")
    for file in ("board.csv", "leaderboard.md", "tests.csv"):
        assert (place / "out" / file).read_bytes() == (place / "other" / file).read_bytes()
    assert "accuracy" in told(place, "leaderboard", "out")
    assert "judge" in told(place, "compare", "out")
    assert "nothing changed" in told(place, "compare", "out", "other")
    assert "48" in told(place, "gate", "out", "--evaluator", "judge", "--min", "answer=0.1")
    told(place, "gate", "out", "--evaluator", "judge", "--min", "answer=0.99", code=1)
    assert "judge" in told(place, "biases", "out")


def test_a_budget_that_ends_and_goes_on(place: Path) -> None:
    study = STUDY.replace("replies.sqlite", "few.sqlite, max_calls: 20")
    (place / "few.yaml").write_text(study, encoding="utf-8")
    assert "the budget is used up" in told(place, "run", "few.yaml", "--out", "few", code=3)
    (place / "few.yaml").write_text(study.replace(", max_calls: 20", ""), encoding="utf-8")
    told(place, "run", "few.yaml", "--out", "few")
    whole = {p.name for p in (place / "few").iterdir()}
    assert {"board.csv", "report.html", "run.json"} <= whole
