"""``metaeval compare``, as it is typed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from metaeval.cli import main
from tests.study.runs import tiny_run
from tests.tiny import write_tiny

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the runs ``old`` and ``new``; a judge of ``new`` has another temperature."""
    folder = tmp_path_factory.mktemp("compare")
    write_tiny(folder / "tiny")
    for name, temperature in (("old", 0), ("new", 0.5)):
        judge = f"\"Judge('simulated/one', temperature={temperature})\""
        tiny_run(folder, name, evaluators=f"{{judge: {judge}, Length(): Length()}}")
    return folder


@pytest.fixture
def typed(runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Return what a command in the runs' folder printed, after its exit code was seen."""
    monkeypatch.chdir(runs)

    def run(*arguments: str, code: int = 0) -> str:
        assert main(["compare", "--format", "md", *arguments]) == code
        out, err = capsys.readouterr()
        return err if code else out

    return run


def test_what_changed_and_whether_it_matters(typed) -> None:
    text = typed("old", "new")
    assert "| evaluators | judge | temperature | 0 | 0.5 |" in text
    assert "| aspects |  | nothing changed | — | — |" in text
    assert "| judge (simulated) |" in text
    assert "SIMULATED DATA" in text
    assert "spec, temperature" in text


def test_one_run(typed) -> None:
    assert "## Paired tests" in typed("old")
    found = json.loads(typed("old", "--json", "--by", "clear,user,kendall"))
    assert [row["aspect"] for row in found["tests"]] == ["clear"]


def test_json(typed) -> None:
    found = json.loads(typed("old", "new", "--json", "--all-pairs"))
    assert set(found) == {"changes", "runs", "ranking", "tests"}
    assert {row["evaluator"] for row in found["runs"]} == {"judge", "Length()"}
    assert all(row["value @ old"] is None for row in found["changes"] if row["key"] == "nothing changed")
    assert len(found["tests"]) == 6


def test_every_format(typed, tmp_path: Path) -> None:
    typed("old", "new", "--out", str(tmp_path / "c.csv"))
    frame = pd.read_csv(tmp_path / "c-runs.csv")
    assert {"estimate @ old", "estimate @ new", "difference", "p_corrected"} <= set(frame.columns)
    assert (tmp_path / "c-changes.csv").exists()
    typed("old", "new", "--out", str(tmp_path / "c.tex"))
    latex = (tmp_path / "c.tex").read_text(encoding="utf-8")
    assert r"\label{tab:old-new-compare-changes}" in latex
    assert r"\label{tab:old-new-compare-runs}" in latex
    page = typed("old", "new", "--format", "html")
    assert '<section class="sheet" id="runs">' in page
    first = (tmp_path / "c.tex").read_bytes()
    typed("old", "new", "--out", str(tmp_path / "c.tex"))
    assert (tmp_path / "c.tex").read_bytes() == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("old", "none"), "there is no run folder none"),
        (("old", "tiny"), "tiny is not a run folder"),
        (("old", "new", "--by", "cleer"), "no aspect 'cleer' is in all runs; did you mean 'clear'?"),
        (
            ("old", "new", "--policy-of", "nw"),
            "there is no run 'nw' to take the policy from; did you mean 'new'?",
        ),
        (("old", "new", "--permutations", "0"), "--permutations"),
        ((), "Missing argument 'RUN...'"),
    ],
)
def test_wrong_input_is_one_line(typed, arguments: tuple[str, ...], message: str) -> None:
    said = typed(*arguments, code=2)
    assert said.startswith("metaeval: ")
    assert message in said
    assert said.count("\n") == 1
