"""Every block of every page is run, or checked where it cannot be."""

from __future__ import annotations

import runpy
import shutil
import sys
from typing import TYPE_CHECKING

import click
import pytest

import metaeval as me
from metaeval.evaluators import REGISTRY
from metaeval.llm.providers import PROVIDERS
from tests.conftest import ROOT
from tests.docs.commands import check
from tests.docs.lab import KEY, lab
from tests.docs.pages import DOCS, PAGES, agrees, steps
from tests.docs.reader import Reader

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what a reader has who cloned the project, and nothing that a page leaves behind."""
    folder = tmp_path / "checkout"
    for part in ("data/sample", "prompts", "studies"):
        shutil.copytree(ROOT / part, folder / part)
    monkeypatch.chdir(folder)
    evaluators, providers = dict(REGISTRY), dict(PROVIDERS)
    yield folder
    for table, before in ((REGISTRY, evaluators), (PROVIDERS, providers)):
        for name in set(table) - set(before):
            del table[name]


OTHERWISE = {"tutorial.md", "how-to/own-provider.md", "how-to/share.md"}
"""Pages with a test of their own."""


@pytest.mark.parametrize("page", [p for p in PAGES if p not in OTHERWISE])
def test_the_page_says_what_is_so(page: str, checkout: Path) -> None:
    Reader(page, checkout).follow()


def test_sharing(checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # The library keeps copies of modules; Python remembers where they lie.
    monkeypatch.setattr("evaluate.config.HF_MODULES_CACHE", tmp_path / "modules")
    monkeypatch.setattr("evaluate.config.HF_METRICS_CACHE", tmp_path / "metrics")
    monkeypatch.setattr("evaluate.config.HF_EVALUATE_OFFLINE", True)
    monkeypatch.setattr("sys.path", sys.path[:])
    for name in [n for n in sys.modules if n.split(".")[0] == "evaluate_modules"]:
        monkeypatch.delitem(sys.modules, name)
    Reader("how-to/share.md", checkout).follow()
    for name in [n for n in sys.modules if n.split(".")[0] == "evaluate_modules"]:
        del sys.modules[name]


def test_a_provider_of_ones_own(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYLAB_API_KEY", KEY)
    with lab() as server:
        monkeypatch.setenv("MYLAB_BASE_URL", server.address)
        Reader("how-to/own-provider.md", checkout).follow()
        texts = me.load(checkout / "data" / "sample").explanations[["item_title", "explanation"]]
        # The one that was turned away was asked again, and what is the same for two users was asked once.
        assert sorted(server.answered) == [200] * len(texts.drop_duplicates()) + [429]


def test_the_example_is_what_its_script_makes(tmp_path: Path) -> None:
    script = shutil.copy(DOCS / "examples" / "make_ratings.py", tmp_path)
    runpy.run_path(script, run_name="__main__")
    assert (tmp_path / "ratings.csv").read_bytes() == (DOCS / "examples" / "ratings.csv").read_bytes()


def test_what_a_page_shows_is_held_against_what_was_printed() -> None:
    (step,) = steps("$ metaeval run x.yaml  # a remark\none … three\n…\nlast\n")
    assert step.command == "metaeval run x.yaml"
    assert agrees(step.printed, "one two three\nany\nlines\nlast\n")
    assert agrees(step.printed, "one two three\nlast \n")
    assert not agrees(step.printed, "one two three\nlast\nmore\n")
    assert not agrees(step.printed, "before\none two three\nlast\n")
    with pytest.raises(ValueError, match="before any command"):
        steps("printed\n$ metaeval\n")


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("make cake", AssertionError),
        ("pip install 'metaeval[cake]'", AssertionError),
        ("metaeval data fetch recexp", click.MissingParameter),
        ("metaeval view RUN --colour red", click.NoSuchOption),
        ("metaeval cake", click.UsageError),
    ],
)
def test_a_command_that_is_not_run_must_be_right_all_the_same(command: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        check(command)
