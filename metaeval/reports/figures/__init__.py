"""The figures of a run: a sheet → a chart, one small file a figure; and charts → files."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from metaeval.reports.figures.cost import cost
from metaeval.reports.figures.distributions import distributions
from metaeval.reports.figures.ensembles import ensembles
from metaeval.reports.figures.figure import Figure, figure_payload
from metaeval.reports.figures.files import FIGURE_FORMATS, check_drawing, draw
from metaeval.reports.figures.likeness import likeness
from metaeval.reports.figures.prompting import prompting
from metaeval.reports.figures.ranking import ranking
from metaeval.reports.figures.style import LIGHT
from metaeval.reports.figures.user_bias import user_bias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from metaeval.engine.sheet import Sheet

    Drawer: TypeAlias = Callable[[Sheet, Mapping[str, str]], Figure]

__all__ = [
    "CATALOGUE",
    "FIGURE_FORMATS",
    "LIGHT",
    "Figure",
    "check_drawing",
    "draw",
    "figure_of",
    "figure_payload",
]

CATALOGUE: dict[str, Drawer] = {
    "ranking": ranking,
    "distributions": distributions,
    "likeness": likeness,
    "prompting": prompting,
    "ensembles": ensembles,
    "cost": cost,
    "user_bias": user_bias,
}
"""Name of a sheet and its figure → what draws it, given which aspect, level and coefficient to show first."""


def figure_of(sheet: Sheet, first: Mapping[str, str]) -> Figure:
    """Return the figure of a sheet, by its name."""
    return CATALOGUE[sheet.name](sheet, first)
