"""Leaderboard → HTML: the tables alone, or one page that needs no other file."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.reports import words

if TYPE_CHECKING:
    from jinja2 import Template

    from metaeval.leaderboard import Standings

_TEMPLATES = Path(__file__).parent / "templates"


def to_html(board: Standings) -> str:
    """Return the tables of a leaderboard as HTML, to be put into a page."""
    return _template("tables.html").render(board=board, words=words)


def page(board: Standings) -> str:
    """Return one page with the tables, what was done with missing values, and each evaluator's signature."""
    signatures = {
        name: json.dumps(dict(signature), ensure_ascii=False, sort_keys=True, default=str)
        for name, signature in board.signatures.items()
    }
    return _template("page.html").render(board=board, words=words, signatures=signatures)


@functools.cache
def _template(name: str) -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)
