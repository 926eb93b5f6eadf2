"""``metaeval calibrate``, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import metaeval as me
from metaeval.cli import cli
from metaeval.cli.calibrate import calibrate
from tests.study.runs import tiny_in
from tests.tiny import write_study

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with tiny_in(tmp_path_factory.mktemp("made")) as folder:
        write_study(
            Path("s.yaml"), evaluators="{judge: \"Judge('simulated/one')\", anna: \"Annotator('1')\"}"
        )
        me.run("s.yaml", "out")
        return folder


@pytest.fixture
def run(made: Path, fresh: Callable[[Path], Path]) -> Path:
    return fresh(made) / "out"


def typed(*arguments: object):
    return CliRunner().invoke(calibrate, ["--format", "md", *map(str, arguments)], catch_exceptions=False)


def test_it_prints_its_tables_and_keeps_the_calibration(run: Path) -> None:
    done = typed(run, "--resamples", 50, "--by", "generator", "--cut", 3)
    assert done.exit_code == 0
    for title in (
        "Agreement with people",
        "Leaderboard of labels",
        "Agreement with people by generator",
        "Confusion tables",
        "Maps to people's scale, on users they did not see",
    ):
        assert f"## {title}" in done.stdout
    assert "SIMULATED" in done.stderr
    assert (run / "calibration.json").is_file()
    assert typed(run, "--resamples", 50, "--by", "generator", "--cut", 3).stdout == done.stdout


def test_json_has_every_digit_and_other_formats_are_written(run: Path, tmp_path: Path) -> None:
    done = typed(run, "--resamples", 50, "--evaluator", "anna", "--json")
    found = json.loads(done.stdout)
    assert {r["evaluator"] for r in found["calibration"]} == {"anna"}
    assert sum(r["n_units"] for r in found["confusion"] if r["aspect"] == "clear") == 18
    for suffix in ("csv", "tex", "html"):
        assert typed(run, "--resamples", 50, "--out", tmp_path / f"c.{suffix}").exit_code == 0
    assert (tmp_path / "c-labels.csv").read_text().startswith("evaluator,aspect,n_units,kappa,")


def test_check_says_which_judges_are_no_longer_those_that_were_calibrated(run: Path) -> None:
    typed(run, "--resamples", 50)
    same = typed(run, "--check", run)
    assert same.exit_code == 0
    assert "| judge | calibrated |" in same.stdout
    write_study(Path("s.yaml"), evaluators="{judge: \"Judge('simulated/two')\"}")
    later = me.run("s.yaml", "later").folder
    changed = typed(later, "--check", run / "calibration.json")
    assert changed.exit_code == 1
    assert "uncalibrated: the model changed (simulated/one → simulated/two)" in changed.stdout


@pytest.mark.parametrize("command", ["leaderboard", "disagreements"])
def test_later_commands_say_that_a_judge_is_uncalibrated(run: Path, command: str) -> None:
    typed(run, "--resamples", 50)
    listed = ", ".join(
        f"{n}: \"Judge('simulated/two', replicate={i})\"" for i, n in enumerate(("judge", "b"))
    )
    write_study(Path("s.yaml"), evaluators=f"{{{listed}}}")
    later = me.run("s.yaml", "later").folder
    before = CliRunner().invoke(cli, [command, str(later)], catch_exceptions=False)
    (later / "calibration.json").write_bytes((run / "calibration.json").read_bytes())
    after = CliRunner().invoke(cli, [command, str(later)], catch_exceptions=False)
    assert before.exit_code == after.exit_code == 0
    assert after.stdout == before.stdout
    assert "uncalibrated" not in before.stderr
    assert "judge is uncalibrated: the model changed (simulated/one → simulated/two)" in after.stderr
    quiet = CliRunner().invoke(cli, ["--quiet", command, str(later)], catch_exceptions=False)
    assert quiet.stderr == ""


def test_check_takes_no_option_that_it_would_not_heed(run: Path) -> None:
    typed(run, "--resamples", 50)
    done = typed(run, "--check", run, "--by", "generator")
    assert done.exit_code == 2
    assert "--check calibrates nothing; combine it with --evaluator only" in done.stderr
