"""The newcomer's path: the tutorial from top to bottom in an empty folder, and the tables that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import source
from tests.docs.reader import Reader

pytestmark = pytest.mark.slow

PAGE = "tutorial.md"


def test_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "newcomer"
    folder.mkdir()
    monkeypatch.chdir(folder)
    reader = Reader(PAGE, folder)
    reader.follow()
    assert {p.name for p in (folder / "results").iterdir()} == {"demo", "study"}
    written = folder / "results" / "study"
    assert (written / "report.html").stat().st_size > 10_000
    boards = [folder / "results" / name / "leaderboard.md" for name in ("demo", "study")]
    came_out = "".join([reader.printed, *(board.read_text(encoding="utf-8") for board in boards)])

    page = source(PAGE)
    rows = [line for line in page.splitlines() if line.startswith("| ") and " :---" not in line]
    assert len(rows) == 16
    for row in rows:
        assert row.removesuffix(" |") in came_out  # the demo has further columns, of what judges cost
    quoted = re.findall("“(.*?)”", page, re.DOTALL)
    assert quoted
    for sentence in quoted:
        assert " ".join(sentence.split()) in came_out
    for p in re.findall(r"\(p = ([\d.]+)\)", page):
        assert f"p = {p} " in came_out
    assert "528 explanations" in page
    assert "13 evaluators on 528 units: " in came_out
