"""Biases and calibration, once measured, stand in the report of the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click import Command
from click.testing import CliRunner

import metaeval as me
from metaeval.cli.frame import command_of
from metaeval.reports.cells import cells
from metaeval.runs.folder import is_whole, read_record
from metaeval.trust.bias.biases import biases_of
from tests.study.runs import tiny_in
from tests.study.test_report import payload_of
from tests.tiny import write_study

JUDGES = """
  judge: "Judge('simulated/noise=0.3')"
  other: "Judge('simulated/two,noise=0.2')"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with tiny_in(tmp_path_factory.mktemp("made")) as folder:
        study = write_study(folder / "s.yaml", evaluators=JUDGES, bootstrap="{resamples: 20}")
        me.run(study, "out")
        return folder


@pytest.fixture
def run(made: Path, fresh: Callable[[Path], Path]) -> Path:
    return fresh(made) / "out"


def typed(command: Command, *arguments: object) -> str:
    done = CliRunner().invoke(command, [*map(str, arguments), "--resamples", "20"], obj={})
    if done.exception:
        raise done.exception
    return done.stdout


def views(run: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for sheet in payload_of(run / "report.html")["sheets"]:
        found.setdefault(sheet["view"], []).append(sheet)
    return found


@pytest.mark.slow
def test_what_was_measured_stands_in_the_report_and_the_run_is_whole(run: Path) -> None:
    before = views(run)
    assert "biases" not in before
    typed(command_of("biases"), run)
    typed(command_of("calibrate"), run)
    after = views(run)
    wanted = biases_of(run, resamples=20)
    assert [sheet["rows"] for sheet in after.pop("biases")] == [cells(sheet, even=True) for sheet in wanted]
    assert "calibration" in [sheet["name"] for sheet in after.pop("calibration")]
    assert after == before
    assert is_whole(run, read_record(run))


def test_a_report_that_the_run_did_not_write_stays_as_it_is(run: Path) -> None:
    record = json.loads((run / "run.json").read_bytes())
    (run / "report.html").write_text("mine", encoding="utf-8")
    assert "leniency" in typed(command_of("biases"), run).lower()
    assert (run / "report.html").read_text(encoding="utf-8") == "mine"
    now = json.loads((run / "run.json").read_bytes())
    before, after = (one["outputs"].pop("answer.json") for one in (record, now))
    assert before != after  # it has what was found
    assert now == record
