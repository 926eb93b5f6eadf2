"""Runs side by side in a real browser: the reports work under the headers that they are sent with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metaeval.runs.server import LocalServer
from tests.reports.report.conftest import browser  # noqa: F401 - a fixture
from tests.runs.test_viewer import viewing
from tests.study.runs import tiny_run
from tests.tiny import write_tiny

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    folder = tmp_path_factory.mktemp("browser")
    write_tiny(folder / "tiny")
    with viewing(tiny_run(folder, "one"), tiny_run(folder, "two", missing="{truth: drop}")) as server:
        yield server


def here(server: LocalServer) -> str:
    return f"http://127.0.0.1:{server.server_port}/"


@pytest.mark.slow
@pytest.mark.parametrize(("width", "beside"), [(1400, True), (390, False)])
def test_the_reports_in_their_frames(
    browser: Browser,  # noqa: F811
    server: LocalServer,
    width: int,
    beside: bool,
) -> None:
    wrong: list[str] = []
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(60_000)
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request",
        lambda r: None if r.url.startswith((here(server), "data:", "blob:")) else wrong.append(r.url),
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


EVIL = """<!doctype html><title>evil</title><iframe src="{other}"></iframe><ul></ul><script>
const tell = (what, does) => {{
  let said;
  try {{ said = String(does()) }} catch (error) {{ said = error.name }}
  document.querySelector("ul").insertAdjacentHTML("beforeend", `<li>${{what}}: ${{said}}</li>`);
}};
addEventListener("load", async () => {{
  tell("origin", () => origin);
  tell("pages around it", () => parent.document.body.innerText);
  tell("their address", () => parent.location.href);
  tell("the other report", () => parent.frames[1].document.body.innerText);
  tell("a frame of it", () => frames[0].document.body.innerText);
  tell("where it came from", () => `[${{document.referrer}}]`);
  const asked = await fetch("{other}").then((r) => r.text(), (error) => error.name);
  tell("a request", () => asked);
  tell("the end", () => {{ top.location.href = "{elsewhere}?" + document.body.innerText }});
}});
</script>"""


@pytest.mark.slow
def test_the_report_of_a_stranger_reads_no_other(
    browser: Browser,  # noqa: F811
    tmp_path: Path,
) -> None:
    write_tiny(tmp_path / "tiny")
    mine, evil = tiny_run(tmp_path, "mine"), tiny_run(tmp_path, "evil")
    asked: list[str] = []
    with viewing(evil, mine) as server:
        other, elsewhere = f"{here(server)[:-1]}{server.whole('/mine/report.html')}", "http://127.0.0.1:9/"
        text = EVIL.format(other=other, elsewhere=elsewhere)  # it is even told where the other one lies
        (evil / "report.html").write_text(text, encoding="utf-8")
        record = json.loads((evil / "run.json").read_text(encoding="utf-8"))
        record["outputs"]["report.html"] = hashlib.sha256(text.encode()).hexdigest()
        (evil / "run.json").write_text(json.dumps(record), encoding="utf-8")
        page = browser.new_page()
        page.on("request", lambda r: asked.append(r.url))
        page.goto(f"{server.address}side-by-side")
        frame = page.locator("iframe").nth(0).content_frame
        frame.get_by_text("the end").wait_for()
        assert frame.locator("li").all_inner_texts() == [
            "origin: null",
            "pages around it: SecurityError",
            "their address: SecurityError",
            "the other report: SecurityError",
            "a frame of it: SecurityError",
            "where it came from: []",
            "a request: TypeError",
            "the end: SecurityError",
        ]
        assert "Annotator('1')" in page.locator("iframe").nth(1).content_frame.locator("body").inner_text()
        assert frame.frame_locator("iframe").get_by_text("Annotator('1')").count() == 0
        page.close()
    assert not [url for url in asked if url.startswith(elsewhere)]


@pytest.mark.slow
def test_a_report_works_under_the_headers_it_is_sent_with(
    browser: Browser,  # noqa: F811
    server: LocalServer,
) -> None:
    wrong: list[str] = []
    page = browser.new_page()
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(server.address)
    page.locator("h2 a").first.click()
    with page.expect_download() as saved:
        page.locator("button.download").first.click()
    assert saved.value.path().stat().st_size > 0
    views = page.locator("nav a")
    assert views.count() > 2
    for at in range(views.count()):  # each is a part of the page's own address
        views.nth(at).click()
    page.get_by_role("button", name="Colours").click()
    page.go_back()
    page.goto(page.url)
    page.get_by_text("Annotator('1')").first.wait_for()
    page.close()
    assert not wrong
