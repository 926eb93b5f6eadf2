"""The same typed table in each format: marks, escaping, captions."""

from __future__ import annotations

import csv
import io
import math
import re

import pytest

from metaeval.base.records import Kind
from metaeval.reports.leaderboards import Leaderboard, leaderboard
from metaeval.reports.sheets import markdown
from tests.engine.order.test_standings import correlations
from tests.reports.markup import Markup

NASTY = "a|b_c*<i>&\\ $x$ #1 50% {y} ~^ `q` [z] 注释"


@pytest.fixture
def board() -> Leaderboard:
    estimates = {
        "Random(seed=0)": {"x": [-0.01, math.nan], "y_1": [0.0, 0.1], "average": [-0.005, math.nan]},
        NASTY: {"x": [0.2, 0.3], "y_1": [0.1, 0.1], "average": [0.15, 0.2]},
        "Annotator('1')": {"x": [0.3, 0.2], "y_1": [0.3, 0.05], "average": [0.3, 0.125]},
    }
    kinds = {"Random(seed=0)": Kind.BASELINE, NASTY: Kind.RECORDED, "Annotator('1')": Kind.ANNOTATOR}
    result = correlations(
        estimates,
        kinds,
        coefficients=("pearson", "kendall"),
        counts={"Random(seed=0)": (10, 2, 1, 0)},
        policy={"missing": {"truth": 3, "score": 0}, "undefined_groups": "skip", "units": "common"},
        simulated=True,
    )
    return leaderboard(
        result,
        dataset="tiny <set>",
        truth="User()",
        signatures={NASTY: {"note": "<script>alert(1)</script>"}},
    )


def test_markdown(board: Leaderboard) -> None:
    text = board.to_markdown()
    assert text.startswith("# Evaluators on tiny &lt;set&gt;\n\n> **SIMULATED DATA.**")
    assert "## Pearson's r" in text
    assert "## Kendall's τ-b" in text
    assert "| Random(seed=0) | -1.00 / — | 0.00 / **10.00** | -0.50 / — |" in text
    assert "| Annotator('1') | **30.00** / <u>20.00</u> | **30.00** / <u>5.00</u> |" in text
    assert "| rank | evaluator | pearson |" in text
    tables = [line for line in text.split("## Pearson's r")[1].splitlines() if line.startswith("|")]
    # A bar that is not escaped would make a column.
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in tables} == {6}
    assert "A missing rating of the truth counts as 3." in text
    assert "— is undefined." in text
    assert "Undefined groups are counted in each of 2 aspects." in text


def test_markdown_shows_names_as_they_are() -> None:
    assert markdown("a|b\n_c_ <u> $x$") == r"a\|b \_c\_ &lt;u&gt; \$x\$"


def test_csv(board: Leaderboard) -> None:
    rows = list(csv.DictReader(io.StringIO(board.to_csv())))
    assert [r["coefficient"] for r in rows] == ["pearson"] * 3 + ["kendall"] * 3
    assert rows[1]["evaluator"] == NASTY
    assert [*rows[0]].index("label") == [*rows[0]].index("evaluator") + 1
    assert rows[1]["block"] == "recorded"
    assert rows[0]["x dataset × 100"] == "-1.00"
    assert rows[0]["x user × 100"] == ""
    assert rows[0]["undefined groups"] == "1"
    assert {r["simulated"] for r in rows} == {"data"}


@pytest.mark.parametrize("method", ["to_html", "to_page"])
def test_html_escapes_what_comes_from_the_data(board: Leaderboard, method: str) -> None:
    html = getattr(board, method)()
    reader = Markup(html)
    assert reader.open == []
    assert NASTY in reader.text
    assert "script" not in reader.seen
    assert "i" not in reader.seen
    assert "<b>30.00</b> / <u>20.00</u>" in html
    assert "SIMULATED DATA." in reader.text


def test_the_page_needs_no_other_file(board: Leaderboard) -> None:
    page = board.to_page()
    assert page.startswith("<!doctype html>")
    assert "src=" not in page
    assert "href=" not in page
    assert "&lt;script&gt;alert(1)" in page
