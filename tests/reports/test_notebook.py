"""What notebooks show: every result as HTML of a bounded size, with text from data as text."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

import metaeval as me
from metaeval.base.records import ScoreTable
from tests.tiny import write_study

NASTY = "<script>alert('x')</script> & <b>bold</b>"


def shown(thing):
    """Return what a notebook would show, parsed; a script in it would be an element."""
    soup = BeautifulSoup(thing._repr_html_(), "html.parser")
    assert not soup.find_all(["script", "img", "iframe"])
    return soup


def made(evaluators):
    """Return scores and truth of three users, four items and as many evaluators as there are names."""
    rng = np.random.default_rng(0)
    units = pd.DataFrame(
        [(u, i, "g") for u in "abc" for i in "wxyz"], columns=["user_id", "item_id", "generator"]
    )
    truth = units.assign(aspect="fit", rating=rng.integers(1, 6, 12))
    scores = [
        units.assign(evaluator=e, aspect="fit", score=rng.normal(size=12), status="ok") for e in evaluators
    ]
    return ScoreTable(pd.concat(scores, ignore_index=True), simulated=True), truth


@pytest.fixture(scope="module")
def nasty():
    return made([NASTY, "other"])


def test_text_from_data_stays_text(nasty):
    scores, truth = nasty
    result = me.correlate(scores, truth)
    for thing in (scores, result, me.compare(scores, truth, permutations=20), me.leaderboard(result)):
        assert NASTY in shown(thing).get_text()


def test_a_data_set_shows_its_counts_and_texts():
    explanations = pd.DataFrame({"item_id": range(30), "generator": "g", "explanation": NASTY + "x" * 20_000})
    ratings = pd.DataFrame(
        {"item_id": [1, 2], "generator": "g", "rater": "1", "aspect": NASTY, "rating": [1, 2]}
    )
    data = me.from_frames(explanations, ratings, name=NASTY, simulated=True)
    soup = shown(data)
    text = soup.get_text()
    assert text.count(NASTY) == 12  # its name, an aspect, and ten texts that are cut short
    assert "units: 30; items: 30; generators: 1" in text
    assert "SIMULATED DATA" in text
    assert "users" not in text
    assert "The first 10 of 30 rows; all of them are in .explanations." in text
    assert len(str(soup)) < 20_000
    assert len(soup.find("table").find_all("tr")) == 11


def test_long_tables_are_cut_and_short_ones_are_not(nasty):
    scores, truth = nasty
    assert len(shown(scores).find_all("tr")) == 21
    assert "The first 20 of 24 rows; all of them are in .frame." in shown(scores).get_text()
    assert "SIMULATED DATA" in shown(scores).get_text()
    tests = shown(me.compare(scores, truth, permutations=20))
    assert len(tests.find_all("tr")) == 2
    assert "The first" not in tests.get_text()
    assert "by: average, dataset, pearson" in tests.get_text()


@pytest.mark.parametrize(
    ("n", "rows", "left_out"),
    [
        (3, 12, None),
        (20, 60, "the table of Kendall's τ-b."),
        (25, 60, "15 evaluators of the table of Spearman's ρ; the table of Kendall's τ-b."),
        (70, 60, "10 evaluators of the ranking; the table of Pearson's r; the table of Spearman's ρ;"),
    ],
)
def test_a_leaderboard_has_sixty_rows_at_most(n, rows, left_out):
    scores, truth = made([f"e{i}" for i in range(n)])
    soup = shown(me.leaderboard(me.correlate(scores, truth)))
    rows_of_evaluators = [r for r in soup.select("tbody tr") if not r.get("class")]
    assert len(rows_of_evaluators) == rows
    text = soup.get_text()
    assert "SIMULATED DATA" in text
    assert "All evaluators are compared on the same units." in text
    assert ("Not shown here" in text) == (left_out is not None)
    assert (left_out or "") in text


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("below", [True, False])
def test_a_run_says_where_its_report_lies(tmp_path, monkeypatch, below):
    study = write_study(tmp_path / "study.yaml", "bootstrap: {resamples: 20}\n", title=f'"{NASTY}"')
    run = me.run(study, out=tmp_path / "runs" / "a b#c")
    if not below:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
    soup = shown(run)
    assert NASTY in soup.find("p").get_text()
    assert "SIMULATED DATA" in soup.get_text()
    assert "Length" in soup.find("table").get_text()
    link = soup.find("a")["href"]
    file = tmp_path / unquote(link) if below else Path(url2pathname(urlsplit(link).path))
    assert link.startswith("runs/a%20b%23c/" if below else "file:///")
    assert file.samefile(tmp_path / "runs" / "a b#c" / "report.html")
