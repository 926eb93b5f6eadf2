"""Charts by Altair: what those of all kinds have in common.

A figure is a `Sheet` and a chart of its columns. A chart starts with `ROWS`, the rows of the sheet, and
the parts of Altair do the rest::

    x = alt.X("mean:Q", title="mean rating")
    dots = ROWS.mark_point(filled=True).encode(x=x, y="evaluator:N", tooltip=tooltip(mean=("mean", ".2f")))
    return Figure(sheet, layered("The mean rating of each evaluator.", dots))

Colours and shapes are those of `style`. The page or the file styles text, axes and legends, so a chart has no
configuration. Import this module only where a chart is made: Altair takes 0.2 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from metaeval.base.records import Kind
from metaeval.base.simulation import MARK
from metaeval.engine.figures.figure import (
    BLUE,
    DATA,
    GREEN,
    GREY,
    ORANGE,
    PALETTE,
    PURPLE,
    SHAPES,
    SKY,
    VERMILION,
)

ROWS = alt.Chart(alt.NamedData(DATA))
"""A chart of the rows of the sheet."""

_OF_KIND = {
    Kind.BASELINE: (GREY, "cross"),
    Kind.REFERENCE: (GREEN, "square"),
    Kind.RECORDED: (SKY, "triangle-right"),
    Kind.FUNCTION: (ORANGE, "triangle-down"),
    Kind.ANNOTATOR: (VERMILION, "circle"),
    Kind.JUDGE: (BLUE, "triangle-up"),
    Kind.ENSEMBLE: (PURPLE, "diamond"),
}


def layered(
    description: str, *layers: alt.Chart, height: float | alt.Step = 320, hundred: Sequence[str] = ()
) -> alt.LayerChart | alt.FacetChart:
    """Return a chart of layers, the hindmost first, that is as wide as what holds it.

    The layers can show the columns ``hundred`` × 100, as ``<column>_100``.
    """
    chart = alt.layer(*layers).properties(
        description=description,
        height=height,
        width="container",
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    )
    return chart.transform_calculate(**times_hundred(*hundred))


def times_hundred(*columns: str) -> dict[str, str]:
    """Return calculations of 100 times each column, as ``<column>_100``; a missing value stays missing."""
    return {f"{c}_100": f"isValid(datum.{c}) ? 100 * datum.{c} : null" for c in columns}


def tooltip(**columns: str | tuple[str, str]) -> list[alt.Tooltip]:
    """Return lines of a tooltip: the title of each column of names, title and format of each of numbers."""
    return [
        alt.Tooltip(f"{column}:N", title=look)
        if isinstance(look, str)
        else alt.Tooltip(f"{column}:Q", title=look[0], format=look[1])
        for column, look in columns.items()
    ]


def interval_tooltip(**columns: str | tuple[str, str]) -> list[alt.Tooltip]:
    """Return lines of a tooltip: some columns, then an estimate × 100 and its interval."""
    ends = {"estimate_100": "estimate × 100", "ci_low_100": "from", "ci_high_100": "to"}
    return tooltip(**columns, **{column: (title, ".2f") for column, title in ends.items()})


def whiskers(x: alt.X, y: alt.Y, ends_of_x: tuple[str, str], ends_of_y: tuple[str, str]) -> list[alt.Chart]:
    """Return layers of grey intervals, up and across, between the columns of the lower and the upper ends."""
    grey = ROWS.mark_rule(color=GREY, opacity=0.5)
    up = grey.encode(x=x, y=f"{ends_of_y[0]}:Q", y2=ends_of_y[1])
    return [up, grey.encode(y=y, x=f"{ends_of_x[0]}:Q", x2=ends_of_x[1])]


def curves(
    frame: pd.DataFrame,
    x: alt.X,
    y: alt.Y,
    ends: tuple[alt.Y, str],
    lines: list[alt.Tooltip],
    *,
    faint: float = 0.4,
    **look: Any,  # noqa: ANN401 - of Altair's points
) -> list[alt.Chart]:
    """Return layers of intervals, a line and dots, with a tooltip, for each evaluator of a frame."""
    apart = by_name("evaluator", [str(n) for n in frame["evaluator"].unique()])
    colour = apart["color"]
    return [
        ROWS.mark_rule(opacity=faint).encode(x=x, y=ends[0], y2=ends[1], color=colour),
        ROWS.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        ROWS.mark_point(filled=True, size=70, **look).encode(x=x, y=y, tooltip=lines, **apart),
    ]


def by_kind(kinds: Sequence[str]) -> dict[str, Any]:
    """Return channels that show an evaluator's kind by colour and by shape, with one legend."""
    present = [k for k in _OF_KIND if str(k) in set(kinds)]
    return _by_both("kind", [str(k) for k in present], *zip(*(_OF_KIND[k] for k in present), strict=True))


def by_name(column: str, names: Sequence[str]) -> dict[str, Any]:
    """Return channels that tell the values of a column apart by colour and by shape, with one legend."""
    return _by_both(column, names, PALETTE, SHAPES)


def _by_both(
    column: str, names: Sequence[str], colours: Sequence[str], shapes: Sequence[str]
) -> dict[str, Any]:
    return {
        "color": alt.Color(
            f"{column}:N", title=None, scale=scale_of(names, colours), legend={"orient": "top", "columns": 3}
        ),
        "shape": alt.Shape(f"{column}:N", title=None, scale=scale_of(names, shapes)),
    }


def scale_of(values: Sequence[str], marks: Sequence[str]) -> alt.Scale:
    """Return a scale that gives each value a colour or a shape; they come again where they run out."""
    return alt.Scale(domain=list(values), range=[marks[i % len(marks)] for i in range(len(values))])


def evaluator_axis(n: int) -> alt.Axis:
    """Return the axis of ``n`` evaluators, each with its name."""
    size = 11 if n <= 45 else 10
    return alt.Axis(title=None, labelFontSize=size, labelOverlap=False, labelExpr=SHORTENED, ticks=False)


_END = len(MARK) + 2
_MOST = 44
SHORTENED = (
    f"length(datum.label) > {_MOST} ? slice(datum.label, 0, {_MOST - _END - 1}) + '…' "
    f"+ slice(datum.label, -{_END}) : datum.label"
)
"""The beginning and the end of a label that is long. The end says whether an evaluator is simulated."""

OF_LEVEL = "datum.value + ' level'"
"""The label of a row or column of panels for a level."""
