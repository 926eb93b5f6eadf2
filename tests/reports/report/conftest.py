"""A real browser for the tests of the page, and a page in it that must not ask for anything or complain."""

from __future__ import annotations

import functools
import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from metaeval.reports.report_model import report_page
from tests.reports.report.pages import settle

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def _settled(action: Callable[..., Any]) -> Callable[..., Any]:
    """Return an action that ends when the page has followed it: an address changes before its view."""

    @functools.wraps(action)
    def settled(self: Any, *args: Any, **options: Any) -> Any:
        outcome = action(self, *args, **options)
        settle(self if hasattr(self, "goto") else self.page)
        return outcome

    return settled


@pytest.fixture(scope="module")  # its event loop would be in the way of other modules' own
def browser() -> Iterator[Browser]:
    """A headless Chromium: METAEVAL_CHROMIUM, one on the PATH, or playwright's own."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    given = os.environ.get("METAEVAL_CHROMIUM")
    found = given or next(filter(None, map(shutil.which, _NAMES)), None)
    with api.sync_playwright() as playwright, pytest.MonkeyPatch.context() as patch:
        for name in ("click", "dblclick", "fill", "press", "select_option", "check", "uncheck"):
            patch.setattr(api.Locator, name, _settled(getattr(api.Locator, name)))
        for name in ("goto", "go_back", "reload"):
            patch.setattr(api.Page, name, _settled(getattr(api.Page, name)))
        try:
            started = playwright.chromium.launch(executable_path=found, args=_QUIET)
        except api.Error as error:
            if found:
                raise
            pytest.skip(f"no Chromium: set METAEVAL_CHROMIUM ({str(error).splitlines()[0]})")
        yield started
        started.close()


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Open a payload's page from disk with the network off; whatever goes wrong in it fails the test."""
    wrong: list[str] = []
    contexts = []
    numbers = itertools.count()

    def opened(payload: Mapping[str, Any], at: str = "", *, width: int = 1400, scheme: Any = "light") -> Page:
        file = tmp_path / f"report{next(numbers)}.html"
        file.write_text(report_page(payload, static="<p>the plain tables</p>"), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        context.set_offline(offline=True)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else wrong.append(r.url))
        page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(file.as_uri() + at)
        page.locator("main h2").wait_for()
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not wrong
