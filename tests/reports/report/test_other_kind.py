"""A page of another kind of study: yes or no to questions, its own dimensions and keys, shares, no groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from metaeval.base.records import Kind
from metaeval.base.simulation import REAL
from metaeval.engine.board import Board, BoardDimension, SecondEstimate
from metaeval.engine.drilldown import GroupColumn, Groups, Rated, UnitColumn, UnitText, UnitView
from metaeval.evaluators.grid import OK, Grid
from metaeval.llm.calls.request import Message, Reply
from metaeval.llm.store.tools import Conversation
from metaeval.reports.report_model import ListedEvaluator, Report
from metaeval.reports.report_units import Calls, Units, sample
from tests.reports.report.pages import overflow
from tests.reports.report.test_browser import column, field, header

if TYPE_CHECKING:
    from playwright.sync_api import Page

    Show = Callable[..., Page]

N = 24
TRUTH = np.arange(N) % 2
TOPICS = np.array(["plot", "cast", "music"])[np.arange(N) % 3]
ANSWERS = {
    "always": np.ones(N),
    "good": np.where(np.arange(N) % 8 == 0, 1 - TRUTH, TRUTH),
    "weak": np.where(np.arange(N) % 3 == 0, 1 - TRUTH, TRUTH),
}
KINDS = {"always": Kind.BASELINE, "good": Kind.JUDGE, "weak": Kind.JUDGE}


def board(dimension: str = "topic", **options: Any) -> Board:
    """Return how often each evaluator is right, over all questions and by their topic."""
    within = {
        "any": np.ones(N, dtype=bool),
        **{topic: topic == TOPICS for topic in ("plot", "cast", "music")},
    }
    rows = [
        {
            "evaluator": name,
            dimension: topic,
            "measure": "accuracy",
            "estimate": (given == TRUTH)[chosen].mean(),
            "ci_low": np.nan,
            "ci_high": np.nan,
            "n_questions": chosen.sum(),
        }
        for name, given in ANSWERS.items()
        for topic, chosen in within.items()
    ]
    topics = {"any": "any topic"} | {topic: f"questions on {topic}" for topic in ("plot", "cast", "music")}
    dimensions = (BoardDimension(dimension, topics), BoardDimension("measure", {"accuracy": "accuracy"}))
    given = {
        "form": "share",
        "columns": (dimension,),
        "counts": {"n_questions": "questions"},
        "noun": "share",
    }
    options = {"frame": pd.DataFrame(rows), **given, **options}
    return Board(dimensions=dimensions, estimate="{measure}", **options)


def grid(values: Any) -> Grid:
    return Grid(np.asarray(values, dtype=float)[:, None], np.full((len(values), 1), OK, np.int8))


def payload(
    found: Board, keys: Sequence[str] = ("user_id", "question"), groups: Sequence[Groups] = ()
) -> dict[str, Any]:
    texts = [[f"u{i % 4}" for i in range(N)], [f"q{i:02d}" for i in range(N)]]
    questions = [f"Question {i}: is the {topic} good?" for i, topic in enumerate(TOPICS)]
    replies = [["yes" if x else "no" for x in ANSWERS[name]] for name in ("good", "weak")]
    conversations = {
        f"{judge}-{i}": Conversation(
            (Message("system", "Say yes or no."), Message("user", questions[i])),
            Reply(f"I say {word}.", "stop", model=f"model-{judge}"),
        )
        for judge, words in enumerate(replies)
        for i, word in enumerate(words)
    }
    view = UnitView(
        tuple(UnitColumn(key, key.removesuffix("_id"), t) for key, t in zip(keys, texts, strict=True)),
        (UnitText("question", questions), UnitText("what others said", [None] + ["Perhaps."] * (N - 1))),
        (Rated("verdict"),),
    )
    units = Units(view, grid(TRUTH), tuple(map(grid, ANSWERS.values())))
    return Report(
        title="Yes or no",
        answer={"sentences": ["Of 2 tools, one is right."], "judges": {}, "lines": []},
        dataset="questions",
        clusters="4 people",
        simulated=REAL,
        truth="People()",
        version="0",
        facts=[("Size", f"{N} questions")],
        glossary=[],
        words={},
        policy=[],
        lost=[],
        evaluators=[ListedEvaluator(n, n, kind, True, {"ok": N}, {}) for n, kind in KINDS.items()],
        board=found,
        costs=pd.DataFrame(),
        ranked=[],
        people=[],
        groups=groups,
        units=units,
        shown=sample(texts[0], "users"),
        calls=Calls(conversations),
        keys=[None, *(np.array([[f"{j}-{i}" for i in range(N)]], dtype=object) for j in range(2))],
        figures=[],
        views={},
    ).payload()


def names_of(page: Page) -> list[str]:
    return page.locator("tbody .evaluator .words").all_inner_texts()


def test_the_leaderboard_of_shares(show: Show) -> None:
    page = show(payload(board()), width=1440)
    assert page.locator("header nav a").all_inner_texts() == ["Leaderboard", "Units", "About"]
    caption = page.locator("caption").inner_text()
    assert caption == f"Accuracy against the truth People(), any topic; {N} units of 4 people in all"
    assert names_of(page) == ["good", "weak", "always"]
    assert [t.split()[:2] for t in column(page, 3)] == [["87.5", "%"], ["66.7", "%"], ["50.0", "%"]]
    assert page.locator("thead").inner_text().split("\t")[0].startswith("rank")
    assert field(page, "Measure").locator("option").all_inner_texts() == ["accuracy"]
    assert page.locator(".axis text").all_text_contents()[-1] == "100"
    field(page, "Topic").select_option("plot")
    assert "questions on plot" in page.locator("caption").inner_text()
    assert column(page, 5) == ["8"] * 3
    field(page, "Kind").select_option("judge")
    header(page, "accuracy").click()
    header(page, "accuracy").click()
    assert names_of(page) == ["weak", "good"]
    field(page, "Search evaluators").fill("go")
    assert names_of(page) == ["good"]
    assert overflow(page) == 0


def test_down_to_the_prompt_and_the_reply(show: Show) -> None:
    page = show(payload(board()))
    page.get_by_role("link", name="weak in detail").click()
    page.get_by_role("heading", name="Units").wait_for()
    assert page.locator("thead button").all_inner_texts()[0].startswith("question")
    assert field(page, "Evaluator").input_value() == "weak"
    field(page, "User").select_option("u2")
    assert page.get_by_role("status").inner_text() == "6 of 24 units"
    header(page, "disagreement").click()
    field(page, "Search texts, titles, ids").fill("q06")
    page.locator("tbody th a").click()
    page.get_by_text("unit 1 of 1").wait_for()
    assert page.locator("dl.keys").first.inner_text().split() == ["user", "u2", "question", "q06"]
    assert page.locator(".unit-body h3").all_inner_texts()[:2] == ["Question", "What others said"]
    assert page.locator(".prose").first.inner_text() == "Question 6: is the plot good?"
    scores = page.locator("table.scores tbody td").all_inner_texts()
    assert scores == ["0", "1", "0", "1"]  # the truth, then the three
    call = page.locator("details.call[open]")
    assert call.locator("summary").inner_text().startswith("weak · verdict")
    text = call.inner_text()
    for said in ("I say yes.", "model-1", "Say yes or no.", "Question 6: is the plot good?"):
        assert said in text
    page.get_by_role("link", name="About").click()
    assert "24 questions" in page.locator("main").inner_text()


def test_groups_that_no_dimension_stands_for(show: Show) -> None:
    users = [np.arange(N) % 4 == u for u in range(4)]
    right = np.array([[(given == TRUTH)[of].mean() for of in users] for given in ANSWERS.values()])
    groups = Groups(
        "people",
        "person",
        "people",
        ("user_id",),
        tuple((f"u{u}",) for u in range(4)),
        np.array([of.sum() for of in users]),
        (GroupColumn(right, (), "accuracy", "share"),),
    )
    page = show(payload(board(), groups=[groups]))
    page.get_by_role("link", name="good in detail").click()
    page.get_by_role("heading", name="People: good").wait_for()
    assert page.locator(".controls label").all_inner_texts() == ["Evaluator", "By", "Search people"]
    shown = dict(zip((t.split()[0] for t in column(page, 1)), column(page, 3), strict=True))
    assert shown == {f"u{u}": f"{100 * x:.1f} %" for u, x in enumerate(right[1])}
    assert "The mean over" not in page.locator("main").inner_text()
    assert "share in %" in page.locator("svg.marks").text_content()
    assert page.locator("caption").inner_text() == "Accuracy by person"
    page.locator("tbody th a").first.click()
    page.get_by_role("heading", name="Units").wait_for()
    assert page.get_by_role("status").inner_text() == "6 of 24 units"


def test_a_second_estimate_stands_where_a_cell_has_one(show: Show) -> None:
    frame = board().frame
    adjusted = (2 * frame["estimate"] - 1).where(frame["topic"] == "any")
    second = SecondEstimate("adjusted", "above chance", "What guessing adds, taken off", "Chance is a half.")
    page = show(payload(board(frame=frame.assign(adjusted=adjusted), second=second)))
    assert header(page, "above chance").get_attribute("title") == second.hint
    assert column(page, 5) == ["75.0 %", "33.3 %", "0.0 %"]
    assert page.get_by_text(second.note).is_visible()
    header(page, "above chance").click()
    assert names_of(page) == ["good", "weak", "always"]
    field(page, "Topic").select_option("plot")
    assert "above chance" not in page.locator("thead").inner_text()
    assert not page.get_by_text(second.note).count()


@pytest.mark.slow
def test_where_less_is_better_in_some_cells_alone(show: Show) -> None:
    lower = BoardDimension("topic", {t: t for t in ("any", "plot", "cast", "music")}, lower=("plot",))
    found = board()
    page = show(payload(replace(found, dimensions=(lower, *found.dimensions[1:]))))
    assert names_of(page) == ["good", "weak", "always"]
    field(page, "Topic").select_option("plot")
    assert names_of(page)[-1] == "good"
    header(page, "accuracy").click()
    assert page.locator("thead [aria-sort=ascending]").inner_text().startswith("accuracy")
