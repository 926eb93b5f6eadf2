"""The site: it builds without a warning, has a page of everything public, and needs no network to be read."""

from __future__ import annotations

import html
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

import metaeval as me
from metaeval import stats
from metaeval.cli import cli
from metaeval.kinds.index import KINDS
from metaeval.kinds.registry import known_evaluators
from tests.conftest import ROOT
from tests.docs.commands import MAKEFILE
from tests.docs.pages import DOCS, PAGES

pytestmark = pytest.mark.slow

pytest.importorskip("sphinx", reason="the site is built by the extra docs: pip install 'metaeval[docs]'")
pytest.importorskip(
    "sphinx_click", reason="the site is built by the extra docs: pip install 'metaeval[docs]'"
)

NOTEBOOK = re.compile(r"IPKernelApp|Executing notebook with kernel")
"""What says that a notebook is run."""
PUBLIC = [name for name in me.__all__ if name != "__version__"]


@pytest.fixture(scope="module")
def built(once: Callable[[str, Callable[[Path], object]], Path]) -> tuple[Path, str]:
    """The site as ``make docs`` builds it, and what Sphinx said."""
    folder = once("site", lambda made: (made / "said.txt").write_text(build(made), encoding="utf-8"))
    return folder / "docs" / "_build" / "html", (folder / "said.txt").read_text(encoding="utf-8")


def build(folder: Path) -> str:
    """Build a copy, since Sphinx writes beside its sources; return what it said, nothing if all is well."""
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns("_build", "api", "commands"))
    for name in ("data/README.md", "results/README.md"):
        (folder / name).parent.mkdir()
        shutil.copyfile(ROOT / name, folder / name)
    (recipe,) = re.findall(r"^docs: .*\n\t@\$\(BIN\)/python (.*)$", MAKEFILE, re.MULTILINE)
    command = [sys.executable, *shlex.split(recipe)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if line.strip() and not NOTEBOOK.search(line)]
    return "\n".join(lines) or ("" if done.returncode == 0 else f"exit code {done.returncode}")


def test_it_builds_without_a_warning(built: tuple[Path, str]) -> None:
    assert built[1] == ""


@pytest.fixture
def site(built: tuple[Path, str]) -> Path:
    if built[1]:
        pytest.skip("the site has warnings, which another test tells")
    return built[0]


def text_of(page: Path) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


def test_every_public_name_has_a_page(site: Path) -> None:
    for name in PUBLIC:
        page = site / "reference" / "api" / f"metaeval.{name}.html"
        assert page.is_file(), f"add {name} to docs/reference/python.md"
        first = (getattr(me, name).__doc__ or "").splitlines()[0]
        assert first.split("`")[0][:40] in text_of(page), name


def test_every_module_of_statistics_has_a_page(site: Path) -> None:
    shown = [page.name for page in (site / "reference" / "api").glob("metaeval.stats.*.html")]
    for name in stats.__all__:
        assert any(s.startswith(f"metaeval.stats.{name}.") for s in shown), (
            f"add {name} to docs/reference/stats.md"
        )


def test_every_evaluator_is_described(site: Path) -> None:
    page = (site / "reference" / "evaluators.html").read_text(encoding="utf-8")
    for name in known_evaluators():
        assert re.search(rf'id="metaeval\.[\w.]+\.{name}"', page), name


def commands(command: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
    yield words, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{words} {name}")


def test_every_command_and_option_is_described(site: Path) -> None:
    for words, command in commands(cli, "metaeval"):
        if words == "metaeval":
            continue
        page = text_of(site / "reference" / "commands" / f"{words.split()[1]}.html")
        assert f"{words} [OPTIONS]" in page, words
        for option in command.params:
            if isinstance(option, click.Option):
                assert max(option.opts, key=len) in page, (words, option.opts)


def test_every_page_is_there_and_reached(site: Path) -> None:
    for page in PAGES:
        if page != "README.md":
            assert (site / page).with_suffix(".html").is_file(), page


def test_no_page_fetches_anything(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for page in pages:
        content = page.read_text(encoding="utf-8")
        assert not re.search(r"<(?:script|img|iframe)[^>]+src=\"(?:https?:)?//", content), page
        assert not re.search(r"<link[^>]+href=\"(?:https?:)?//", content), page


def test_no_file_tells_where_it_was_built(site: Path) -> None:
    here = [str(path).encode() for path in (ROOT, site, sys.prefix)]
    files = [file for file in site.rglob("*") if file.is_file()]
    assert len(files) > len(PAGES)
    assert [file for file in files if any(path in file.read_bytes() for path in here)] == []


def test_formulas_are_typeset(site: Path) -> None:
    page = (site / "statistics.html").read_text(encoding="utf-8")
    formulas = (DOCS / "statistics.md").read_text(encoding="utf-8").count("```math")
    assert formulas > 10
    assert page.count('display="block"') == formulas
    assert page.count("<math") > formulas
    assert "\\frac" not in page


def test_the_gallery_has_a_report_of_each_kind_to_be_opened(site: Path) -> None:
    page = (site / "gallery.html").read_text(encoding="utf-8")
    reports = re.findall(r'href="(reports/[^"]+)">Open the report', page)
    assert reports == [f"reports/{kind}.html" for kind in ("explanations", "relevance", "slates", "exposure")]
    assert {Path(report).stem for report in reports} == {*KINDS} - {"people"}  # it has no demo of its own
    for report in reports:
        assert "SIMULATED" in (site / report).read_text(encoding="utf-8")


def test_the_gallery_shows_every_figure_there_is_data_for(site: Path) -> None:
    page = (site / "gallery.html").read_text(encoding="utf-8")
    linked = re.findall(r'href="(_images/[^"]+\.png)"><img alt="[^"]+" class="drawn" src="(.*?)"', page)
    assert all(whole == shown for whole, shown in linked)  # a phone shows it too small
    names = {"ranking", "prompting", "system_values", "regret_by_task", "exposure_bias"}
    assert {f"_images/{name}.png" for name in names} <= {shown for _, shown in linked}
    assert all((site / shown).read_bytes().startswith(b"\x89PNG") for _, shown in linked)
