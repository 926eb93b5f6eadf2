"""Going through the views of an open page."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

VIEWS = (
    "leaderboard",
    "leaderboard?mode=all",
    "groups?evaluator=Judge(n%3D3)",
    "units?status=unparsed&evaluator=Judge(n%3D3)",
    "unit?unit=0",
    "unit?unit=0&beside=template",
    "figures",
    "details",
    "about",
)

PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"


def settle(page: Page) -> None:
    """Wait until a page has followed what was done to it and has painted it; a window that is gone has."""
    from playwright.sync_api import Error  # an optional library

    with contextlib.suppress(Error):  # left for another page, or closed, meanwhile
        page.evaluate(PAINTED)


def visit(page: Page, at: str) -> None:
    """Go to a view and wait until it is painted, charts too."""
    page.evaluate(f"at => {{ location.hash = '#/' + at; return {PAINTED} }}", at)
    page.locator(".chart:empty").first.wait_for(state="detached")


def every_view(page: Page) -> Iterator[str]:
    """Visit all views, one after another, with all that is folded opened."""
    for at in VIEWS:
        visit(page, at)
        # From the last: one that is pressed is found no longer, and those behind it would move up.
        for button in reversed(page.locator("summary, button[aria-pressed=false]").all()):
            button.click()
        yield at


def overflow(page: Page) -> int:
    """Return by how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
