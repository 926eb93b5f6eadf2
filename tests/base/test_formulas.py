"""Names that a spreadsheet program would run: safe in every CSV result, and read back as they were."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.formulas import read_csv, safe, to_csv
from metaeval.cli import main
from metaeval.kinds.explanations.data.loading import save
from metaeval.study.results import read_back
from tests.tiny import write_study, write_tiny
from tests.trust.labelling.test_spreadsheet import TEXTS

EVIL = "=cmd|'/c calc'!A0"
NUMBER = re.compile(r"[+-]?[\d.,]+(e[+-]?\d+)?( %)?")


def cells_of(file: Path) -> list[str]:
    with file.open(encoding="utf-8", newline="") as opened:
        return [cell for row in csv.reader(opened) for cell in row]


def is_safe(cell: str) -> bool:
    return not cell.strip().startswith(("=", "+", "-", "@")) or NUMBER.fullmatch(cell) is not None


@given(st.lists(st.tuples(TEXTS, st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=5))
def test_results_come_back(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, float]]) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    # A zero character ends a cell in any reader of CSV.
    made = pd.DataFrame([(t.replace("\0", ""), x) for t, x in rows], columns=["=name", "number"])
    to_csv(made, path)
    assert all(map(is_safe, cells_of(path)))
    found = read_csv(path, ["number"])
    assert found.to_dict("list") == made.to_dict("list")


@pytest.mark.parametrize("number", ["-1.5", "-1,234.50", "+3", "-2e-05", "-12.3 %", -1.5, -2, None])
def test_numbers_stay_numbers(number: object) -> None:
    assert safe(number) == number


@pytest.mark.parametrize("text", [EVIL, "-2+3", "@SUM(A1)", "\t=1", "\r=1", "+1+cmd|x", " =1", "-", "＝1"])
def test_text_is_no_formula(text: str) -> None:
    assert safe(text) == f"'{text}"


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data set in which an evaluator, an aspect, an item and a generator are formulas."""
    monkeypatch.chdir(tmp_path)
    folder = write_tiny(tmp_path / "tiny")
    for path in folder.iterdir():
        text = path.read_text(encoding="utf-8").replace("Judge & Co_1", EVIL)
        text = re.sub(r"\bi1\b", "=1+1", text)
        text = re.sub(r"\bclear\b(?=[:,])", "@clear", text).replace("\n  @clear:", '\n  "@clear":')
        path.write_text(re.sub(r"none\|such", "-HYPERLINK(1)", text), encoding="utf-8")
    write_study(
        tmp_path / "s.yaml",
        evaluators=json.dumps([f'Recorded("{EVIL}")', "Recorded('S* star')", "Annotator('1')"]),
        levels="[dataset, user, generator]",
        bootstrap="{resamples: 50}",
        tests="{permutations: 99}",
    )
    assert main(["-q", "run", "s.yaml", "--out", "out"]) == 0
    return tmp_path


@pytest.mark.slow
def test_every_result_of_a_run(evil: Path) -> None:
    for command in ("leaderboard", "details", "generators", "compare"):
        options = ["--resamples", "20"] if command == "generators" else []
        assert main(["-q", command, "out", *options, "--out", f"tables/{command}.csv"]) == 0
    name = f'Recorded("{EVIL}")'
    for evaluators in ([name, "Annotator('1')"], ["Length()"]):
        assert main(["-q", "score", "tiny", *evaluators, "--out", "tables/scores.csv"]) == 0
    assert main(["-q", "score", "tiny", name, "--out", "tables/scores.csv"]) == 0
    assert main(["-q", "correlate", "tiny", "tables/scores.csv", "--out", "tables/c.csv"]) == 0
    files = [*Path("out").glob("*.csv"), *Path("tables").glob("*.csv")]
    assert len(files) > 9
    for file in files:
        cells = cells_of(file)
        assert cells
        assert all(map(is_safe, cells)), file
    assert "'@clear" in Path("out/correlations.csv").read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_is_read_back_is_what_was_written(evil: Path) -> None:
    assert "@clear" in set(read_back("out").correlations.frame["aspect"])
    assert main(["-q", "score", "tiny", "S* star".join(["Recorded('", "')"]), "--out", "s.csv"]) == 0
    assert main(["-q", "correlate", "tiny", "s.csv", "--out", "c.csv"]) == 0
    assert set(read_csv("c.csv")["aspect"]) == {"@clear", "fitting", "average"}
    assert main(["-q", "data", "add-scores", "tiny", "s.csv", "--from", "table", "--out", "more"]) == 0
    added = me.load("more").scores
    assert added is not None
    assert "=1+1" in set(added["item_id"])


@pytest.mark.slow
def test_data_sets_are_exact(evil: Path) -> None:
    data = me.load("tiny")
    save(data, "copy", "csv")
    assert me.load("copy").fingerprint == data.fingerprint
    assert ",=1+1," in Path("copy/explanations.csv").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_baseline_comes_back(evil: Path) -> None:
    named = ["--evaluator", "Annotator('1')", "--max-drop", "0.5"]
    assert main(["-q", "gate", "out", *named, "--min", "fitting=1", "--write-baseline", "base.json"]) == 0
    (units,) = Path().glob("base*.csv")
    assert all(map(is_safe, cells_of(units)))
    assert main(["-q", "gate", "out", "--evaluator", "Annotator('1')", "--baseline", "base.json"]) in (0, 4)
