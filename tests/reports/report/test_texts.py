"""What a page could trip over: scripts, 20,000 characters, right to left, emoji, long names, no scores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metaeval.reports.report_model import report_page
from tests.reports.report.pages import every_view, overflow
from tests.reports.report.payloads import payload

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    Show = Callable[..., Page]

SCRIPT = "<script>window.stolen = 1</script><img src=x onerror='window.stolen = 1'>"
LONG = "A sentence of a text that does not end. " * 500
SPEC = f"Recorded('{'an_evaluator_with_a_long_name_' * 7}')"[:200]


def test_a_script_is_text_wherever_it_stands(show: Show) -> None:
    given = payload(9, 4, texts={0: SCRIPT}, names={0: SCRIPT, 3: f"{SCRIPT}3"})
    given["title"] = given["truth"] = given["dataset"]["name"] = SCRIPT
    given["policy"] = given["figures"][0]["notes"] = given["sheets"][0]["notes"] = [SCRIPT]
    given["figures"][0]["title"] = given["sheets"][0]["rows"][0][0] = SCRIPT
    given["people"][0]["label"] = given["units"]["rated"][0]["statement"] = SCRIPT
    given["facts"][0] = given["glossary"][0] = given["words"][0] = [SCRIPT, SCRIPT]
    given["board"]["dimensions"][1]["title"] = given["units"]["parts"][0]["title"] = SCRIPT
    given["evaluators"][3]["signature"] = {SCRIPT: SCRIPT}
    for column in given["units"]["columns"]:
        column["values"][0] = SCRIPT
    for groups in given["groups"]:
        groups["ids"][0] = [SCRIPT] * len(groups["keys"])
    for reply in given["calls"]["replies"]:
        reply.update(text=SCRIPT, model=SCRIPT, error=SCRIPT, refusal=SCRIPT)
    given["calls"]["lines"] = [SCRIPT] * len(given["calls"]["lines"])
    page = show(given)
    assert page.locator("header h1").inner_text() == SCRIPT
    for at in every_view(page):
        assert page.locator("img, main script").count() == 0, at
        assert SCRIPT[:20] in page.locator("main").inner_text(), at
    page.wait_for_timeout(100)  # an image that is not there takes a moment to say so
    assert page.evaluate("window.stolen") is None


def test_the_policy_stops_a_script_that_gets_in(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(report_page(payload(3, 4), static=SCRIPT), encoding="utf-8")
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(file.as_uri())
    page.locator("main h2").wait_for()
    page.evaluate(
        """() => {
          const script = document.createElement('script')
          script.textContent = 'window.stolen = 1'
          document.body.append(script)
          return fetch('https://example.org').catch(() => {})
        }"""
    )
    assert page.evaluate("window.stolen") is None
    for directive in ("script-src", "img-src", "connect-src"):
        assert any(directive in text for text in said), directive
    page.close()


@pytest.mark.parametrize("width", [360, 1400])
def test_a_long_text_is_folded_and_unfolds(show: Show, width: int) -> None:
    page = show(payload(9, 4, texts={0: LONG}), "#/unit?unit=0", width=width)
    text = page.locator(".prose").first
    assert text.text_content() == LONG
    folded = text.bounding_box()["height"]  # type: ignore[index]
    page.get_by_role("button", name="Show all 20,000 characters of the explanation").click()
    assert text.bounding_box()["height"] > 5 * folded  # type: ignore[index]
    page.get_by_role("button", name="Show less").click()
    assert text.bounding_box()["height"] == folded  # type: ignore[index]
    page.emulate_media(media="print")
    assert text.bounding_box()["height"] > 5 * folded  # type: ignore[index]


def test_an_empty_text_is_said_to_be_one(show: Show) -> None:
    page = show(payload(9, 4, texts={0: " "}), "#/unit?unit=0")
    assert "The text is empty." in page.locator("main").inner_text()
    page.goto(page.url.replace("unit=0", "unit=1"))
    page.get_by_text("Text 1:").first.wait_for()
    assert "The text is empty." not in page.locator("main").inner_text()


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_a_long_spec_does_not_break_the_layout(show: Show, width: int) -> None:
    given = payload(9, 8, names={0: SPEC, 7: SPEC.replace("an_", "the")}, texts={0: "y" * 3000})
    page = show(given, width=width)
    for at in every_view(page):
        assert overflow(page) == 0, at


@pytest.mark.slow
def test_a_study_where_nothing_is_known(show: Show) -> None:
    given = payload(3, 2, failing=[0, 1])
    given.update(groups=[], figures=[], sheets=[], people=[], tests=[])
    page = show(given)
    assert page.locator("header nav a").all_inner_texts() == ["Leaderboard", "Units", "About"]
    page.get_by_role("link", name="in detail").first.click()
    page.get_by_role("heading", name="Units").wait_for()
