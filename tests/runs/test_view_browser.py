"""Runs in a real browser: index and reports work under the headers that they are sent with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from metaeval.runs.server import LocalServer
from tests.reports.report.conftest import browser  # noqa: F401 - a fixture
from tests.runs.test_view import viewing
from tests.study.runs import tiny_run
from tests.tiny import write_tiny

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    folder = tmp_path_factory.mktemp("browser")
    write_tiny(folder / "tiny")
    one, two = tiny_run(folder, "one"), tiny_run(folder, "two", title="Other")
    with viewing(folder / "site", one, two) as server:
        yield server


EVIL = """<!doctype html><title>evil</title><iframe src="{other}"></iframe><ul></ul><script>
const tell = (what, does) => {{
  let said;
  try {{ said = String(does()) }} catch (error) {{ said = error.name }}
  document.querySelector("ul").insertAdjacentHTML("beforeend", `<li>${{what}}: ${{said}}</li>`);
}};
addEventListener("load", async () => {{
  tell("origin", () => origin);
  tell("a page that opened it", () => opener);
  tell("a frame of the other report", () => frames[0].document.body.innerText);
  tell("where it came from", () => `[${{document.referrer}}]`);
  for (const address of ["{other}", "{index}"]) {{
    const asked = await fetch(address).then((r) => r.text(), (error) => error.name);
    tell("a request", () => asked);
  }}
  tell("a window", () => open("{other}"));
}});
</script>"""


@pytest.mark.slow
def test_the_report_of_a_stranger_reads_no_other(
    browser: Browser,  # noqa: F811
    tmp_path: Path,
) -> None:
    write_tiny(tmp_path / "tiny")
    mine, evil = tiny_run(tmp_path, "mine"), tiny_run(tmp_path, "evil")
    # A report knows its own address, and may guess from it where others lie.
    text = EVIL.format(other="../mine/report.html", index="../../index.html")
    (evil / "report.html").write_text(text, encoding="utf-8")
    record = json.loads((evil / "run.json").read_text(encoding="utf-8"))
    record["outputs"]["report.html"] = hashlib.sha256(text.encode()).hexdigest()
    (evil / "run.json").write_text(json.dumps(record), encoding="utf-8")
    with viewing(tmp_path / "site", evil, mine) as server:
        page = browser.new_page()
        page.goto(server.address)
        page.locator('h3 a[href="studies/evil/report.html"]').click()
        page.get_by_text("a window").wait_for()
        assert page.locator("li").all_inner_texts() == [
            "origin: null",
            "a page that opened it: null",
            "a frame of the other report: SecurityError",
            "where it came from: []",
            "a request: TypeError",
            "a request: TypeError",
            "a window: null",
        ]
        assert page.frame_locator("iframe").get_by_text("Annotator 1", exact=True).count() == 0
        page.goto(f"{server.address}studies/mine/report.html")
        page.get_by_text("Annotator 1", exact=True).first.wait_for()
        page.close()


@pytest.mark.slow
def test_the_pages_work_under_the_headers_they_are_sent_with(
    browser: Browser,  # noqa: F811
    server: LocalServer,
) -> None:
    wrong: list[str] = []
    page = browser.new_page()
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request",
        lambda r: None if r.url.startswith((server.address, "data:", "blob:")) else wrong.append(r.url),
    )
    page.goto(server.address)
    page.get_by_label("Search").fill("length on tiny")
    assert page.get_by_role("status").inner_text() == "1 of 8 evaluators"
    page.get_by_role("link", name="Evaluators on tiny").first.click()
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
    page.get_by_text("Annotator 1", exact=True).first.wait_for()
    page.close()
    assert not wrong
