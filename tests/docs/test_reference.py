"""The reference reads as files: no directive shows, and its tables say what the docstrings say."""

from __future__ import annotations

import inspect
import re
import runpy
from importlib import import_module

import click
import pytest

from metaeval.cli import cli
from metaeval.data.exports.known import EXPORTS
from tests.docs.pages import DOCS, PAGES, source

PARTS = runpy.run_path(str(DOCS / "_ext" / "site_only.py"))["PARTS"]
REFERENCE = [page for page in PAGES if page.startswith("reference/")]
_NAMED = re.compile(r"\.\. (?P<what>\w+):: (?P<name>[\w.]+)|^   (?P<listed>[\w.]+)$", re.MULTILINE)


def named(directives: str) -> dict[str, object]:
    """Return what the directives name, which is an object or a module."""
    found, module = {}, ""
    for at in _NAMED.finditer(directives):
        name = at["listed"] or at["name"]
        if at["what"] == "currentmodule":
            module = name
        elif at["what"] != "automodule":
            inside, _, last = f"{module}.{name}".rpartition(".")
            there = import_module(inside)
            found[name] = getattr(there, last) if hasattr(there, last) else import_module(f"{inside}.{last}")
    return found


def summary(described: object) -> str:
    """Return the first paragraph of a docstring, in Markdown."""
    first = " ".join((inspect.getdoc(described) or "").split("\n\n")[0].split())
    return re.sub(r"``?([^`]+)``?", r"`\1`", first)


def rows(text: str | None) -> dict[str, str]:
    return dict(re.findall(r"^\| `([^`]+)` \| (.*) \|$", text or "", re.MULTILINE))


@pytest.mark.parametrize("page", REFERENCE)
def test_no_directive_shows_in_the_file(page: str) -> None:
    shown = re.sub(r"<!--.*?-->", "", source(page), flags=re.DOTALL)
    assert not re.search(r"```\{|^\.\. \w+::", shown, re.MULTILINE)


@pytest.mark.parametrize("page", REFERENCE)
def test_the_tables_say_what_the_docstrings_say(page: str) -> None:
    parts = [part for part in PARTS.finditer(source(page)) if "commands/*" not in part["site"]]
    table = rows("\n".join(part["files"] or "" for part in parts))
    described = named("\n".join(part["site"] for part in parts if "{eval-rst}" in part["site"]))
    assert list(table) == list(described)
    # A value has no docstring of its own.
    said = {name: summary(o) for name, o in described.items() if not isinstance(o, int | tuple)}
    assert {name: table[name] for name in said} == said


def test_the_table_of_exports_is_the_list_in_the_code() -> None:
    table = re.findall(r"^\| (\S.*?) \| (.*?) \|.*\|$", source("how-to/exports.md"), re.MULTILINE)
    assert table[2:] == [(export.name, export.about) for export in EXPORTS]


def test_the_table_of_commands_is_the_command_line() -> None:
    def all_of(group: click.Group, words: str) -> dict[str, str]:
        context, found = click.Context(group), {}
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            found[f"{words} {name}"] = command.get_short_help_str(limit=1000)
            if isinstance(command, click.Group):
                found |= all_of(command, f"{words} {name}")
        return found

    (part,) = [p for p in PARTS.finditer(source("reference/command-line.md")) if "commands/*" in p["site"]]
    assert rows(part["files"]) == all_of(cli, "metaeval")
