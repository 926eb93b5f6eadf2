"""What the tests of recorded scores share: a tiny data set, and files as the tools themselves wrote them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.kinds.explanations.data.conftest import tiny

__all__ = ["tiny"]

FILES = Path(__file__).parent / "files"
PROMPTFOO = FILES / "promptfoo-0.121.20.jsonl"
"""What ``promptfoo eval -o results.jsonl`` of promptfoo 0.121.20 made of the configuration beside it."""
KEYS = ["user_id", "item_id", "generator"]


def cells(data, evaluator):
    """Return the recorded scores of an evaluator: (item, generator, aspect) → score."""
    rows = data.scores[data.scores["evaluator"] == evaluator]
    return dict(
        zip(zip(rows["item_id"], rows["generator"], rows["aspect"], strict=True), rows["score"], strict=True)
    )


def statuses(data, evaluator):
    """Return the statuses of an evaluator's rows: (item, generator, aspect) → status."""
    rows = data.scores[data.scores["evaluator"] == evaluator]
    keys = zip(rows["item_id"], rows["generator"], rows["aspect"], strict=True)
    return dict(zip(keys, rows["status"], strict=True))


@pytest.fixture
def promptfoo(tmp_path):
    """A copy of promptfoo's own file, to be spoiled."""
    path = tmp_path / "results.jsonl"
    path.write_bytes(PROMPTFOO.read_bytes())
    return path


@pytest.fixture(scope="session")
def logs(tmp_path_factory):
    """Logs of real evaluations; the evaluation warns of its own libraries, so it runs by itself."""
    pytest.importorskip("inspect_ai")
    folder = tmp_path_factory.mktemp("inspect")
    script = Path(__file__).parent / "inspect_evals.py"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script, folder], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder
