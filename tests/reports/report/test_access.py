"""Keyboard, screen reader, contrast, print: what can be checked of them in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metaeval.base.simulation import Simulation
from metaeval.reports.report_model import report_page
from tests.reports.report.pages import VIEWS, every_view, visit
from tests.reports.report.payloads import payload

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    Show = Callable[..., Page]

CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1)
    canvas.fillStyle = colour
    canvas.fillRect(0, 0, 1, 1)
    return [...canvas.getImageData(0, 0, 1, 1).data]
  }
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0)
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor)
      if (colour[3] === 255) return colour
    }
    return [255, 255, 255, 255]
  }
  const poor = []
  let seen = 0
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement
    const style = getComputedStyle(element)
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue
    // What is off needs none (WCAG 1.4.3), nor a sign beside aria-sort.
    if (element.closest('script, style, option, :disabled, .arrow')) continue
    seen += 1
    const colour = element.closest('svg') ? style.fill : style.color
    const [a, b] = [light(rgba(colour)), light(ground(element))].sort((x, y) => y - x)
    const ratio = (a + 0.05) / (b + 0.05)
    if (ratio < 4.5) poor.push(`${walker.currentNode.data.trim()} ${colour} ${ratio.toFixed(2)}`)
  }
  return { seen, poor }
}"""

NAMELESS = """() => [...document.querySelectorAll('input, select, button, a[href], summary')]
  .filter((e) => !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim()))
  .map((e) => e.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast(show: Show, scheme: str) -> None:
    page = show(payload(60, 8, simulated=Simulation(True)), scheme=scheme)
    for at in every_view(page):
        found = page.evaluate(CONTRAST)
        assert found["seen"] > 20, at
        assert found["poor"] == [], at


def test_everything_has_a_name_and_the_page_has_landmarks(show: Show) -> None:
    page = show(payload(60, 8))
    assert page.locator("html").get_attribute("lang") == "en"
    for at in every_view(page):
        assert page.evaluate(NAMELESS) == [], at
        for table in page.locator("table:visible").all():
            assert table.locator("caption").inner_text().strip(), at
            assert table.locator("thead th[scope]").count() > 0, at
        assert [page.locator(x).count() for x in ("main", "header", "h1:visible", "h2")] == [1, 1, 1, 1], at
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
        assert len(ids) == len(set(ids)), at


def test_every_link_leads_to_a_view(show: Show) -> None:
    page = show(payload(12, 8))
    links = {
        str(link.get_attribute("href")): at
        for at in every_view(page)
        for link in page.locator("a[href]").all()
    }
    assert {link for link in links if not link.startswith("#/")} == {"#main"}
    kinds = {re.sub(r"=[^&]*", "", link): link for link in links if link.startswith("#/")}
    for link in kinds.values():
        visit(page, link.removeprefix("#/"))
        known = page.locator(".views [aria-current]").get_attribute("href") or ""
        assert link.startswith(known) or "unit" in known, links[link]
        assert not page.get_by_text("No such unit").count(), links[link]


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.innerText || document.activeElement.tagName"))


def test_by_keyboard_from_the_top_to_a_unit(show: Show) -> None:
    page = show(payload())
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert "#/" not in page.url
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "down":
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Users and pairs").wait_for()
    assert page.evaluate("document.activeElement.tagName") == "H2"
    page.locator("tbody a").first.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Units").wait_for()
    page.locator("thead").get_by_role("button", name="truth").focus()
    page.keyboard.press("Space")
    page.locator("thead [aria-sort=descending]").wait_for()
    assert focused(page).startswith("truth")


@pytest.mark.slow
def test_print_is_light_and_whole(show: Show) -> None:
    page = show(payload(60, 8), scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    cut = "[...document.querySelectorAll('.wide')].some((e) => getComputedStyle(e).overflowX !== 'visible')"
    for at in VIEWS:
        visit(page, at)
        assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(27, 31, 35)"
        assert page.locator("nav:visible, button.theme:visible, select:visible").count() == 0, at
        assert page.locator("main h2").is_visible(), at
        assert not page.evaluate(cut), at
        assert page.pdf().startswith(b"%PDF-"), at


@pytest.mark.slow
def test_without_scripts_the_plain_tables_stand_there(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(report_page(payload(3, 4), static="<p>the plain tables</p>"), encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.main_frame.goto(file.as_uri())  # the page's own waits for a script to have painted
    assert page.get_by_text("the plain tables", exact=True).is_visible()
    context.close()


@pytest.mark.slow
def test_a_page_that_cannot_be_read_shows_the_plain_tables_and_why(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    damaged = {**payload(3, 4), "board": None}
    file.write_text(report_page(damaged, static="<p>the plain tables</p>"), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(file.as_uri())
    page.get_by_role("alert").wait_for()
    assert page.get_by_text("the plain tables", exact=True).is_visible()
    context.close()
