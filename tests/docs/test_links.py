"""What the pages name is there, for readers of the repository as well as of the site."""

from __future__ import annotations

import re
import shlex
from urllib.parse import urlsplit

import click
import pytest
from markdown_it import MarkdownIt
from pydantic_core import PydanticUndefined

from metaeval.engine.alignment.policy import Missing
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.order.paired_tests import OrderBy
from metaeval.engine.order.paired_tests import Tests as How
from metaeval.judging.models import NamedModel
from metaeval.judging.settings import JudgingOptions
from metaeval.kinds.explanations.study import ExplanationStudy
from metaeval.kinds.study import Ablation
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


def lost(page: str, link: str) -> bool:
    """Say whether a link of a page leads nowhere; links to other sites are not followed."""
    target = urlsplit(link)
    path = (DOCS / page).parent / target.path if target.path else DOCS / page
    if target.scheme:
        return False
    return not path.is_file() or (
        target.fragment != "" and target.fragment not in anchors(path.read_text(encoding="utf-8"))
    )


def test_links_lead_somewhere() -> None:
    links = [(page, str(link.attrGet("href"))) for page in READ for link in spans(page, "link_open")]
    assert len(links) > 100
    assert [link for link in links if lost(*link)] == []


def misunderstood(command: str) -> str:
    """Return what the command line says against a command of the text, which need not say all of it."""
    try:
        parse(shlex.split(command.replace("…", ""))[1:])
    except (click.MissingParameter, click.exceptions.NoArgsIsHelpError, click.exceptions.Exit):
        return ""
    except click.ClickException as error:
        return error.format_message()
    return ""


def test_commands_in_the_text_are_understood() -> None:
    spoken = [(page, " ".join(span.content.split())) for page in READ for span in spans(page, "code_inline")]
    commands = [(page, words) for page, words in spoken if words.startswith("metaeval ")]
    assert len(commands) > 50
    assert [(*command, said) for command in commands if (said := misunderstood(command[1]))] == []
    assert "--colour" in misunderstood("metaeval view RUN --colour red")


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
