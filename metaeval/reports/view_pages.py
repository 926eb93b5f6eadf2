"""The pages that a server on this computer shows: around the reports of runs, and to label units."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from metaeval.base.simulation import REAL, Simulation
from metaeval.reports.sheets import sheet_to_html
from metaeval.reports.templates import template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.engine.sheet import Sheet


@dataclass(frozen=True, slots=True)
class Card:
    """What the list says of a run."""

    name: str
    report: str
    """Address of its report."""
    title: str = ""
    dataset: str = ""
    units: int = 0
    evaluators: int = 0
    finished: str = ""
    """Date and time, ISO 8601."""
    simulated: Simulation = REAL
    """What is: the data, or which evaluators."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Name of each file that the run wrote → its address."""
    problem: str = ""
    """Why the run cannot be shown; then nothing else is known of it."""


def index_page(cards: Sequence[Card]) -> str:
    """Return the list of runs, with links to their reports and files."""
    return template("view_index.html").render(cards=cards)


def side_by_side_page(cards: Sequence[Card]) -> str:
    """Return the reports in frames beside each other; below each other where there is no room."""
    return template("view_side_by_side.html").render(cards=cards)


def compare_page(sheets: Sequence[Sheet]) -> str:
    """Return the sheets of compared runs, one below the other."""
    return template("view_compare.html").render(sections=[sheet_to_html(sheet) for sheet in sheets])


def message_page(title: str, sentence: str) -> str:
    """Return a page that says one sentence."""
    return template("view_message.html").render(title=title, sentence=sentence)


def label_page(name: str, rater: str) -> str:
    """Return the page on which a rater labels the units of a data set."""
    return template("label.html").render(name=name, rater=rater)
