"""The leaderboard of a board that no kind of the package has: other dimensions, shares, lower is better."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from metaeval.base.errors import MetaevalError
from metaeval.base.records import Kind
from metaeval.base.simulation import Simulation
from metaeval.engine.board import Board, BoardDimension
from metaeval.engine.order.paired_tests import Comparisons
from metaeval.engine.order.ranks import Rank, Ranks
from metaeval.reports.leaderboards import leaderboard
from metaeval.reports.sheets import sheet_to_markdown
from metaeval.runs.comparison import pairs_sheet

ERRORS = {"careful": [0.1, 0.3, 0.25], "hasty": [0.4, 0.05, 0.125], "guess": [0.5, np.nan, 0.5]}
CELLS = [("plot", "all"), ("cast", "all"), ("cast", "hard")]


def board(columns: tuple[str, ...] = ("topic",), **options: Any) -> Board:
    """Return shares of wrong answers by topic and set of questions."""
    rows = [
        {
            "evaluator": e,
            "topic": topic,
            "set": of,
            "estimate": value,
            "ci_low": 0.0,
            "ci_high": 0.6,
            "n_asked": 8,
        }
        for e, values in ERRORS.items()
        for (topic, of), value in zip(CELLS, values, strict=True)
    ]
    return Board(
        pd.DataFrame(rows),
        (
            BoardDimension("topic", {"plot": "questions on plot", "cast": "questions on cast"}, first="cast"),
            BoardDimension("set", {"all": "all questions", "hard": "hard questions"}),
        ),
        **{
            "estimate": "share wrong",
            "relation": "by the key",
            "form": "share",
            "higher_is_better": False,
            "columns": columns,
            "counts": {"n_asked": "questions"},
            "intervals": "Brackets hold Wilson intervals.",
            "notes": ("Blank answers are wrong.",),
            "kinds": {"guess": Kind.BASELINE, "careful": Kind.JUDGE, "hasty": Kind.JUDGE},
            "simulated": Simulation(False, ("hasty",)),
            **options,
        },
    )


def compared(by: dict[str, str]) -> Comparisons:
    """Return tests in which the best differs from the guess alone."""
    names = list(ERRORS)
    estimates = np.array([0.3, 0.05, np.nan])
    p = np.array([[np.nan, 0.2, 0.01], [0.2, np.nan, 0.01], [0.01, 0.01, np.nan]])
    policy = {
        "swap": "asker",
        "swapped": "answers",
        "permutations": 99,
        "correction": "none",
        "alpha": 0.05,
        "pairs": 3,
        "least_p": 0.01,
        "n_clusters": 8,
        "seed": 0,
        "by": by,
        "evaluators": names,
        "higher_is_better": False,
        "ranks": Ranks(
            {"careful": Rank(1, 2, 1, 3, 0.2), "hasty": Rank(1, 2, 1, 3, 1.0), "guess": Rank()},
            *(0.05, "asker", 8, 0),
        ).record(),
    }
    difference = estimates[:, None] - estimates
    return Comparisons(
        by, tuple(names), difference, p, p, p, np.full((3, 3), np.nan), np.full((3, 3), 0.1), policy
    )


def test_markdown_has_a_table_a_choice_and_the_lowest_is_best() -> None:
    text = leaderboard(board(), dataset="quiz", truth="Key()").to_markdown()
    assert "> **SIMULATED JUDGES.**" in text
    assert text.count("\n## ") == 3  # the ranking, all questions, hard questions
    assert "| rank | evaluator | share wrong (lower is better) | questions |" in text
    assert "| 1 | hasty (simulated) | 5.0 % [0.0 %, 60.0 %] | 8 |" in text
    assert "Ordered by questions on cast, all questions. Brackets hold Wilson intervals." in text
    assert "| Evaluator | plot | cast |" in text
    assert "| *Baselines* |  |  |\n| guess | 50.0 % | — |\n| *Judges* |  |  |" in text
    assert "| careful | **10.0 %** | <u>30.0 %</u> |" in text
    assert "Share wrong of each evaluator by the key Key() on quiz, all questions." in text
    assert "The best value is bold, the second is underlined, in each column. — is undefined." in text
    assert "Questions in each of 2 topics: 8. Blank answers are wrong." in text
    assert "× 100" not in text


@pytest.mark.parametrize(
    ("columns", "titles", "cell"),
    [
        ((), [["estimate"]] * 3, "10.0 %"),
        (("topic",), [["plot", "cast"], ["cast"]], "10.0 %"),
        (("topic", "set"), [["plot", "cast"]], "10.0 % / —"),
        (("set", "topic"), [["all", "hard"]], "10.0 % / 30.0 %"),
    ],
)
def test_any_dimensions_may_be_columns(columns: tuple[str, ...], titles: list[list[str]], cell: str) -> None:
    found = leaderboard(board(columns))
    assert [[c.title for c in t.columns[1:]] for t in found.tables] == titles
    soup = BeautifulSoup(found.to_page(), "html.parser")
    rows = [
        [c.get_text() for c in row.find_all(["th", "td"])] for row in soup.select(".leaderboard tbody tr")
    ]
    assert next(row for row in rows if row[0] == "careful")[1] == cell
    assert len(found.frame) == sum(3 * max(1, len(t)) * (2 if len(columns) == 2 else 1) for t in titles)
    assert found.frame.query("evaluator == 'guess'")["printed"].str.contains("50.0 %").any()


def test_csv_and_latex() -> None:
    found = leaderboard(board(), name="quiz")
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert list(rows[0]) == ["set", "block", "evaluator", "label", "plot", "cast", "simulated"]
    assert [(r["set"], r["evaluator"], r["plot"], r["cast"], r["simulated"]) for r in rows[:3]] == [
        ("all", "guess", "50.0 %", "", ""),
        ("all", "careful", "10.0 %", "30.0 %", ""),
        ("all", "hasty", "40.0 %", "5.0 %", "judges"),
    ]
    text = found.to_latex()
    assert r"\label{tab:quiz-leaderboard-hard}" in text
    assert r"\textbf{5.0 \%}" in text
    assert text.count(r"\begin{table*}") == 3


def test_the_order_and_the_ranges_of_what_is_to_be_low() -> None:
    at = {"topic": "cast", "set": "all"}
    ranked = leaderboard(board(), tests=compared(at)).ranking
    assert ranked is not None
    assert ranked.frame[["evaluator", "rank", "rank_range", "verdict"]].to_numpy().tolist() == [
        ["hasty", "1", "1–2", "best"],
        ["careful", "2", "1–2", "p = 0.200"],
        ["guess", "", "", "worse, p = 0.010"],
    ]
    assert "10,000 resamples of 8 askers" in ranked.notes[-1]
    sheet = leaderboard(board(), order="estimate", by="plot").tables[0]
    assert sheet.frame["evaluator"].tolist() == ["guess", "hasty", "careful"], "within a block the best first"
    with pytest.raises(MetaevalError, match="the tests are by questions on cast, all questions, not by"):
        leaderboard(board(), by=["plot"], tests=compared(at))


def test_pairs_name_the_better_first() -> None:
    at = {"topic": "cast", "set": "all"}
    found = compared(at)
    assert found.frame[["first", "second"]].to_numpy().tolist()[0] == ["hasty", "careful"]
    assert {"topic", "set"} < set(found.frame)
    again = Comparisons.of_frame(found.frame, found.policy)
    pd.testing.assert_frame_equal(again.frame, found.frame)
    text = sheet_to_markdown(pairs_sheet(found, board()))
    assert "| hasty (simulated) | careful | -25.0 % | 0.200 |" in text
    assert "Differences of questions on cast, all questions; the better of the two stands first." in text
