"""The pages of the docs as a list of blocks, each with the file that it is to be saved as."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markdown_it import MarkdownIt

from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(
    str(p.relative_to(DOCS))
    for p in DOCS.rglob("*.md")
    if not {"_build", "api", "commands"} & set(p.relative_to(DOCS).parts)
)
_NAMED = re.compile(r"`(?P<name>[\w./-]+\.\w+)`:\Z")
_REST = "…"


@dataclass(frozen=True)
class Block:
    """A code block; ``file`` is what the paragraph before it names at its end."""

    page: str
    line: int
    language: str
    text: str
    file: str | None

    def __str__(self) -> str:
        return f"docs/{self.page}, line {self.line}"


@dataclass(frozen=True)
class Step:
    """A command that the reader types, and the lines that it prints, if the page shows any."""

    command: str
    printed: tuple[str, ...]


def source(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def fences(page: str) -> int:
    """Return how many code blocks a page has, but for those that only the site shows."""
    return re.sub(r"<!-- site\n.*?\n-->", "", source(page), flags=re.DOTALL).count("```") // 2


def blocks(page: str) -> list[Block]:
    found, before = [], ""
    for token in MarkdownIt("commonmark").parse(source(page)):
        if token.type == "inline":
            before = token.content
        elif token.type == "fence":
            named = _NAMED.search(before)
            line = (token.map or [0])[0] + 1
            found.append(Block(page, line, token.info, token.content, named and named["name"]))
            before = ""
    return found


def opening(page: str) -> Block | None:
    """Return the command that stands right below the title of a page, with the first line that it prints."""
    first = re.match(r"#[^\n]*\n\n```console\n", source(page))
    return blocks(page)[0] if first else None


def steps(text: str) -> list[Step]:
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ ").split("  #")[0].strip(), []))
        elif not found:
            raise ValueError(f"{line!r} stands before any command")
        else:
            found[-1][1].append(line)
    return [Step(command, tuple(printed)) for command, printed in found]


def agrees(shown: tuple[str, ...] | list[str], printed: str) -> bool:
    """Say whether a page shows what was printed; ``…`` stands for any lines, or for any text in a line."""
    lines = [
        ".*" if line.strip() == _REST else re.escape(line.rstrip()).replace(_REST, ".*") for line in shown
    ]
    rest = [line.strip() == _REST for line in shown]
    pattern = "".join(f"(?:{p}\n)*" if r else f"{p}\n" for p, r in zip(lines, rest, strict=True))
    plain = "".join(f"{line.rstrip()}\n" for line in printed.rstrip().splitlines())
    return re.fullmatch(pattern, plain) is not None
