"""Every command that prints a table prints it in each format, and writes it with ``--out``."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from metaeval.cli import cli, main
from metaeval.reports.leaderboards import FORMATS
from tests.base.test_progress import lines_of
from tests.conftest import ROOT
from tests.tiny import write_study


def leaves(command: click.Command, *path: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from leaves(command.get_command(context, name), *path, name)
    else:
        yield " ".join(path), command


def options(command: click.Command) -> dict[str, click.Parameter]:
    return {name: p for p in command.params for name in p.opts}


COMMANDS = dict(leaves(cli))
TABLES = [
    name
    for name, command in COMMANDS.items()
    if isinstance(kind := getattr(options(command).get("--format"), "type", None), click.Choice)
    and "md" in kind.choices
]


@pytest.mark.parametrize("name", TABLES)
def test_who_prints_a_table_writes_it_too(name: str) -> None:
    found = options(COMMANDS[name])
    assert found["--format"].type.choices == ("txt", "md", "csv", "tex", "html", "json", "latex")
    assert "--out" in found


def test_the_commands_of_a_finished_run_keep_the_promise() -> None:
    text = (ROOT / "docs" / "how-to" / "publish.md").read_text(encoding="utf-8")
    promised = text[text.index("## What a finished run answers") :].split("\n## ")[0]
    assert (
        "All but `figures` and `view` print tables (`--format txt|md|csv|tex|html|json`, `--out FILE`)"
        in promised
    )
    named = set(re.findall(r"^ +\$ metaeval (\w+) results", promised, re.MULTILINE))
    assert len(named) > 7
    assert named - {"figures", "view"} <= set(TABLES)


@pytest.mark.slow
def test_a_leaderboard_is_written(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_study(tiny.parent / "s.yaml", bootstrap="null", tests="null", details="false")
    assert main(["-q", "run", "s.yaml", "--out", "out"]) == 0
    for suffix in FORMATS:
        assert main(["-q", "leaderboard", "out", "--format", suffix]) == 0
        printed = capsys.readouterr().out
        assert main(["leaderboard", "out", "--out", f"board.{suffix}"]) == 0
        assert capsys.readouterr().out == f"board.{suffix}\n"
        written = Path(f"board.{suffix}").read_text(encoding="utf-8")
        assert printed in written
        assert (suffix == "html") is written.startswith("<!doctype html>")
    assert main(["leaderboard", "out", "--out", "board.doc"]) == 2
    assert "its suffix may be .txt, .md, .csv, .tex, .html, .json" in capsys.readouterr().err


@pytest.mark.slow
def test_what_is_simulated_is_said_once_on_a_terminal_and_wrapped_at_words(tiny: Path) -> None:
    judge = "[\"Judge('simulated/any')\"]"
    write_study(tiny.parent / "s.yaml", bootstrap="null", tests="null", details="false", evaluators=judge)
    assert main(["-q", "run", "s.yaml", "--out", "out"]) == 0
    command = [sys.executable, "-m", "metaeval", "leaderboard", "out"]
    shown = lines_of(command)
    assert len([line for line in shown if "SIMULATED DATA" in line]) == 1
    elsewhere = lines_of([*command, "--format", "csv"])
    assert elsewhere[0].startswith("SIMULATED DATA AND JUDGES.")
    assert elsewhere[1].startswith("about people.")
