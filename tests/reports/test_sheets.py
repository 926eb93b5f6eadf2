"""Sheets in each format: the forms of numbers, intervals, escaping, notes, and several in one."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.simulation import REAL, Simulation
from metaeval.cli.messages import talk
from metaeval.cli.sheets import sheet_options, tell_sheets
from metaeval.engine.sheet import NOTHING, Column, Form, Sheet, decimals_of, value_text
from metaeval.reports.cells import cells
from metaeval.reports.sheets import SHEET_FORMATS, files, render
from tests.reports.markup import Markup

NASTY = "a|b_c*<i>&\\ $x$ #1 50% {y} ~^ `q` [z]"
FRAME = pd.DataFrame(
    {
        "evaluator": [NASTY, "b"],
        "r": [0.1516, math.nan],
        "low": [-0.1002, math.nan],
        "high": [0.2031, math.nan],
        "usd": [0.0012, 3.0],
        "p": [0.0001, 0.0491],
        "hidden": [1 / 3, 2 / 3],
    }
)
COLUMNS = (
    Column("evaluator", "Evaluator_1"),
    Column("r", "Estimate", "hundred", "low", "high"),
    Column("usd", "USD per text", "usd"),
    Column("p", "p", "p"),
)


def sheet(name: str = "tests", *, simulated: Simulation = REAL, frame: pd.DataFrame = FRAME) -> Sheet:
    notes = ("One & two.", "At least ≥ 80 % of A_1.")
    return Sheet(name, "Tests of <all>", frame, COLUMNS, notes, simulated)


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        ("x", "text", "x"),
        (True, "text", "yes"),
        (np.False_, "text", "no"),
        (None, "text", NOTHING),
        (math.nan, "count", NOTHING),
        ("first_position", "code", "first position"),
        (13.0, "rank", "13"),
        (9.5, "rank", "9.5"),
        (-1.0, "rank", "-1"),
        (1234.0, "count", "1,234"),
        (0, "count", "0"),
        (0.15164, "hundred", "15.16"),
        (-0.00001, "hundred", "0.00"),
        (np.float64(math.nan), "hundred", NOTHING),
        (0.1234, "share", "12.3 %"),
        (1, "share", "100.0 %"),
        (math.pi, "number", "3.142"),
        (-math.pi, "number", "-3.142"),
        (0.5, "number", "0.5000"),
        (999.96, "number", "1,000"),
        (123456.7, "number", "123,457"),
        (0.0, "number", "0"),
        (math.inf, "number", "∞"),
        (-math.inf, "number", "-∞"),
        (-0.318, "hundredths", "-0.32"),
        (0, "hundredths", "0.00"),
        (0.28634, "decimal", "0.2863"),
        (-0.0077, "decimal", "-0.0077"),
        (0, "decimal", "0.0000"),
        (-0.00001, "decimal", "0.0000"),
        (math.nan, "decimal", NOTHING),
        (0.0009, "p", "< 0.001"),
        (0.001, "p", "0.001"),
        (1.0, "p", "1.000"),
        (0.0012, "usd", "$0.0012"),
        (0.00001234567, "usd", "$0.00001235"),
        (0, "usd", "$0.00"),
        (1.5, "usd", "$1.50"),
        (-12.345, "usd", "-$12.35"),
        (45678.9, "usd", "$45,679"),
        (0.00008167, "seconds", "82 µs"),
        (0.0000004, "seconds", "0.4 µs"),
        (0.0099, "seconds", "9.9 ms"),
        (0.125, "seconds", "125 ms"),
        (0.99951, "seconds", "1.0 s"),
        (59.4, "seconds", "59 s"),
        (59.6, "seconds", "1.0 min"),
        (5400, "seconds", "1.5 h"),
        (36e6, "seconds", "10,000 h"),
        (0.0, "seconds", "0 s"),
        (-0.003, "seconds", "-3.0 ms"),
        (math.inf, "seconds", "∞ s"),
        (math.nan, "seconds", NOTHING),
    ],
)
def test_forms(value: object, form: Form, text: str) -> None:
    assert value_text(value, form) == text


@given(
    value=st.floats(-1e6, 1e6),
    below=st.floats(1e-3, 1e5),
    above=st.floats(1e-3, 1e5),
)
def test_a_number_has_the_digits_that_its_interval_deserves(value: float, below: float, above: float) -> None:
    frame = pd.DataFrame({"x": [value], "low": [value - below], "high": [value + above]})
    printed = cells(Sheet("s", "S", frame, (Column("x", "x", "number", "low", "high"),)))[0][0]
    texts = [t.replace(",", "") for t in re.split(r" \[|, |\]", printed) if t]
    decimals = {len(t.partition(".")[2]) for t in texts}
    assert len(decimals) == 1
    unit = 10.0 ** -decimals.pop()
    coarser = min(200 * unit / (below + above), 1000 * unit / abs(value) if value else math.inf)
    assert 0.0999 < coarser < 1.001 or unit == 1
    for text, exact in zip(texts, frame.loc[0], strict=True):
        assert abs(float(text) - exact) <= unit / 2 * (1 + 1e-6)
    assert "-0" not in {t.rstrip("0").rstrip(".") for t in texts}


@given(
    form=st.sampled_from(["hundredths", "decimal", "hundred"]), end=st.floats(2e-6, 2), more=st.floats(0, 2)
)
def test_an_interval_without_zero_is_printed_without_it(form: Form, end: float, more: float) -> None:
    for ends in ((end, end + more), (-end - more, -end)):
        decimals = decimals_of(form, sum(ends) / 2, *ends)
        assert all(re.search("[1-9]", value_text(x, form, decimals)) for x in ends)
    assert decimals_of(form, 0.5, 0.0, 1.0) is None


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ((-5.867e-05, -0.002134, 0.0019), "-0.00006 [-0.00213, 0.00190]"),
        ((2.6111, 2.5873, 2.6351), "2.611 [2.587, 2.635]"),
        ((10.127, 8.818, 11.491), "10.13 [8.82, 11.49]"),
        ((2e-9, 1e-9, 3e-9), "2.000e-09 [1.000e-09, 3.000e-09]"),
        ((0.5, 0.5, 0.5), "0.5000 [0.5000, 0.5000]"),
        ((0.0, 0.0, 0.0), "0 [0, 0]"),
        ((math.nan, 0.1, 0.3), "— [0.1000, 0.3000]"),
        ((0.25, 0.1, math.inf), "0.2500 [0.1000, ∞]"),
    ],
)
def test_numbers_with_intervals(row: tuple[float, ...], text: str) -> None:
    frame = pd.DataFrame([row], columns=["x", "low", "high"])
    assert cells(Sheet("s", "S", frame, (Column("x", "x", "number", "low", "high"),))) == [[text]]


def test_markdown() -> None:
    text = SHEET_FORMATS["md"](sheet())
    lines = text.splitlines()
    assert lines[0] == "## Tests of &lt;all&gt;"
    assert lines[2] == r"| Evaluator\_1 | Estimate | USD per text | p |"
    assert lines[3] == "| :--- | ---: | ---: | ---: |"
    assert lines[4].endswith(r" | 15.16 [-10.02, 20.31] | \$0.0012 | < 0.001 |")
    assert lines[5] == r"| b | — | \$3.00 | 0.049 |"
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines[2:6]} == {5}
    assert lines[-1] == r"One & two. At least ≥ 80 % of A\_1."
    assert "hidden" not in text


def test_csv_has_every_digit_and_column() -> None:
    text = SHEET_FORMATS["csv"](sheet())
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == list(FRAME)
    assert [float(r["hidden"]) for r in rows] == [1 / 3, 2 / 3]
    assert rows[0]["evaluator"] == NASTY
    assert rows[1]["r"] == ""


def test_latex() -> None:
    text = SHEET_FORMATS["tex"](sheet())
    assert r"\begin{tabular}{@{}lrrr@{}}" in text
    assert r"15.16 {[}$-$10.02, 20.31{]} & \$0.0012 & \textless{} 0.001 \\" in text
    assert r"b & --- & \$3.00 & 0.049 \\" in text
    assert r"\caption{Tests of \textless{}all\textgreater{}.}" in text
    assert r"\parbox{\linewidth}{One \& two. At least $\geq$ 80~\% of A\_1.}" in text
    assert r"\label{tab:tests}" in text
    bare = re.sub(r"\\[\\{}]", "", text)
    assert bare.count("{") == bare.count("}")
    assert "≥" not in text
    assert r"\usepackage{booktabs" in text.splitlines()[0]
    assert render([sheet("a"), sheet("b")], "tex").count("% Needs") == 1


@pytest.mark.parametrize(("rows", "tables"), [(0, 1), (45, 1), (60, 2)])
def test_a_long_latex_table_goes_on(rows: int, tables: int) -> None:
    frame = pd.concat([FRAME.iloc[[1]]] * rows) if rows else FRAME.iloc[:0]
    text = SHEET_FORMATS["tex"](sheet(frame=frame))
    assert text.count(r"\begin{table*}") == text.count(r"\bottomrule") == tables
    assert text.count("(continued)") == tables - 1
    assert text.count(r"\label") == 1


def test_html() -> None:
    text = SHEET_FORMATS["html"](sheet())
    found = Markup(text)
    assert found.open == []
    assert found.scopes == ["col"] * 4 + ["row"] * 2
    for shown in (NASTY, "Tests of <all>", "15.16 [-10.02, 20.31]", "< 0.001", "—"):
        assert shown in found.text
    assert "<caption>Tests of &lt;all&gt;</caption>" in text


def test_every_format_says_that_data_are_simulated() -> None:
    for suffix, make in SHEET_FORMATS.items():
        assert "simulated" not in make(sheet()).lower(), suffix
        loud = "simulated\n" if suffix == "csv" else Simulation(True).sentence
        made = make(sheet(simulated=Simulation(True)))
        assert loud in (" ".join(made.split()) if suffix == "txt" else made), suffix
    assert "**SIMULATED DATA.**" in SHEET_FORMATS["md"](sheet(simulated=Simulation(True)))
    assert r"\textbf{SIMULATED DATA.}" in SHEET_FORMATS["tex"](sheet(simulated=Simulation(True)))


def test_files() -> None:
    two = [sheet("a"), sheet("b")]
    assert list(files(two, Path("x/t.csv"))) == [Path("x/t-a.csv"), Path("x/t-b.csv")]
    assert list(files(two[:1], Path("t.csv"))) == [Path("t.csv")]
    assert files(two, Path("t.md")) == {Path("t.md"): render(two, "md")}
    page = files(two, Path("t.html"))[Path("t.html")]
    assert Markup(page).open == []
    assert page.startswith("<!doctype html>")
    assert page.count("<caption>") == 2
    assert "src=" not in page


@click.command()
@sheet_options
@talk
def command(suffix: str, out: Path | None) -> None:
    """Tell two sheets."""
    tell_sheets([sheet("a", simulated=Simulation(True)), sheet("b")], suffix, out)


def test_written(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, ["--out", str(tmp_path / "t.csv")])
    assert done.stdout == f"{tmp_path / 't-a.csv'}\n{tmp_path / 't-b.csv'}\n"
    assert (tmp_path / "t-b.csv").read_text(encoding="utf-8") == SHEET_FORMATS["csv"](sheet("b"))
    assert CliRunner().invoke(command, ["-q", "--out", str(tmp_path / "t.md")]).output == ""
    assert (tmp_path / "t.md").is_file()


@pytest.mark.parametrize(
    ("name", "told"), [("t.ms", "did you mean '.md'?"), ("t", "its suffix may be"), (".", "")]
)
def test_what_cannot_be_written_is_said_first(tmp_path: Path, name: str, told: str) -> None:
    done = CliRunner().invoke(command, ["--out", str(tmp_path / name)])
    assert done.exit_code == 2
    assert told in done.stderr
    assert done.stdout == ""
