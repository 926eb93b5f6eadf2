"""The commands, as they are typed."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from metaeval import __version__
from metaeval.cli import main
from metaeval.cli.index import COMMANDS, GROUPS
from metaeval.engine.correlation import Correlation
from tests.tiny import FEW, write_study

SIMULATED = "SIMULATED DATA"


@pytest.fixture
def study(tiny: Path) -> Path:
    write_study(tiny.parent / "s.yaml", **{**FEW, "coefficients": ""})
    return Path("s.yaml")


def ok(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return what a command printed that did its work with no word on stderr but what is due."""
    code = main(arguments)
    out, err = capsys.readouterr()
    steps = {"score", "correlate", "run", "demo", "leaderboard"} & set(arguments) and "-h" not in arguments
    quiet = {"-q", "--quiet"} & set(arguments)
    assert code == 0
    assert err.startswith(SIMULATED) if steps and not quiet else err == ""
    assert err.count("\n") <= 1
    return out


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert ok(capsys, "--version") == f"metaeval, version {__version__}\n"
    text = ok(capsys, "--help")
    for command in ("demo", "run", "score", "correlate", "leaderboard", "data"):
        assert f"\n  {command} " in text
        assert ok(capsys, command, "-h").startswith(f"Usage: metaeval {command} ")


def test_run(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ok(capsys, "run", str(study), "--out", "out")
    assert "2 evaluators on 18 units: out/leaderboard.md" in out
    assert "Report: out/report.html" in out
    assert Path("out/run.json").exists()


def test_a_dry_run_writes_nothing(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(Path().rglob("*"))
    out = ok(capsys, "run", str(study), "--dry-run")
    for text in ("tiny: 18 units\n", "User()", "results/s", "Annotator('1')", "Nothing was written."):
        assert text in out
    assert json.loads(ok(capsys, "run", "s.yaml", "--dry-run", "--json"))["units"] == 18
    assert sorted(Path().rglob("*")) == before


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--quiet", "run", "s.yaml"], ["run", "s.yaml", "-q"]])
def test_quiet_says_nothing(study: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert ok(capsys, *arguments) == ""


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--json", "run", "s.yaml"], ["run", "--json", "s.yaml"]])
def test_json_is_one_object(study: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    found = json.loads(ok(capsys, *arguments))
    assert found["folder"] == "results/s"
    assert found["status"] == "done"


def test_the_demo_prints_its_table_and_where_the_report_lies(demo: Path) -> None:
    out = (demo / "printed.txt").read_text(encoding="utf-8")
    assert "SIMULATED DATA" in out
    assert out.startswith("Of 10 tools, ChrF agrees best with the users")
    assert "Reference-based\n" in out
    assert out.rstrip().endswith("Report: results/demo/report.html")
    assert (demo / "results" / "demo" / "report.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_score_then_correlate(
    tiny: Path, capsys: pytest.CaptureFixture[str], study: Path, suffix: str
) -> None:
    file = f"scores{suffix}"
    out = ok(capsys, "score", "tiny", "ChrF()", "Annotator('1')", "--out", file)
    assert out == f"72 scores of 2 evaluators: {file}\n"
    printed = ok(capsys, "correlate", "tiny", file, "--missing-truth", "3", "--missing-score", "0")
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert tuple(rows[0]) == Correlation._fields
    write_study(Path("t.yaml"), missing="{truth: 3, score: 0}", evaluators="[ChrF(), \"Annotator('1')\"]")
    ok(capsys, "run", "t.yaml", "--out", "out")
    # The steps alone give the numbers of the whole, to the last digit.
    assert printed == Path("out/correlations.csv").read_text(encoding="utf-8")


def test_correlate_options(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ok(capsys, "score", "tiny", "Length()", "--out", "s.csv")
    options = ["--levels", "item, generator", "--coefficients", "kendall", "--undefined-groups", "zero"]
    options += ["--units", "own", "--truth", "Annotator('2')"]
    found = json.loads(ok(capsys, "correlate", "tiny", "s.csv", *options, "--json"))
    assert {(c["level"], c["coefficient"]) for c in found["correlations"]} == {
        ("item", "kendall"),
        ("generator", "kendall"),
    }
    assert found["policy"]["undefined_groups"] == "zero"
    assert found["policy"]["units"] == "own"
    assert (
        ok(capsys, "correlate", "tiny", "s.csv", *options, "--out", "c.parquet")
        == "6 correlations: c.parquet\n"
    )
    assert len(pd.read_parquet("c.parquet")) == 6


def test_score_tells_statuses_as_json(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(ok(capsys, "score", "tiny", "User()", "--out", "s.csv", "--json"))
    assert found == {"out": "s.csv", "rows": 36, "evaluators": {"User()": {"ok": 35, "missing": 1}}}


def test_leaderboard(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ok(capsys, "run", str(study))
    for suffix in ("md", "csv", "tex"):
        text = Path(f"results/s/leaderboard.{suffix}").read_text(encoding="utf-8")
        assert ok(capsys, "leaderboard", "results/s", "--format", suffix) == text
    assert ok(capsys, "leaderboard", "results/s", "--format", "html") in Path(
        "results/s/report.html"
    ).read_text(encoding="utf-8")
    kendall = ok(capsys, "leaderboard", "results/s", "--coefficient", "kendall")
    assert "Kendall" in kendall
    assert "Pearson" not in kendall.split("\n\n", 1)[1]  # the answer is of the column that orders the run
    found = json.loads(ok(capsys, "leaderboard", "results/s", "--json"))
    assert found["simulated"] is True
    assert {"evaluator", "estimate", "mark", "printed"} <= set(found["values"][0])


@pytest.mark.slow
def test_a_reader_that_has_enough_is_no_error(study: Path) -> None:
    assert main(["run", str(study)]) == 0
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "metaeval", "leaderboard", "results/s"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr


def test_a_closed_output_is_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        assert main(["replies", "patterns"]) == 0
        sys.stdout.close()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "group", [[], ["data"], ["data", "import"], ["store"], ["golden"], ["prompts"], ["verdicts"]]
)
def test_summaries_in_the_help_are_whole(group: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    commands = ok(capsys, *group, "--help").split("--help  ")[1]
    assert "..." not in commands.replace("[NAME|FILE]...", "")
    assert max(map(len, commands.splitlines())) <= 80


def test_the_help_has_groups_with_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    told = ok(capsys, "--help")
    heads = re.findall(r"^(\w.*):$", told, re.MULTILINE)
    assert heads[1:] == [*GROUPS]
    assert set(re.findall(r"^  ([a-z][\w-]+)  ", told, re.MULTILINE)) >= {c for c in COMMANDS if " " not in c}


def test_json_is_a_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = ok(capsys, "prompts", "list", "--format", "json")
    assert printed == ok(capsys, "--json", "prompts", "list")
    assert ok(capsys, "prompts", "list", "--out", str(tmp_path / "p.json")).endswith("p.json\n")
    assert (tmp_path / "p.json").read_text(encoding="utf-8") == printed
    assert json.loads(printed)[0]["name"] == "multi-aspect"
