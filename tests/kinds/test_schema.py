"""The JSON Schema takes every study of the project, and refuses what the models refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from metaeval.base.errors import StudyError
from metaeval.cli import main
from metaeval.kinds.reading import make_study, study_schema
from tests.conftest import ROOT

STUDIES = sorted(ROOT.glob("studies/*.yaml")) + sorted(ROOT.glob("docs/examples/*study*.yaml"))
LEAST = {"dataset": "data", "evaluators": ["Length()"]}
WRONG: list[dict[str, Any]] = [
    {"evaluators": ["Length()"]},
    {"dataset": "data"},
    {**LEAST, "kind": "explanation"},
    {**LEAST, "evaluator": ["Length()"]},
    {**LEAST, "evaluators": 3},
    {**LEAST, "bootstrap": {"resamples": 0}},
    {**LEAST, "bootstrap": {"confidence": 1.5}},
    {**LEAST, "bootstrap": {"methods": "bca"}},
    {**LEAST, "tests": {"correction": "none at all"}},
    {**LEAST, "details": "perhaps"},
    {**LEAST, "kind": "relevance", "truth": "Labels('human')", "measures": 3},
    {**LEAST, "kind": "exposure", "estimators": "ips"},
]


def checked(content: dict[str, Any]) -> None:
    jsonschema.validate(content, study_schema(), jsonschema.Draft202012Validator)


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(study_schema())


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.name)
def test_every_study_of_the_project_is_valid(path: Path) -> None:
    checked(YAML(typ="safe").load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("content", WRONG, ids=str)
def test_what_a_study_may_not_say(content: dict[str, Any]) -> None:
    with pytest.raises(StudyError):
        make_study(content)
    with pytest.raises(jsonschema.ValidationError):
        checked(content)


def test_the_command_prints_or_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    printed = capsys.readouterr().out
    assert main(["schema", "--out", str(tmp_path / "study.json")]) == 0
    assert (tmp_path / "study.json").read_text(encoding="utf-8") == printed
    assert "yaml-language-server: $schema=" in capsys.readouterr().out
