"""``metaeval details``, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import metaeval as me
from metaeval.base.errors import RunFolderError
from metaeval.cli.details import details
from tests.tiny import write_study

EVALUATORS = '["Length()", "Annotator(\'1\')", "Annotator(\'2\')"]'


@pytest.fixture
def folder(tiny: Path) -> str:
    study = write_study(tiny.parent / "s.yaml", evaluators=EVALUATORS, missing="{truth: 3, score: 0}")
    return str(me.run(study, tiny.parent / "out").folder)


def typed(*arguments: str) -> str:
    done = CliRunner().invoke(details, ["--format", "md", *arguments], obj={}, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_all_sheets_are_printed(folder: str) -> None:
    text = typed(folder)
    for title in (
        "Further measures",
        "What people reach",
        "Reliability of the annotators",
        "Variance components",
    ):
        assert f"## {title}" in text
    assert "SIMULATED DATA" in text


def test_json_has_the_rows_of_each_sheet(folder: str) -> None:
    found = json.loads(typed(folder, "--json"))
    assert list(found) == ["measures", "people", "annotators", "attenuation", "variance"]
    assert [row["evaluator"] for row in found["measures"]] == ["Length()", "Annotator('1')", "Annotator('2')"]
    assert found["measures"][0]["kappa"] is None


def test_a_file_for_each_sheet(folder: str, tmp_path: Path) -> None:
    typed(folder, "--out", "d.csv")
    assert "d-variance.csv" in {p.name for p in tmp_path.glob("d-*.csv")}
    typed(folder, "--out", "d.tex")
    assert rf"\label{{tab:{Path(folder).name}-details-variance}}" in Path("d.tex").read_text(encoding="utf-8")


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="no run folder"):
        typed(str(tmp_path / "none"))
