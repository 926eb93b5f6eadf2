"""Every block of every page is run, or checked where it cannot be."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import re
import runpy
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import click
import numpy as np
import pytest
from genai_prices import Usage, calc_price

import metaeval as me
from metaeval.cli import cli, main
from metaeval.kinds.index import KINDS
from metaeval.kinds.registry import COMMON
from metaeval.llm.providers import PROVIDERS
from tests.conftest import ROOT
from tests.docs.commands import NOT_RUN, check, is_run
from tests.docs.lab import KEY, lab
from tests.docs.pages import DOCS, PAGES, Block, Step, agrees, fences, opening, source, steps
from tests.docs.reader import Answer, Reader, capture
from tests.kinds.explanations.judge.test_judge import answer
from tests.llm.batch.server import BatchServer
from tests.llm.postgres import PASSWORD, USER, Postgres
from tests.packages import pip_install

SHIPPED = ("data", "prompts", "studies", "docs", "README.md")


def shipped() -> dict[str, str]:
    """Return the digest of every file that ships, by its name."""
    tracked = ["git", "-C", str(ROOT), "ls-files", "-z", *SHIPPED]
    listed = subprocess.run(tracked, capture_output=True, check=False, text=True).stdout.split("\0")
    # Without git, of a released archive, all that is there was released.
    found = listed[:-1] or [str(p.relative_to(ROOT)) for part in SHIPPED for p in (ROOT / part).rglob("*")]
    files = [name for name in found if (ROOT / name).is_file()]
    return {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in files}


@pytest.fixture(scope="module", autouse=True)
def _no_page_changes_what_ships() -> Iterator[None]:
    before = shipped()
    assert "data/sample/ratings.csv" in before
    yield
    assert shipped() == before


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of a reader who installed the package: empty, and nowhere near a checkout."""
    folder = tmp_path / "anywhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    tables = (COMMON, PROVIDERS, KINDS, os.environ)
    before_page = [dict(table) for table in tables]
    yield folder
    for table, before in zip(tables, before_page, strict=True):
        for name in set(table) - set(before):
            del table[name]


PRICED = "0.2.3"
"""The version of genai-prices whose prices the page on scale repeats; those of others may differ."""

ON_PUBLIC_DATA = "how-to/choose-published.md"
QUESTIONS = "how-to/which-command.md"
OTHERWISE = {
    "tutorial.md",
    ON_PUBLIC_DATA,
    QUESTIONS,
    "how-to/batch.md",
    "how-to/own-provider.md",
    "how-to/plugin.md",
    "how-to/scale.md",
    "how-to/share.md",
}
"""Pages with a test of their own."""
SHUFFLED = (
    np.random.default_rng(11).permutation([p for p in PAGES if p not in OTHERWISE and fences(p)]).tolist()
)
"""The others that show code, in an order that no reader would think of: each page stands alone."""


@pytest.mark.slow
@pytest.mark.parametrize("page", SHUFFLED)
def test_the_page_says_what_is_so(page: str, folder: Path) -> None:
    assert Reader(page, folder).follow() == fences(page)


@pytest.mark.parametrize("page", [p for p in PAGES if p.startswith("how-to/") and "index" not in p])
def test_a_how_to_begins_with_a_command_and_its_first_line(page: str) -> None:
    head = opening(page)
    assert head is not None, f"{page}: a block of console stands below the title"
    (step,) = steps(head.text)
    assert step.printed[0] != "…"
    assert step.printed[1:] in {(), ("…",)}


def questions() -> dict[str, str]:
    """Return the first line that each command prints, as the page on which command when shows it."""
    return dict(re.findall(r"^\| [^|]+ \| `(metaeval [^|]+)` \| (.*) \|$", source(QUESTIONS), re.MULTILINE))


def leaves(command: click.Command, words: str) -> Iterator[str]:
    """Yield the words of every command; the forms that `metaeval data import` reads count as one."""
    if not isinstance(command, click.Group) or words == "metaeval data import":
        yield words
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        yield from leaves(command.get_command(context, name), f"{words} {name}")


def test_no_command_is_forgotten() -> None:
    asked = questions()
    forgotten = [
        w for w in leaves(cli, "metaeval") if not any(c == w or c.startswith(f"{w} ") for c in asked)
    ]
    assert not forgotten, f"{QUESTIONS} has no question for them"


@pytest.mark.slow
def test_every_question_has_its_answer(folder: Path) -> None:
    assert Reader(QUESTIONS, folder).follow() == fences(QUESTIONS)
    for command, shown in questions().items():
        if not is_run(command):
            check(command)
            assert shown == "–", command
            continue
        with capture() as said, contextlib.redirect_stdout(Answer(said)) as answer:
            code = main(shlex.split(command)[1:])
        assert code in {0, 1, 4}, f"{command}\n{said.getvalue()}"  # 1 and 4: a gate did not pass
        first = next(filter(str.strip, answer.getvalue().splitlines())).strip()
        assert agrees([shown.strip("` ")], first), f"{command} printed\n{first}"


@pytest.mark.slow
def test_sharing(folder: Path, evaluate_offline: None) -> None:
    reader = Reader("how-to/share.md", folder)
    assert reader.follow() == fences(reader.page)


@pytest.mark.slow
def test_choosing_on_public_data(folder: Path, real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(NOT_RUN, "metaeval data import recexp")
    for name in ("hanna", "llmbar", "llmjudge", "recexp"):
        (folder / name).symlink_to(real_data / name)
    (folder / "studies").symlink_to(ROOT / "studies")
    assert Reader(ON_PUBLIC_DATA, folder).follow() == fences(ON_PUBLIC_DATA)


def test_a_provider_of_ones_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYLAB_API_KEY", KEY)
    with lab() as server:
        monkeypatch.setenv("MYLAB_BASE_URL", server.address)
        Reader("how-to/own-provider.md", folder).follow()
        texts = me.load("data/sample").explanations[["item_title", "explanation"]]
        # The one that was turned away was asked again, and what is the same for two users was asked once.
        assert sorted(server.answered) == [200] * len(texts.drop_duplicates()) + [429]


class _Installs(Reader):
    """One who installs the package that the page shows."""

    def type(self, step: Step, block: Block, wanted: str) -> None:
        """Install what ``pip`` names; do all else as ever."""
        program, _, package = step.command.partition(" install ./")
        if program == "pip":
            pip_install(self.folder / package, self.folder / "site")
            importlib.invalidate_caches()
        else:
            super().type(step, block, wanted)


@pytest.mark.slow
def test_a_package_of_ones_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "site").mkdir()
    monkeypatch.syspath_prepend(str(folder / "site"))
    _Installs("how-to/plugin.md", folder).follow()
    assert "Exclamations" not in COMMON


@pytest.mark.slow
def test_batches(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with BatchServer(tmp_path / "server", answer) as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai)
        monkeypatch.setenv("METAEVAL_STORE", str(tmp_path / "replies.sqlite"))
        Reader("how-to/batch.md", folder).follow()
        assert len(server.made()) == 1


@pytest.mark.slow
def test_a_shared_store(folder: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    with psycopg.connect(postgres.new(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE judges")
    # Where PostgreSQL's own variables say that it is.
    for name, value in {"HOST": str(postgres.folder), "USER": USER, "PASSWORD": PASSWORD}.items():
        monkeypatch.setenv(f"PG{name}", value)
    reader = Reader("how-to/scale.md", folder)
    reader.follow()
    if version("genai-prices") == PRICED:
        asked = Usage(input_tokens=376, output_tokens=27)
        cheap = datetime(2026, 11, 2, 12, tzinfo=UTC)  # some prices are higher at other hours of a day
        found = {m: calc_price(asked, m, genai_request_timestamp=cheap) for m in reader.module.prices}
        said = {m: price.of(376, 27) for m, price in reader.module.prices.items()}
        assert said == {m: pytest.approx(float(price.total_price)) for m, price in found.items()}


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
        ("metaeval data fetch", click.MissingParameter),
        ("metaeval view RUN --colour red", click.NoSuchOption),
        ("metaeval cake", click.UsageError),
    ],
)
def test_a_command_that_is_not_run_must_be_right_all_the_same(command: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        check(command)
