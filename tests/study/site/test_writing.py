"""A site of finished runs: what it holds, what it refuses, and that it works from disk and below any path."""

from __future__ import annotations

import functools
import json
import re
import shutil
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from metaeval.runs.folder import read_record
from metaeval.study.site import writing as site_module
from metaeval.study.site.writing import write_site
from tests.reports.report.conftest import browser  # noqa: F401 - a fixture
from tests.study.runs import tiny_run
from tests.tiny import write_tiny

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, Page

TITLE = '"<script>alert(1)</script> & {{ 7 * 7 }}"'


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, demo_of: Callable[[str], Path]) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    write_tiny(folder / "tiny")
    judge = '["Length()", "Judge(\'simulated/one\')"]'
    named = tiny_run(folder, "über the first #1", title=TITLE)
    other = tiny_run(
        folder, "second", evaluators=judge, coefficients="[kendall]", bootstrap="null", tests="null"
    )
    slates = Path(shutil.copytree(demo_of("slates") / "results" / "slates", folder / "slates"))
    return [named, other, slates]


@pytest.fixture(scope="module")
def site(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("web") / "site"
    assert main(["-q", "site", *map(str, runs), "--out", str(out), "--title", "Our boards"]) == 0
    return out


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_links_are_relative_and_lead_to_files(site: Path) -> None:
    pages = list(site.rglob("index.html"))
    assert len(pages) == 4
    for page in pages:
        for link in re.findall(r'(?:href|src)="(.*?)"', page.read_text(encoding="utf-8")):
            file, _, _ = unquote(link).partition("#")
            assert not re.match(r"[a-z]+:|/", file), link
            assert (page.parent / file).is_file(), link


def test_the_index_and_its_files_hold_every_evaluator_of_every_kind(site: Path, runs: list[Path]) -> None:
    table = pd.read_csv(site / "leaderboard.csv")
    records = [read_record(run) for run in runs]
    assert len(table) == sum(len(record.evaluators) for record in records)
    assert set(table["kind"]) == {"explanations", "slates"}
    assert json.loads((site / "leaderboard.json").read_text(encoding="utf-8"))[0]["rank"] == 1
    first = pd.read_csv(runs[0] / "ranking.csv")
    mine = table[table["study"] == records[0].title]
    assert mine["evaluator"].tolist() == first["evaluator"].tolist()
    assert mine["estimate"].tolist() == first["estimate"].tolist()
    index = (site / "index.html").read_text(encoding="utf-8")
    assert "SIMULATED DATA AND JUDGES." in index
    assert "<script>alert" not in index
    assert "{{ 7 * 7 }}" in index
    assert all((site / page).is_file() for page in table["page"])


def test_a_study_says_how_it_was_made_and_can_be_made_again(
    site: Path, runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, run in zip(("second", "slates"), runs[1:], strict=True):
        folder, record = site / "studies" / name, read_record(run)
        page = (folder / "index.html").read_text(encoding="utf-8")
        assert record.data.fingerprint in page
        assert record.data.licence in page
        cited = (folder / "citation.bib").read_text(encoding="utf-8")
        assert cited.startswith(f"@misc{{{name},")
        assert record.data.fingerprint[:16] in cited
        assert "SIMULATED" in cited
        for file, digest in json.loads((folder / "record.json").read_text(encoding="utf-8"))[
            "outputs"
        ].items():
            assert (folder / file).read_bytes() == (run / file).read_bytes()
            assert record.outputs[file] == digest
    shutil.copytree(runs[1].parent / "tiny", tmp_path / "tiny")
    shutil.copy(site / "studies" / "second" / "study.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)  # the file names the data set, not the folder that it lay in
    again = me.run("study.yaml", "again").facts
    assert again.outputs["correlations.csv"] == read_record(runs[1]).outputs["correlations.csv"]
    assert "tests.csv" not in again.outputs


def test_a_site_is_replaced_and_what_others_put_there_stays(
    site: Path, runs: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "site"
    shutil.copytree(site, out)
    (out / "CNAME").write_text("example.org")
    (out / ".git").mkdir()
    (out / ".git" / "HEAD").write_text("ref")
    write_site(runs[1:2], out)
    assert [p.name for p in (out / "studies").iterdir()] == ["second"]
    assert (out / "CNAME").read_text() == "example.org"
    assert (out / ".git" / "HEAD").read_text() == "ref"
    assert [p.name for p in tmp_path.iterdir()] == ["site"]
    before = content(out)
    write_site(runs[1:2], out)
    assert content(out) == before


@pytest.mark.parametrize("wrong", ["changed", "unfinished", "half"])
def test_nothing_is_written_if_anything_is_wrong(
    wrong: str, site: Path, runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    out, run = tmp_path / "site", tmp_path / "run"
    shutil.copytree(site, out)
    shutil.copytree(runs[1], run)
    before = content(out)
    if wrong == "changed":
        (run / "report.html").write_text("mine")
    elif wrong == "unfinished":
        (run / "run.json").write_text(
            (run / "run.json").read_text().replace('"status": "done"', '"status": "stopped"')
        )
    else:
        monkeypatch.setattr(site_module, "site_index", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_site([runs[0]], out)
    if wrong != "half":
        assert main(["site", str(runs[0]), str(run), "--out", str(out)]) == 2
        assert "run its study again" in capsys.readouterr().err
    assert content(out) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run", "site"]


def test_a_folder_of_other_files_is_refused(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "index.html").write_text("mine")
    for out, said in (
        (tmp_path, "is not empty"),
        (tmp_path / "index.html", "is a file"),
        (runs[0], "is not empty"),
    ):
        with pytest.raises(MetaevalError, match=said):
            write_site(runs[:1], out)
    assert content(tmp_path) == {"index.html": b"mine"}
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(MetaevalError, match="change to another directory"):
        write_site(runs[:1], ".")


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Any:  # noqa: F811 - the fixture
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened, wrong = context.new_page(), []
    # Browsers ask a host for an icon by themselves.
    opened.on("response", lambda r: None if r.ok or r.url.endswith("favicon.ico") else wrong.append(r.url))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    yield opened
    context.close()
    assert not wrong


def shown(page: Page) -> list[str]:
    return page.locator("#board tbody tr:visible th").all_inner_texts()


@pytest.mark.parametrize("page", [(1440, "light"), (390, "dark")], indirect=True)
def test_the_index_in_a_browser(page: Page, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    everything = shown(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_label("Search").fill("JUDGE on tiny")
    assert shown(page) == ["Judge('simulated/one') (simulated)"]
    assert page.get_by_role("status").inner_text() == f"1 of {len(everything)} evaluators"
    page.get_by_label("Search").fill("")
    page.get_by_label("Kind of study").select_option("slates")
    assert 0 < len(shown(page)) < len(everything)
    page.get_by_label("Kind of study").select_option("all")
    page.get_by_role("button", name="Estimate").click()
    table = pd.read_csv(site / "leaderboard.csv").dropna(subset="estimate").sort_values("estimate")
    order = [name.removesuffix(" (simulated)") for name in shown(page)]
    assert order[0] == table["evaluator"].iloc[0]
    assert len(order) == len(everything)
    page.get_by_role("button", name="Estimate").click()
    assert shown(page)[0].removesuffix(" (simulated)") == table["evaluator"].iloc[-1]
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("Estimate")


@pytest.mark.parametrize("page", [(390, "light")], indirect=True)
def test_it_works_below_any_path_of_a_web_host(page: Page, site: Path) -> None:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site.parent)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.goto(f"http://127.0.0.1:{server.server_port}/{site.name}/index.html")
        page.get_by_role("link", name="<script>alert(1)</script>").first.click()
        page.locator("h1", has_text="{{ 7 * 7 }}").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_role("link", name="The whole report").click()
        page.locator("main h2").first.wait_for()
        server.shutdown()
