"""The LaTeX that is written, set by a real LaTeX; set METAEVAL_LOOK to a folder to keep the pages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.base.records import Kind
from metaeval.base.simulation import Simulation
from metaeval.engine.sheet import Column, Sheet
from metaeval.reports import latex
from metaeval.reports.sheets import render
from tests.engine.order.test_standings import correlations
from tests.tiny import write_study

PDFLATEX = shutil.which("pdflatex")
needs_latex = pytest.mark.skipif(PDFLATEX is None, reason="no LaTeX: pdflatex is not on the PATH")

PAPER = r"""\documentclass[%s]{%s}
\usepackage[T1]{fontenc}
\usepackage{booktabs,graphicx,textcomp}
\begin{document}
\section{Results}
Tables~%s.
\input{%s}
\end{document}
"""
NASTY = r"a|b_c*<i>&\ $x$ #1 50% {y} ~^ `q` [z] Mean(Annotator('1'), \"x\") — – × ρ τ →"


def there(*files: str) -> bool:
    """Say whether LaTeX has the files of a class."""
    return (
        PDFLATEX is not None
        and not subprocess.run(["kpsewhich", *files], stdout=subprocess.DEVNULL, check=False).returncode
    )


def set_in_type(folder: Path, name: str, options: str, of: str = "article") -> tuple[str, str]:
    """Set a file of tables in a paper as its authors would; return LaTeX's log and the words on the pages."""
    labels = re.findall(r"\\label\{(.*?)\}", (folder / name).read_text(encoding="utf-8"))
    refs = ", ".join(rf"\ref{{{label}}}" for label in labels)
    paper = f"{Path(name).stem}-paper{len(options)}"
    (folder / f"{paper}.tex").write_text(PAPER % (options, of, refs, name), encoding="utf-8")
    for _ in range(2):  # the second time with the numbers of the tables
        done = subprocess.run(
            [str(PDFLATEX), "-interaction=nonstopmode", "-halt-on-error", f"{paper}.tex"],
            cwd=folder,
            capture_output=True,
            timeout=120,
            check=False,
        )
        log = (folder / f"{paper}.log").read_text(encoding="utf-8", errors="replace")
        assert done.returncode == 0, log[-3000:]
    kept = os.environ.get("METAEVAL_LOOK")
    if kept:
        shutil.copy(folder / f"{paper}.pdf", kept)
    if shutil.which("pdftotext") is None:
        return log, ""
    words = subprocess.run(
        ["pdftotext", "-layout", f"{paper}.pdf", "-"], cwd=folder, capture_output=True, text=True, check=True
    )
    return log, words.stdout


@pytest.mark.slow
@needs_latex
@pytest.mark.parametrize("options", ["a4paper", "a4paper,twocolumn"])
def test_the_leaderboard_of_a_run_compiles_as_it_is(tiny: Path, tmp_path: Path, options: str) -> None:
    study = write_study(
        Path("s.yaml"),
        dataset=str(tiny),
        evaluators='["Random(seed=0)", "BLEU(n=4)", "Annotator(\'1\')", "Mean(Annotator(\'1\'), Length())"]',
    )
    run = me.run(study, tmp_path / "run")
    log, words = set_in_type(run.folder, "leaderboard.tex", options)
    assert "Warning: Reference" not in log
    assert "Overfull" not in log
    assert "Missing character" not in log
    if words:
        assert "Evaluators (mean of 2)" in words
        assert re.search("Pearson.s r", words)  # some fonts do not say what their apostrophe is


CLASSES = {
    "article": ("twocolumn", ()),
    "IEEEtran": ("conference", ("IEEEtran.cls", "ptmr7t.tfm")),
    "acmart": ("sigconf,nonacm", ("acmart.cls", "xstring.sty", "totpages.sty", "libertine.sty")),
}


@needs_latex
@pytest.mark.parametrize("width", ["text", "column"])
@pytest.mark.parametrize("of", CLASSES)
def test_a_board_is_one_table_of_a_paper(tmp_path: Path, of: str, width: str) -> None:
    options, files = CLASSES[of]
    if files and not there(*files):
        pytest.skip(f"LaTeX has no {of} with its fonts: Debian's texlive-publishers and what it recommends")
    aspects = ["persuasiveness", "transparency", "accuracy", "satisfaction", "average"]
    estimates = {f"Metric-{i}": {a: [0.25 + i / 100, -0.3, 0.4444] for a in aspects} for i in range(9)}
    kinds = dict.fromkeys(["Metric-0", "Metric-1"], Kind.BASELINE)
    levels = ("dataset", "user", "pair")
    text = me.leaderboard(correlations(estimates, kinds, levels=levels)).to_latex(width)
    _, _, board = text.split(r"\begin{table")
    assert board.startswith("*" if width == "text" else "}")
    assert board.count(r"\multicolumn{3}{c}{accuracy}") == board.count(r"\textit{Baselines}") / board.count(
        r"\toprule"
    )
    assert " D & U & P" in board
    assert r"\cmidrule(lr){2-4} \cmidrule(lr){5-7}" in board
    assert r"\textbf{33.00} & " in board
    assert r"\underline{32.00} & " in board
    assert "dataset (D) / user (U) / pair (P) level" in board
    if width == "text":
        assert board.count(r"\toprule") == 1
        assert "{@{}l" + "r" * 15 + "@{}}" in board
    (tmp_path / "board.tex").write_text(text, encoding="utf-8")
    log, words = set_in_type(tmp_path, "board.tex", options, of)
    for complaint in ("Overfull", "Float too large", "Missing character", "Warning: Reference"):
        assert complaint not in log
    if words:
        assert re.search(r"Metric-8 +33.00 +.30.00 +44.44", words)


def test_what_is_no_width_is_refused() -> None:
    with pytest.raises(MetaevalError, match="a length such as 120mm, not 'wide'"):
        me.leaderboard(correlations({"a": {"x": [0.1, 0.2]}})).to_latex("wide")


@pytest.mark.slow
@needs_latex
@pytest.mark.parametrize("options", ["a4paper", "letterpaper,12pt", "a4paper,twocolumn"])
def test_a_wide_board_is_split_in_readable_type(tmp_path: Path, options: str) -> None:
    judges = [f"model {i}, personalized" for i in range(12)]
    panel = "mean of three models"
    aspects = ["persuasiveness", "transparency", "accuracy", "satisfaction", "average"]
    estimates = {j: {a: [0.2531, -0.3, 0.4444] for a in aspects} for j in [*judges, panel]}
    board = me.leaderboard(
        correlations(
            estimates,
            dict.fromkeys(judges, Kind.JUDGE),
            levels=("dataset", "user", "pair"),
            coefficients=("pearson", "spearman", "kendall"),
        )
    )
    text = board.to_latex()
    assert text.count(r"\begin{table*}") == 4  # the ranking, and one float for each coefficient
    assert set(re.findall(r"\\fontsize\{(\d+)\}", text)) <= {"7", "8"}
    (tmp_path / "board.tex").write_text(text, encoding="utf-8")
    log, words = set_in_type(tmp_path, "board.tex", options)
    for complaint in ("Overfull", "Float too large", "multiply defined", "Warning: Reference"):
        assert complaint not in log
    for aspect in aspects if words else ():
        assert words.count(aspect) >= 3


@needs_latex
def test_whatever_is_in_a_name_compiles(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"who": [NASTY, "x" * 200], "r": [0.5, np.nan], "low": [0.1, np.nan], "high": [0.9, np.nan]}
    )
    columns = (Column("who", NASTY), Column("r", "r", "hundred", "low", "high"))
    every = "≥ ≤ ≈ ± − · ² √ ∞ … α β κ λ σ"
    sheets = [
        Sheet(
            "nasty",
            "What is in a name",
            frame,
            columns,
            (NASTY, every, "The judge's own."),
            simulated=Simulation(True),
        ),
        Sheet("long", "Goes on", pd.concat([frame[["r", "low", "high"]]] * 60), columns[1:]),
    ]
    (tmp_path / "sheets.tex").write_text(render(sheets, "tex"), encoding="utf-8")
    log, words = set_in_type(tmp_path, "sheets.tex", "a4paper")
    assert "Overfull" not in log
    if words:
        assert "SIMULATED DATA." in words
        assert "a|b_c*<i>&\\ $x$ #1 50% {y} ~^ `q` [z]" in words
        assert re.search("The judge.s own", words)
        assert words.count("Table 2: Goes on") == 3


@needs_latex
def test_more_tables_than_latex_keeps_waiting_compile(tmp_path: Path) -> None:
    sheet = Sheet("r", "Of many", pd.DataFrame({"r": np.zeros(45 * 60)}), (Column("r", "r", "hundred"),))
    text = render([sheet], "tex")
    floats = text.count(r"\begin{table*}")
    assert floats > 52  # so many can wait
    (tmp_path / "many.tex").write_text(text, encoding="utf-8")
    _, words = set_in_type(tmp_path, "many.tex", "a4paper")
    if words:
        assert words.count("Table 1: Of many") == floats


def test_no_two_tables_of_a_paper_have_one_label() -> None:
    runs = ["first run", "zweiter_Lauf_ü", "研究", "評価"]
    sheets = ["leaderboard-pearson", "tests", "tests", "power-clear"]
    labels = [label for run in runs for label in latex.labels(run, sheets)]
    assert len(set(labels)) == len(labels) == 16
    assert all(re.fullmatch(r"[A-Za-z0-9.:-]+", label) for label in labels)
    assert labels[:3] == ["first-run-leaderboard-pearson", "first-run-tests", "first-run-tests-3"]
