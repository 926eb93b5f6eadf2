"""A site of finished runs: what it holds, what it refuses, and that it works from disk and below any path."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from metaeval.cli import main
from metaeval.runs import site as site_module
from metaeval.runs.answer import read_answer
from metaeval.runs.folder import read_record
from metaeval.runs.site import write_site
from tests.reports.report.conftest import browser  # noqa: F401 - a fixture
from tests.study.runs import tiny_run
from tests.tiny import write_tiny

if TYPE_CHECKING:
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


@pytest.mark.slow
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
    assert all(read_answer(run).sentences[0][:20] in index for run in runs)
    assert "<script>alert" not in index
    assert "{{ 7 * 7 }}" in index
    assert all((site / page).is_file() for page in table["page"])


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--with-addresses"]])
def test_addresses_are_refused_unless_they_are_asked_for(
    options: list[str], tmp_path: Path, capsys: Any
) -> None:
    folder = write_tiny(tmp_path / "tiny")
    for table in folder.glob("*.csv"):
        lines = (re.sub(r"^(u\d)", r"\1@uni-example.edu", line) for line in table.read_text().splitlines())
        table.write_text("\n".join([*lines, ""]))
    run = tiny_run(tmp_path, "study", exclude="{user_id: [u3@uni-example.edu]}")
    done = main(["site", str(run), "--out", str(tmp_path / "site"), *options])
    if options:
        assert done == 0
    else:
        assert done == 2
        assert "--with-addresses" in (told := capsys.readouterr().err)
        assert "shows 2 e-mail addresses, such as u" in told
        assert not (tmp_path / "site").exists()


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
        monkeypatch.setattr(site_module, "to_csv", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_site([runs[0]], out)
    if wrong != "half":
        assert main(["site", str(runs[0]), str(run), "--out", str(out)]) == 2
        assert "run its study again" in capsys.readouterr().err
    assert content(out) == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run", "site"]


def test_only_the_source_and_the_licence_of_the_data_may_hold_addresses(tmp_path: Path, capsys: Any) -> None:
    file = write_tiny(tmp_path / "tiny") / "dataset.yaml"
    text = file.read_text().replace("made by hand", "made by лена@пример.рф, yu_li@lab.xn--p1ai")
    text = text.replace("CC0", "ask legal@uni.example").replace("taste", "taste (ask anna@shop.example)")
    file.write_text(text.replace("recommended", "recommended (by sacrebleu@2.4.0)"), encoding="utf-8")
    assert main(["site", str(tiny_run(tmp_path, "study")), "--out", str(tmp_path / "site")]) == 2
    assert "shows 1 e-mail address, such as anna@shop.example: " in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


@pytest.mark.slow
def test_studies_of_one_name_are_told_apart_at_addresses_that_stay(tmp_path: Path, capsys: Any) -> None:
    write_tiny(tmp_path / "tiny")
    first = tiny_run(tmp_path, "mine")
    (tmp_path / "other").mkdir()
    tiny = f"{tmp_path / 'tiny'}"
    second, third = (tiny_run(tmp_path / "other", name, dataset=tiny) for name in ("mine", "yours"))
    out = tmp_path / "site"

    def pages(*runs: Path) -> dict[str, str]:
        assert main(["site", *map(str, runs), "--out", str(out)]) == 0
        table = pd.read_csv(out / "leaderboard.csv")
        return {str(p): str(s) for p, s in zip(table["page"], table["study"], strict=True)}

    assert pages(first) == {"studies/mine/report.html": "Evaluators on tiny"}
    assert "replaces" not in capsys.readouterr().out
    assert pages(first, second, third) == {
        "studies/mine/report.html": "Evaluators on tiny (mine)",
        "studies/mine-2/report.html": "Evaluators on tiny (mine-2)",
        "studies/yours/report.html": "Evaluators on tiny (yours)",
    }
    assert "replaces the site of 1 study that was there.\n" in capsys.readouterr().out
    pages(third)
    assert "the site of 3 studies that was there, without mine, mine-2.\n" in capsys.readouterr().out


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
    return page.locator(".board tbody tr:visible th").all_inner_texts()


@pytest.mark.slow
@pytest.mark.parametrize("page", [(1440, "light"), (390, "dark")], indirect=True)
def test_the_index_in_a_browser(page: Page, site: Path, runs: list[Path]) -> None:
    page.goto((site / "index.html").as_uri())
    everything = shown(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_label("Search").fill("JUDGE on tiny")
    assert shown(page) == ["Judge simulated/one (simulated)"]
    assert page.get_by_role("status").inner_text() == f"1 of {len(everything)} evaluators"
    page.get_by_label("Search").fill("")
    page.get_by_label("Study").select_option(index=1)
    assert 0 < len(shown(page)) < len(everything)
    page.get_by_label("Study").select_option("all")
    # Each kind has a table of its own, as regret and a correlation are no two numbers of one column.
    table = pd.read_csv(site / "leaderboard.csv").dropna(subset="estimate").sort_values("estimate")
    of_kind = [table.loc[table["kind"] == kind, "evaluator"] for kind in ("explanations", "slates")]
    assert page.locator("table").count() == len(of_kind)
    printed = {name: label for run in runs for name, label in read_record(run).names.items()}
    for place, names in enumerate(of_kind):
        head = page.locator("table").nth(place).get_by_role("button", name="Estimate")
        head.click()
        here = page.locator("table").nth(place).locator("tbody th").all_inner_texts()
        assert here[0].removesuffix(" (simulated)") == printed[names.iloc[0]]
    head.click()
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("Estimate")
