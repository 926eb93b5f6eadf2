"""What the pages name is there, for readers of the repository as well as of the site."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import click
import pytest
from markdown_it import MarkdownIt
from pydantic_core import PydanticUndefined

from metaeval.engine.alignment.policy import Missing
from metaeval.engine.comparison import OrderBy
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.paired_tests import Tests as How
from metaeval.judging.models import NamedModel
from metaeval.judging.settings import JudgingOptions
from metaeval.kinds.ablations import Ablation
from metaeval.kinds.explanations.study import ExplanationStudy
from metaeval.llm.calls.price import Price
from tests.docs.commands import parse
from tests.docs.pages import DOCS, PAGES, source

READ = [*PAGES, "../README.md", "../data/README.md", "../results/README.md"]


def spans(page: str, kind: str) -> list:
    tokens = MarkdownIt("commonmark").enable("table").parse(source(page))
    return [child for token in tokens for child in token.children or [] if child.type == kind]


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives to headings."""
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.replace("`", "").lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", READ)
def test_links_lead_somewhere(page: str) -> None:
    for link in spans(page, "link_open"):
        target = urlsplit(link.attrGet("href"))
        if target.scheme:
            continue
        path = (DOCS / page).parent / target.path if target.path else DOCS / page
        assert path.is_file(), f"docs/{page}: {target.path} is not there"
        if target.fragment:
            assert target.fragment in anchors(path.read_text(encoding="utf-8")), f"docs/{page}: {target}"


@pytest.mark.parametrize("page", READ)
def test_commands_in_the_text_are_understood(page: str) -> None:
    for span in spans(page, "code_inline"):
        command = " ".join(span.content.split())
        if command.startswith("metaeval "):
            try:
                parse(command.replace("…", "").split()[1:])
            except click.MissingParameter:
                pass  # the text need not say all of it
            except click.exceptions.NoArgsIsHelpError:
                pass  # a group


def table(title: str) -> dict[str, str]:
    """Return the table below a heading of the page on study files: key → what holds if it is left out."""
    text = source("reference/study-file.md")
    below = text[text.index(title) :]
    rows = [line.strip("| ").split(" | ") for line in below[below.index("| --- |") :].splitlines()[1:]]
    found = {}
    for row in rows:
        if len(row) < 2:
            break
        found[row[0].strip("` ")] = row[2].strip("` |") if len(row) > 2 else ""
    return found


@pytest.mark.parametrize(
    ("title", "model"),
    [
        ("# The study file", ExplanationStudy),
        ("## `models`", NamedModel),
        ("## `missing`", Missing),
        ("## `order_by`", OrderBy),
        ("## `bootstrap`", Bootstrap),
        ("## `tests`", How),
        ("## `judging`", JudgingOptions),
        ("A price:", Price),
        ("An entry of `ablations`:", Ablation),
    ],
)
def test_the_study_file_has_these_keys_and_defaults(title: str, model: type) -> None:
    said = table(title)
    assert sorted(said) == sorted(model.model_fields)
    for key, field in model.model_fields.items():
        default = field.default
        if default is PydanticUndefined and field.default_factory is None:
            assert said[key] == "needed"
        elif isinstance(default, str | int | float) and key != "name":
            assert said[key] == (str(default).lower() if isinstance(default, bool) else str(default)), key
