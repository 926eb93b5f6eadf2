"""What the charts have in common: colours that colour-blind people tell apart, shapes, and a light look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metaeval.base.records import Kind
from metaeval.base.simulation import MARK

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

CORRELATION = "correlation"
"""The word in the titles of axes that stands for the coefficient, where one can be chosen."""
HUNDRED = f"{CORRELATION} × 100"

# Okabe and Ito's colours, without yellow and black, which white and dark grounds swallow.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
)
GREY = "#8C8C8C"
INDIGO, BROWN, VIOLET, MAGENTA, BLACK = "#332288", "#6B2C00", "#7766FF", "#990066", "#1A1A1A"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY, INDIGO, BROWN, VIOLET, MAGENTA, BLACK)
"""Twelve; the further five were chosen to differ from the others for colour-blind people, too."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")

FILLING: dict[str, Any] = {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
"""Of a chart that is as wide as what holds it, names of rows counted, and as high as its rows."""

_OF_KIND = {
    Kind.BASELINE: (GREY, "cross"),
    Kind.REFERENCE: (GREEN, "square"),
    Kind.RECORDED: (SKY, "triangle-right"),
    Kind.FUNCTION: (ORANGE, "triangle-down"),
    Kind.ANNOTATOR: (VERMILION, "circle"),
    Kind.JUDGE: (BLUE, "triangle-up"),
    Kind.ENSEMBLE: (PURPLE, "diamond"),
}

_INK, _FAINT, _LINES = "#222222", "#555555", "#E3E3E3"

LIGHT: dict[str, Any] = {
    "background": "#FFFFFF",
    # Charts are laid out in the first of these; the others are as wide, and known elsewhere.
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "view": {"stroke": None},
    "title": {
        "anchor": "start",
        "frame": "group",
        "fontSize": 15,
        "color": _INK,
        "subtitleColor": _FAINT,
        "subtitleFontSize": 12,
        "subtitlePadding": 5,
        "offset": 14,
    },
    "axis": {
        "labelColor": _INK,
        "titleColor": _INK,
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "gridColor": _LINES,
        "domainColor": _FAINT,
        "tickColor": _FAINT,
        "labelLimit": 320,
    },
    "axisXQuantitative": {"tickCount": 8, "labelFlush": False},  # else labels lie on each other
    "legend": {
        "labelColor": _INK,
        "titleColor": _INK,
        "titleFontWeight": "normal",
        "labelLimit": 260,
        "symbolSize": 80,
        "symbolOpacity": 1,  # where lines behind the marks are faint, too
    },
    "header": {"labelColor": _INK, "titleColor": _INK, "labelFontSize": 11, "titleFontWeight": "normal"},
    "text": {"color": _INK},
    "rule": {"color": _FAINT},
    "tick": {"color": _FAINT},
}
"""Configuration of charts on white; a page on a dark ground gives them another."""


def nominal(column: str, **more: object) -> dict[str, Any]:
    """Return an encoding of a column of names, in Vega-Lite's words."""
    return {"field": column, "type": "nominal", **more}


def number(column: str, **more: object) -> dict[str, Any]:
    """Return an encoding of a column of numbers, in Vega-Lite's words."""
    return {"field": column, "type": "quantitative", **more}


def layer(kind: str, encoding: dict[str, Any], **look: object) -> dict[str, Any]:
    """Return a layer of a chart: a kind of mark, which columns it shows, and how it looks."""
    return {"mark": {"type": kind, **look}, "encoding": encoding}


def by_kind(kinds: Sequence[str]) -> dict[str, Any]:
    """Return channels that show an evaluator's kind by colour and by shape, with one legend."""
    present = [k for k in _OF_KIND if str(k) in set(kinds)]
    names = [str(k) for k in present]
    return {
        "color": nominal(
            "kind",
            title=None,
            legend={"orient": "top", "columns": 3},
            scale={"domain": names, "range": [_OF_KIND[k][0] for k in present]},
        ),
        "shape": nominal(
            "kind", title=None, scale={"domain": names, "range": [_OF_KIND[k][1] for k in present]}
        ),
    }


def by_name(column: str, names: Sequence[str]) -> dict[str, Any]:
    """Return channels that tell the values of a column apart by colour and by shape, with one legend."""
    return {
        "color": nominal(
            column,
            title=None,
            scale=scale_of(names, PALETTE),
            legend={"orient": "top", "columns": 3},
        ),
        "shape": nominal(column, title=None, scale=scale_of(names, SHAPES)),
    }


def scale_of(values: Sequence[str], marks: Sequence[str]) -> dict[str, Any]:
    """Return a scale that gives each value a colour or a shape; they come again where they run out."""
    return {"domain": list(values), "range": [marks[i % len(marks)] for i in range(len(values))]}


def hundred(*fields: str) -> list[dict[str, str]]:
    """Return transforms that put 100 times a field into ``<field>_100``; none stays none."""
    return [{"calculate": f"isValid(datum.{f}) ? 100 * datum.{f} : null", "as": f"{f}_100"} for f in fields]


def rounded(name: str, title: str) -> dict[str, str]:
    """Return a line of a tooltip with a number × 100, two decimals as in the tables."""
    return number(f"{name}_100", title=title, format=".2f")


def with_interval(**names: str) -> list[dict[str, Any]]:
    """Return the lines of a tooltip: columns of names, by their titles, then an estimate and its interval."""
    shown = [nominal(column, title=title) for column, title in names.items()]
    ends = (("estimate", "estimate × 100"), ("ci_low", "from"), ("ci_high", "to"))
    return [*shown, *(rounded(column, title) for column, title in ends)]


def line_height(n: int) -> int:
    """Return the height of a row for one of ``n`` evaluators, in pixels."""
    return 22 if n <= 20 else 17 if n <= 45 else 13


def row_axis(n: int) -> dict[str, Any]:
    """Return the axis of ``n`` evaluators, each with its name."""
    return {
        "title": None,
        "labelFontSize": 11 if n <= 45 else 10,
        "labelOverlap": False,
        "labelExpr": shortened(44),
        "ticks": False,
    }


def shortened(most: int) -> str:
    """Return an expression for a label that loses its middle if it has more characters.

    Its end stays, since that is where an evaluator is said to be simulated.
    """
    end = len(MARK) + 2
    return (
        f"length(datum.label) > {most} ? slice(datum.label, 0, {most - end - 1}) + '…' "
        f"+ slice(datum.label, -{end}) : datum.label"
    )
