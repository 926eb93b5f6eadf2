"""The pictures of README and docs, and the numbers that README shows of the demo: ``make pictures``.

The report and the ledger are photographed by a headless Chromium: METAEVAL_CHROMIUM, one on the PATH, or
Playwright's own.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.cli import main
from metaeval.reports import template
from metaeval.runs.answer import read_answer

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
_ROWS = 10
"""Rows of the ranking that README shows."""
_COLUMNS = 8
"""Its columns; what follows is what judges cost."""


def readme_of(readme: str, run: Path) -> str:
    """Return README with the answer and the first rows of the ranking of a run of the demo."""
    answer = read_answer(run).lines[0]
    board = (run / "leaderboard.md").read_text(encoding="utf-8")
    rows = [
        "|".join(row.split("|")[: _COLUMNS + 1]) + "|" for row in re.findall(r"^\| \d+ \|.*$", board, re.M)
    ]
    readme = re.sub(r"(?m)^> Of \d+ tools, .*$", lambda _: f"> {answer}", readme)
    return re.sub(r"(?m)(^\| \d+ \|.*\n)+", lambda _: "\n".join(rows[:_ROWS]) + "\n", readme)


def ledger_counts(page: str, ledger: str) -> str:
    """Return README, or the first page of the docs, with the counts of the ledger."""
    head = ledger.partition("\n## ")[0]
    cells, equal, explained, left = re.findall(r"[\d,]*\d", head.splitlines()[2])
    studies = sum(line.startswith("| ") for line in head.splitlines()) - 2
    alike = f"{equal} equal to the digits printed, {explained} explained, {left} open"
    counted = r"\d+ studies, \S+ published cells, \S+ equal to the digits printed, \S+ explained, \S+ open"
    return re.sub(counted, f"{studies} studies, {cells} published cells, {alike}", page)


def _photograph(browser: Browser, page: Path, name: str, height: int, *, whole: bool = False) -> None:
    sight = browser.new_page(viewport={"width": 1400, "height": height}, color_scheme="light")
    sight.goto(page.as_uri())
    sight.wait_for_timeout(1000)
    sight.screenshot(path=IMAGES / name, full_page=whole)
    sight.close()


def _ledger(folder: Path) -> Path:
    """Write the head of the ledger as a page."""
    from markdown_it import MarkdownIt

    head = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8").split("\n## ")[0]
    page = folder / "ledger.html"
    body = MarkdownIt("commonmark").enable("table").render(head)
    page.write_text(template("view.html").render().replace("</body>", f"{body}</body>"), encoding="utf-8")
    return page


def draw() -> None:
    """Run the demo, photograph its report and the ledger, and put its numbers into README."""
    from playwright.sync_api import sync_playwright

    known = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("METAEVAL_CHROMIUM") or next(filter(None, map(shutil.which, known)), None)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = Path(place)
        os.environ["METAEVAL_STORE"] = str(folder / "replies.sqlite")
        run = folder / "demo"
        if main(["-q", "demo", "--out", str(run)]):
            raise SystemExit("the demo failed")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        _photograph(browser, run / "report.html", "report.png", 860)
        _photograph(browser, _ledger(folder), "ledger.png", 400, whole=True)
        browser.close()
        readme = ROOT / "README.md"
        readme.write_text(readme_of(readme.read_text(encoding="utf-8"), run), encoding="utf-8")
    ledger = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")
    for page in (readme, ROOT / "docs" / "index.md"):
        page.write_text(ledger_counts(page.read_text(encoding="utf-8"), ledger), encoding="utf-8")


if __name__ == "__main__":
    draw()
