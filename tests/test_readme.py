"""What the README tells a reader to type, typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.pictures import ledger_counts, readme_of
from metaeval.cli import main
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands(text: str) -> list[list[str]]:
    lines = (line.removeprefix("$ ").split("  #")[0] for line in text.splitlines())
    return [shlex.split(line)[1:] for line in lines if line.startswith("metaeval ")]


def own_table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        {
            "user": f"u{u}",
            "item": f"i{i}",
            "system": f"s{s}",
            "text": f"You liked film {i + s}, and so did {s} friends",
            "review": f"I liked film {i} and its {s} songs",
            "helpful by user": rng.integers(1, 6),
            "helpful by anna": rng.integers(1, 6),
            "gpt score": round(rng.normal(), 2),
        }
        for u in range(4)
        for i in range(3)
        for s in range(4)
    ]
    return pd.DataFrame(rows)


def test_own_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs" / "examples").mkdir(parents=True)
    own_table().to_csv("docs/examples/ratings.csv", index=False)
    for block in blocks("yaml"):
        name = block.splitlines()[0].removeprefix("# ")
        (tmp_path / name).write_text(block, encoding="utf-8")
    given = [c for block in blocks("console") for c in commands(block) if "recexp" not in " ".join(c)]
    assert len(given) == 7
    for command in given:
        assert main(command) == 0, (command, capsys.readouterr().err)
    board = (tmp_path / "results" / "study" / "leaderboard.md").read_text(encoding="utf-8")
    assert "| gpt |" in board
    assert "Annotator anna" in board


def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own README
    assert "SIMULATED" in capsys.readouterr().out


def test_the_demo_prints_the_table_of_the_readme(demo: Path) -> None:
    printed = (demo / "results" / "demo" / "leaderboard.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
    table = [line for line in page.splitlines() if line.startswith("| ") and line.count(" / ") > 10]
    assert len(table) > 8
    for line in table:
        assert line in printed
    assert len(re.findall(r"^\| \d+ \|", README, re.MULTILINE)) == 10
    assert readme_of(README, demo / "results" / "demo") == README, "make pictures"
    assert "Report: results/demo/report.html" in (demo / "printed.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_pages_have_the_counts_of_the_ledger(page: str) -> None:
    ledger = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")
    text = (ROOT / page).read_text(encoding="utf-8")
    assert ledger_counts(text, ledger) == text, "make pictures"
    assert ledger_counts(text, ledger.replace(" are equal", "9 are equal", 1)) != text
