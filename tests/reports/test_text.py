"""Tables as a terminal shows them: aligned, within its width, every name whole."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from rich.cells import cell_len

from metaeval.cli import main
from metaeval.engine.sheet import Column, Sheet
from metaeval.reports.cells import coloured, fitted
from metaeval.reports.leaderboards import leaderboard
from metaeval.reports.sheets import render
from tests.engine.order.test_standings import correlations

JUDGES = [f"Judge('provider/a-model-with-a-long-name-{i}')" for i in range(3)]


@pytest.fixture
def _fitted() -> Iterator[None]:
    before = fitted.set(True)
    yield
    fitted.reset(before)


@pytest.mark.usefixtures("_fitted")
def test_a_narrow_terminal_keeps_the_verdict_beside_its_number() -> None:
    names = [f"number {i}" for i in range(9)]
    frame = pd.DataFrame(
        {"judge": JUDGES, "n": 10, "r": 0.5, "low": 0.4, "high": 0.6, "verdict": "good enough"}
    )
    frame = frame.assign(**dict.fromkeys(names, 1.5), empty=float("nan"))
    columns = (
        Column("judge", "Judge"),
        Column("n", "Units", "count"),
        Column("empty", "Empty", "number"),
        Column("r", "r", "decimal", "low", "high"),
        *(Column(name, name, "number") for name in names),
        Column("verdict", "Verdict", keep=True),
    )
    text = render([Sheet("s", "Which judge?", frame, columns)], "txt")
    rows = [line.split("  ") for line in text.splitlines() if "good enough" in line]
    assert len(rows) == 3
    assert all("0.5000 [0.4000, 0.6000]" in row for row in rows)
    assert max(map(cell_len, text.splitlines())) <= 80
    assert text.count("Verdict") == 1
    assert text.rstrip().endswith("--wide shows all.")
    fitted.set(False)
    text = render([Sheet("s", "Which judge?", frame, columns)], "txt")
    assert text.count("Judge  ") > 1
    assert "--wide" not in text


@pytest.mark.usefixtures("_fitted")
def test_a_narrow_terminal_leaves_out_further_levels_before_aspects() -> None:
    aspects = [f"aspect-{i}" for i in range(4)]
    values = {f"{level} {a}": 12.25 for a in aspects for level in ("dataset", "user", "pair")}
    frame = pd.DataFrame({"judge": JUDGES, **values})
    levels = [Column(f"dataset {a}", a, "number", beside=(f"user {a}", f"pair {a}")) for a in aspects]
    text = render([Sheet("s", "Which judge?", frame, (Column("judge", "Judge"), *levels))], "txt")
    assert all(a in text for a in aspects)
    assert "No room for further values of a cell: --wide shows all." in text


@pytest.mark.usefixtures("_fitted")
def test_a_terminal_is_shown_some_rows_of_each_head_and_the_names_of_further_tables() -> None:
    aspects = [f"aspect-{i}" for i in range(4)]
    names = [f"evaluator {i} with a name" for i in range(30)]
    frame = pd.DataFrame(
        [{"aspect": a, "who": n, "r": 0.5, "low": 0.4, "high": 0.6} for a in aspects for n in names]
    )
    frame = frame.assign(verdict="neither good nor bad", measure="quadratic kappa")
    columns = (
        Column("who", "Judge"),
        Column("aspect", "Aspect"),
        Column("r", "Agreement", "decimal", "low", "high", keep=True),
        Column("verdict", "Verdict", keep=True),
        Column("measure", "Measure", keep=True),
    )
    sheets = [Sheet(name, f"Table {name}", frame, columns, ("A note.",)) for name in "abc"]
    lines = render(sheets, "txt").splitlines()
    assert len(lines) < 56
    assert max(map(cell_len, lines)) <= 80
    assert lines[2].split() == ["Judge", "Agreement", "Verdict", "Measure"]
    heads = [i for i, line in enumerate(lines) if line in aspects]
    assert len(heads) == 4
    assert len({b - a for a, b in pairwise(heads)}) == 1, "as many rows of each"
    assert any(
        line.startswith("No room for ") and line.endswith("of 120 rows: --wide shows all.") for line in lines
    )
    assert lines[-1] == "Further tables: Table b; Table c. --wide shows all."
    fitted.set(False)
    assert "--wide" not in render(sheets, "txt")


def test_colours_are_those_of_a_terminal_and_take_no_room() -> None:
    board = leaderboard(correlations({"a": {"x": [0.2, 0.3]}, "b": {"x": [0.3, 0.2]}}))
    plain = board.to_text()
    before = coloured.set(True)
    shown = board.to_text()
    coloured.reset(before)
    assert "\x1b" not in plain
    assert "\x1b[1;32m30.00*\x1b[0m" in shown
    assert "\x1b[4m20.00+\x1b[0m" in shown
    assert re.sub(r"\x1b\[[\d;]*m", "", shown) == plain


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize("without", ["", "1"])
def test_calibrate_is_a_screen_or_two(demo: Path, without: str) -> None:
    import pty

    inner, outer = pty.openpty()
    variables = {**os.environ, "COLUMNS": "80", "TERM": "xterm", "NO_COLOR": without}
    command = [sys.executable, "-m", "metaeval", "-q", "calibrate", str(demo / "results" / "demo")]
    with subprocess.Popen(command, stdout=outer, env=variables) as process:
        os.close(outer)
        text = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while piece := os.read(inner, 65536):
                text += piece
    os.close(inner)
    assert process.returncode == 0
    lines = text.decode().splitlines()
    assert len(lines) < 60
    assert any("Verdict" in line and "Measure" in line for line in lines)
    assert (b"\x1b[" in text) == (not without)


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_numbers_and_their_intervals_are_aligned() -> None:
    frame = pd.DataFrame(
        {
            "who": ["a", "字b", "c"],
            "r": [0.3058, 0.0671, None],
            "low": [0.2, -0.01, None],
            "high": [0.4, 0.1, None],
        }
    )
    columns = (Column("who", "evaluator"), Column("r", "pearson", "hundred", "low", "high"))
    assert render([Sheet("s", "Ranking", frame, columns, ("One note.",))], "txt").splitlines() == [
        "Ranking",
        "",
        "evaluator               pearson",
        "---------  --------------------",
        "a          30.58 [20.00, 40.00]",
        "字b         6.71 [-1.00, 10.00]",
        "c              —",
        "",
        "One note.",
    ]


def test_a_board_of_many_columns_fits_and_names_every_row_in_every_part() -> None:
    aspects = ["persuasiveness", "transparency", "accuracy", "satisfaction", "average"]
    estimates = {j: {a: [0.2, 0.3] for a in aspects} for j in [*JUDGES, "Length()"]}
    text = leaderboard(correlations(estimates)).to_text()
    assert max(map(cell_len, text.splitlines())) <= 80
    joined = "".join(text.split())
    assert all(a in joined for a in aspects)
    board = text[text.index("Pearson's r") :]
    parts = board.count("Evaluator  ")
    assert parts > 1
    for end in ("0')", "1')", "2')", "Length()"):  # what tells names apart is in every part
        assert board.count(end) == parts
    assert "The best value has *, the second has +" in " ".join(text.split())


def test_the_demo_fits_the_terminal(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(demo / "results" / "demo")
    printed = (demo / "printed.txt").read_text(encoding="utf-8")
    assert main(["-q", "leaderboard", run, "--coefficient", "pearson"]) == 0
    assert capsys.readouterr().out in printed
    assert max(map(cell_len, printed.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["-q", "leaderboard", run, "--coefficient", "pearson"]) == 0
    wide = capsys.readouterr().out
    assert 80 < max(map(cell_len, wide.splitlines())) <= 200
    heads = [next(x for x in text.splitlines() if x.startswith("rank")) for text in (printed, wide)]
    assert heads[0].split() == ["rank", "range", "evaluator", "pearson", "best", "p", "Random"]
    assert heads[1].split()[-4:] == ["unread", "unit", "unit", "unit"]
