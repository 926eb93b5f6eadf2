"""Figures as they are drawn: printed, chosen from, and told apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd
import pytest

from metaeval.base.simulation import Simulation
from metaeval.engine.charts import curves
from metaeval.engine.figure import COLOURS, Figure, figure_payload
from metaeval.engine.sheet import Column, Sheet
from metaeval.reports.report_model import report_page
from tests.reports.report.pages import settle
from tests.reports.report.payloads import payload

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    Show = Callable[..., Page]

MANY = len(COLOURS) + 3
NAMES = [f"judge {i:02}" for i in range(MANY)]


def lines() -> dict[str, Any]:
    """Return a figure of more lines than there are colours, the last one the best."""
    frame = pd.DataFrame(
        [(name, x, i + x, i + x - 1, i + x + 1) for i, name in enumerate(NAMES) for x in (0, 1)],
        columns=["evaluator", "x", "y", "low", "high"],
    )
    sheet = Sheet("lines", "Lines", frame, (Column("evaluator", "Evaluator"), Column("y", "y", "number")))
    return figure_payload(
        Figure(sheet, curves("Lines.", frame, alt.X("x:Q"), alt.Y("y:Q"), ("low", "high"), []))
    )


def coloured(page: Page) -> Counter[str]:
    """Return the colours of the lines that are chosen."""
    paths = page.locator("#figure-lines .mark-line path[stroke-width='2.5']")
    return Counter(paths.evaluate_all("all => all.map((path) => path.getAttribute('stroke'))"))


def click(page: Page, name: str) -> None:
    """Click on the name of a line as people do, who point at it first."""
    box = page.locator("#figure-lines text", has_text=name).first.bounding_box()
    assert box
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    settle(page)
    page.mouse.click(box["x"] + 5, box["y"] + 5)
    settle(page)


def test_the_best_lines_have_colours_and_a_click_on_a_name_gives_one(show: Show) -> None:
    page = show({**payload(), "figures": [lines()]}, "#/figures")
    page.locator("svg.marks").wait_for()
    bold = page.locator("#figure-lines text[font-weight=bold]")
    assert sorted(bold.all_text_contents()) == NAMES[-5:]
    click(page, NAMES[-1])
    assert sorted(bold.all_text_contents()) == NAMES[-5:]  # it is pointed at, and has ink
    page.mouse.move(0, 0)
    settle(page)
    assert sorted(bold.all_text_contents()) == NAMES[-5:-1]
    first = set(coloured(page))
    for name in NAMES[:-5]:
        click(page, name)
    page.mouse.move(0, 0)
    settle(page)
    of_lines = coloured(page)
    assert len(of_lines) == len(COLOURS)
    assert of_lines.total() == MANY - 1
    assert max(of_lines.values()) == 2  # colours come again only where they run out
    assert first <= set(of_lines)


def test_a_report_prints_whole_with_every_figure_drawn(show: Show) -> None:
    figures = [{**lines(), "name": f"lines{i}"} for i in range(6)]
    page = show({**payload(), "figures": figures}, "#/leaderboard")
    page.evaluate(
        """addEventListener('beforeprint', () => {
          const figures = [...document.querySelectorAll('.figure')]
          window.printed = figures.map((f) => f.querySelectorAll('.mark-line path').length)
          window.heads = [...document.querySelectorAll('main h2')].map((h) => h.textContent)
        })"""
    )
    assert page.pdf().startswith(b"%PDF-")
    assert page.evaluate("heads") == ["Leaderboard", "Figures", "Details", "About"]
    drawn = page.evaluate("printed")
    assert len(drawn) == len(figures)
    assert min(drawn) >= MANY
    assert page.locator("main h2").all_text_contents() == ["Leaderboard"]


def test_the_page_is_loaded_when_the_report_is_shown(browser: Browser, tmp_path: Path) -> None:
    """Programs print a page as soon as it is loaded."""
    file = tmp_path / "report.html"
    file.write_text(report_page(payload(60, 8)), encoding="utf-8")
    page = browser.new_page()
    page.main_frame.goto(file.as_uri(), wait_until="load")
    assert page.main_frame.evaluate("document.querySelectorAll('main h2').length") == 1
    page.close()


def test_a_figure_says_what_it_shows_and_a_mark_its_values_and_units(show: Show) -> None:
    given = payload()
    best, aspect = given["evaluators"][-1]["name"], given["figures"][0]["choices"][0]["values"][1]
    page = show(given, "#/figures", width=390)
    page.locator("#figure-ranking").get_by_label("Aspect").select_option(aspect)
    assert f"{best} is best for {aspect}" in page.locator("#figure-ranking h3").inner_text()
    page.locator("svg.marks").wait_for()
    page.locator("#figure-ranking .mark-symbol path").last.click(force=True)
    said = page.locator("#figure-ranking .mark")
    assert best in said.inner_text()
    said.get_by_role("link", name="its units").click()
    page.get_by_role("heading", name=re.compile("^Users and pairs")).wait_for()
    assert f"at.aspect={aspect}" in page.url


@pytest.mark.parametrize(("form", "begins"), [("PNG", b"\x89PNG"), ("SVG", b"<svg ")])
def test_a_figure_is_saved_in_light_colours_with_its_finding(show: Show, form: str, begins: bytes) -> None:
    given = payload(simulated=Simulation(True))
    given["figures"][0]["simulated"] = given["simulated"]["loud"]
    page = show(given, "#/figures", scheme="dark")
    page.locator("svg.marks").wait_for()
    with page.expect_download() as found:
        page.locator("#figure-ranking").get_by_role("button", name=f"{form} of").click()
    picture = found.value.path().read_bytes()
    assert picture.startswith(begins)
    assert found.value.suggested_filename == f"SIMULATED-ranking.{form.lower()}"
    if form == "SVG":
        assert b"var(" not in picture
        assert b"is best for" in picture
        assert b"SIMULATED DATA" in picture
    assert not page.locator(".picture").count()


def test_one_view_is_printed_where_a_reader_wants_no_more(show: Show) -> None:
    page = show(payload(), "#/leaderboard")
    page.evaluate(
        """() => {
          window.heads = []
          window.print = () => {
            dispatchEvent(new Event('beforeprint'))
            setTimeout(() => {
              heads.push([...document.querySelectorAll('main h2')].map((h) => h.textContent))
              dispatchEvent(new Event('afterprint'))
            })
          }
        }"""
    )
    for button in ("Print this view", "Print all"):
        page.get_by_role("button", name=button).click()
        settle(page)
    assert page.evaluate("heads") == [["Leaderboard"], ["Leaderboard", "Figures", "Details", "About"]]
