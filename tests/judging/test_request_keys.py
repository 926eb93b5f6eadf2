"""The keys of requests: a byte changed in a prompt or a parameter makes users pay for every reply again."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from metaeval.study.plan import plan
from tests.conftest import ROOT
from tests.tiny import write_study

PINNED = Path(__file__).with_name("request_keys.csv")


def _rows() -> list[dict[str, str]]:
    with PINNED.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def requests_of(sample: str, judges: Sequence[str], folder: Path) -> dict[str, tuple[int, str]]:
    """For each judge, the number of its different requests on a sample and one digest of their keys."""
    path = write_study(
        folder / "study.yaml",
        kind="explanations" if sample == "sample" else sample,
        truth="Labels('human')" if sample == "relevance" else "User()",
        dataset=str(ROOT / "data" / sample),
        evaluators=str({f"e{n}": judge for n, judge in enumerate(judges)}),
    )
    todo = plan(path, folder / "run")
    found = {}
    for judge in todo.scoring.judges:
        keys = dict.fromkeys(q.request.key for q in judge.questions(todo.data, todo.scoring.aspects))
        found[str(judge.spec)] = len(keys), hashlib.sha256("\n".join(keys).encode()).hexdigest()[:16]
    return found


@pytest.mark.parametrize("sample", sorted({row["sample"] for row in _rows()}))
def test_the_keys_of_requests_on_the_bundled_samples_stay(sample: str, tmp_path: Path) -> None:
    rows = [row for row in _rows() if row["sample"] == sample]
    seen = requests_of(sample, [row["judge"] for row in rows], tmp_path)
    assert seen == {row["judge"]: (int(row["requests"]), row["digest"]) for row in rows}


def test_every_bundled_prompt_is_pinned() -> None:
    named = " ".join(row["judge"] for row in _rows())
    for prompt in (ROOT / "prompts").glob("*.md"):
        assert f"prompt='{prompt.stem}'" in named, prompt.stem
