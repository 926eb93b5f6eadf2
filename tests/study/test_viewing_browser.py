"""Runs side by side in a real browser: the reports work under the headers that they are sent with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.reports.report.conftest import browser  # noqa: F401 - a fixture
from tests.runs.test_viewer import viewing
from tests.study.runs import tiny_run
from tests.tiny import write_tiny

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from metaeval.runs.server import LocalServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    folder = tmp_path_factory.mktemp("browser")
    write_tiny(folder / "tiny")
    with viewing(tiny_run(folder, "one"), tiny_run(folder, "two", missing="{truth: drop}")) as server:
        yield server


@pytest.mark.parametrize(("width", "beside"), [(1400, True), (390, False)])
def test_the_reports_in_their_frames(
    browser: Browser,  # noqa: F811
    server: LocalServer,
    width: int,
    beside: bool,
) -> None:
    wrong: list[str] = []
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(10_000)
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request",
        lambda r: None if r.url.startswith((server.address, "data:", "blob:")) else wrong.append(r.url),
    )
    page.goto(server.address)
    page.get_by_role("link", name="Show the reports side by side").click()
    frames = page.locator("iframe")
    assert frames.count() == 2
    for i in range(2):
        frames.nth(i).content_frame.get_by_text("Annotator('1')").first.wait_for()
    one, two = (frames.nth(i).bounding_box() for i in range(2))
    assert (one["y"] == two["y"]) is beside
    assert (one["x"] == two["x"]) is not beside
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto(f"{server.address}compare")
    assert "one and two were run under different policies" in page.inner_text("main")
    page.close()
    assert not wrong
