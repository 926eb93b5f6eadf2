"""``metaeval power`` on a run of the data set made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from metaeval.cli import main
from metaeval.cli.power import power
from tests.study.runs import tiny_in
from tests.tiny import write_study

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with tiny_in(tmp_path_factory.mktemp("made")) as folder:
        evaluators = '["Length()", "Annotator(\'1\')", "Annotator(\'2\')"]'
        write_study(folder / "s.yaml", evaluators=evaluators, missing="{truth: 3, score: 0}")
        assert main(["-q", "run", "s.yaml", "--out", "out"]) == 0
        return folder


@pytest.fixture
def run(made: Path, fresh: Callable[[Path], Path]) -> str:
    fresh(made)
    return "out"


def told(*arguments: str) -> str:
    done = CliRunner().invoke(power, ["--format", "md", *arguments, "--studies", "100"])
    assert done.exit_code == 0, done.output
    assert done.stderr == "SIMULATED DATA. The data are simulated: these numbers say nothing about people.\n"
    return done.stdout


def test_default(run: str) -> None:
    lines = told(run).splitlines()
    assert lines[0].startswith("## Studies that compare ")
    assert "**SIMULATED DATA.**" in lines[2]
    rows = [line.split(" | ")[0] for line in lines if line.startswith("| ")]
    assert rows == ["| Users", "| ---:", "| 3", "| 6", "| 10", "| 12", "| 20", "| 24"]


def test_options(run: str) -> None:
    options = ["--evaluators", "Length()", "Annotator('1')", "--aspect", "clear", "--level", "user"]
    options += ["--coefficient", "kendall", "--users", "2, 3", "--units", "4,5", "--seed", "1"]
    (rows,) = json.loads(told(run, *options, "--json")).values()
    assert [(r["users"], r["units"]) for r in rows] == [(2, 4), (3, 4), (2, 5), (3, 5)]
    asked = {"first": "Length()", "second": "Annotator('1')", "aspect": "clear", "level": "user"}
    asked |= {"coefficient": "kendall"}
    assert asked.items() <= rows[0].items()
    assert (rows[0]["seed"], rows[0]["studies"]) == (1, 100)


def test_out(run: str) -> None:
    assert told(run, "--out", "power.csv") == "power.csv\n"
    assert Path("power.csv").read_text(encoding="utf-8") == told(run, "--format", "csv")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--users", "10;20", "is not a list of whole numbers"),
        ("--units", "many", "is not a list of whole numbers"),
        ("--studies", "99", "99 is not in the range"),
        ("--out", "power.pdf", "its suffix may be .txt, .md, .csv, .tex, .html, .json"),
    ],
)
def test_wrong_options(run: str, option: str, value: str, message: str) -> None:
    done = CliRunner().invoke(power, [run, option, value])
    assert done.exit_code == 2
    assert message in done.stderr
